/** The agent card in the forms that clients of different ages read. */
import { version } from "#schemas/version.ts"
import type { Json } from "#src/management/inner/Inner.ts"
import { skills } from "#src/features/a2a/skills/index.ts"

export const name = "gateway"
export const description = "Routes conversations to language models, and reports on models, providers, quotas, costs and health of the gateway."
/** Where frames are sent. */
export const path = "/a2a"
/** Versions of the protocol that are spoken beside the gateway's own dialect, newest first. */
export const protocolVersions = ["1.0", "0.3"] as const

export const capabilities = { streaming: true, pushNotifications: true } as const
const modes = ["text/plain", "application/json"]

const interfaces = (base: string) => protocolVersions.map((protocolVersion) => ({ url: `${base}${path}`, protocolBinding: "JSONRPC", tenant: "", protocolVersion }))

export const skillViews = skills.map(({ description, examples, id, name, tags }) => ({ id, name, description, tags: [...tags], examples: [...examples] }))

/** For clients of version 1.0. */
export const newest = (base: string): Json => ({
  name, description, version, supportedInterfaces: interfaces(base), capabilities,
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer", description: "An API key of the gateway" } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }], defaultInputModes: modes, defaultOutputModes: modes, skills: skillViews
})

/** For clients of version 0.3 and older ones, and for readers of the gateway's own dialect. */
export const older = (base: string): Json => ({
  name, description, url: `${base}${path}`, version, protocolVersion: "0.3.0", preferredTransport: "JSONRPC", capabilities,
  authentication: { schemes: ["bearer"], apiKeyHeader: "Authorization" },
  securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "An API key of the gateway" } }, security: [{ bearer: [] }],
  defaultInputModes: modes, defaultOutputModes: modes, skills: skillViews, supportedInterfaces: interfaces(base)
})
