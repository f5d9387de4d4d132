/**
 * What makes two requests the same one for the response cache: tenant, what the model id stands for, the client's
 * format, every member of the body that shapes the answer, the headers and the configuration that do. Pure.
 *
 * The body counts whole but for the members listed here, so an unexpected member makes another answer, never a wrong hit.
 */
import * as Crypto from "node:crypto"
import type { FormatName } from "#schemas/wire/conversation.ts"

type Body = Readonly<Record<string, unknown>>

/** Members that change how an answer is sent or counted, never what it says or holds; by format. `model` counts as what it stands for. */
const withoutEffect: Partial<Record<FormatName, ReadonlySet<string>>> = {
  "chat-completions": new Set(["model", "stream", "stream_options", "user", "metadata", "store", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"]),
  "messages": new Set(["model", "stream", "metadata"]),
  // A response object repeats its request's metadata, user and store: they are part of the answer.
  "responses": new Set(["model", "stream", "stream_options"]),
  "generateContent": new Set(["model", "stream"]),
  "local-model-server": new Set(["model", "stream", "keep_alive"])
}

/** Request headers that change what is answered: routing, compression, guardrails, memory, and the vendors' beta switches. */
export const shapingHeaders: ReadonlyArray<string> = [
  "x-gateway-mode", "x-gateway-budget", "x-gateway-budget-fallback", "x-gateway-effort", "x-gateway-compression", "x-gateway-disabled-guardrails",
  "x-gateway-no-memory", "x-gateway-modality-bridge", "anthropic-beta", "anthropic-version", "openai-beta"
]

/** Levels of nesting that are read; a deeper body has no identity. */
const deepest = 64

/**
 * The same text for the same value: members sorted, numbers by value, no blanks. Null for a value that is nested too deeply.
 */
export const canonical = (value: unknown, omitted?: ReadonlySet<string>): string | null => {
  try {
    return write(value, 0, omitted)
  } catch (error) {
    if (error === tooDeep) return null
    throw error
  }
}

const tooDeep = new Error("nested too deeply")

const write = (value: unknown, depth: number, omitted?: ReadonlySet<string>): string => {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null"
  if (depth >= deepest) throw tooDeep
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(",")}]`
  const record = value as Body
  const members: Array<string> = []
  for (const name of Object.keys(record).sort()) {
    if (omitted === undefined || !omitted.has(name)) members.push(`${JSON.stringify(name)}:${write(record[name], depth + 1)}`)
  }
  return `{${members.join(",")}}`
}

/** True for a request that asked for the one most likely answer: `temperature` given as the number 0. */
export const isCacheable = (format: FormatName, body: Body): boolean => {
  switch (format) {
    case "chat-completions":
    case "messages":
    case "responses":
      return body["temperature"] === 0 && body["background"] !== true
    case "generateContent":
      return temperatureIn(body["generationConfig"]) || temperatureIn(body["generation_config"])
    case "local-model-server":
      return temperatureIn(body["options"])
    case "completions":
      return false
  }
}

const temperatureIn = (options: unknown): boolean =>
  typeof options === "object" && options !== null && (options as Body)["temperature"] === 0

export interface Facts {
  /** Id of the key; null for an anonymous caller. */
  readonly apiKeyId: string | null
  /** The key's policy: what it may use shapes the answer, what it is called does not. */
  readonly keyPolicy: string
  readonly format: FormatName
  /** What the model id stands for under the present configuration. */
  readonly resolved: string
  readonly body: Body
  /** What `digestOf` said of a large body, instead of `body`. */
  readonly digest?: string | undefined
  readonly header: (lowerCaseName: string) => string | undefined
  /** What guardrails do with the request and its answer; absent = nothing. */
  readonly guardrails?: string | undefined
  /** What models are told beside it of what is remembered; absent = nothing. */
  readonly memory?: string | undefined
  /** Digest of the settings that shape answers (guardrails, compression, system prompts, routing). */
  readonly settings: string
}

const version = 2

/** `<key id or anonymous>.<64 hex digits>`; null when the body is nested too deeply to compare. */
export const signatureOf = (facts: Facts): string | null => {
  const body = facts.digest ?? canonical(facts.body, withoutEffect[facts.format] ?? none)
  if (body === null) return null
  const headers = shapingHeaders.map((name) => facts.header(name) ?? null)
  const tenant = facts.apiKeyId ?? "anonymous"
  const text = JSON.stringify([
    version, tenant, facts.keyPolicy, facts.format, facts.resolved, facts.settings, headers, ...(facts.guardrails === undefined ? [] : [facts.guardrails]),
    ...(facts.memory === undefined ? [] : [{ memory: facts.memory }])
  ])
  return `${tenant}.${Crypto.hash("sha256", `${text}\n${body}`, "hex")}`
}

/** SHA-256 of what counts of a body, hex; null when its answer is not kept, or it is nested too deeply to compare. */
export const digestOf = (format: FormatName, body: Body): string | null => {
  const text = isCacheable(format, body) ? canonical(body, withoutEffect[format] ?? none) : null
  return text === null ? null : Crypto.hash("sha256", text, "hex")
}

const none: ReadonlySet<string> = new Set()

/** Settings that say nothing about answers; any other one that changes makes every stored answer one of another configuration. */
const idleSettings: ReadonlySet<string> = new Set([
  "requireLogin", "setupComplete", "theme", "language", "instanceName", "corsOrigins", "baseUrl", "cloudUrl", "customLogoUrl", "customFaviconUrl",
  "cloudEnabled", "comboConfigMode", "hiddenSidebarItems", "hideHealthCheckLogs", "semanticCacheEnabled", "semanticCacheMaxSize", "semanticCacheTTL",
  "idempotencyWindowMs", "maxBodySizeMb", "debugMode", "wsAuth", "bruteForceProtection",
  "callLogBodies", "callLogBodyShare", "callLogBodyMaxKb", "callLogBodyTotalMb", "callLogBodyHours"
])

/** The request names itself, so that a repeat of it is known. */
export const isNamed = (request: { readonly header: (lowerCaseName: string) => string | undefined }): boolean =>
  (request.header("idempotency-key") ?? "") !== "" || (request.header("x-request-id") ?? "") !== ""

/** Digest of what an operator configured, as far as it may shape answers. */
export const settingsDigest = (settings: ReadonlyMap<string, unknown>, flags: ReadonlyMap<string, string>): string => {
  const named = Object.fromEntries([...settings].filter(([name]) => !idleSettings.has(name)))
  return Crypto.hash("sha256", `${canonical(named)}\n${canonical(Object.fromEntries(flags))}`, "hex")
}

/** A short name of a text, the same for the same text: 20 characters, 6 bits each. */
export const nameOf = (text: string): string => Crypto.hash("sha256", text, "base64url").slice(0, 20)
