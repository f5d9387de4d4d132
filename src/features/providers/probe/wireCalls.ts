/** The calls a probe makes: a model list, or the smallest chat of each wire format. Pure. */
import type { Candidate } from "#src/features/providers/ports/ProviderProbe.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { Provider, WireFormat } from "#schemas/Provider.ts"
import * as BodyRules from "#src/providers/bodyRules.ts"
import * as ConversationPlace from "#src/providers/conversationPlace.ts"
import * as UpstreamEndpoint from "#src/providers/upstreamEndpoint.ts"
import type * as Schema from "effect/Schema"

export interface WireCall {
  readonly probe: "models" | "chat"
  readonly endpoint: UpstreamEndpoint.UpstreamEndpoint
  readonly method: "GET" | "POST"
  readonly body: string | null
}

/** Why a probe cannot be made. */
export interface Impossible {
  readonly _tag: "Impossible"
  readonly message: string
}

const impossible = (message: string): Impossible => ({ _tag: "Impossible", message })

const ping = [{ role: "user", content: "ping" }]

const chatBody = (format: WireFormat, model: string): object | null => {
  switch (format) {
    case "chat-completions":
      return { model, messages: ping, max_tokens: 1, stream: false }
    case "messages":
      return { model, messages: ping, max_tokens: 1 }
    case "responses":
      return { model, input: "ping", max_output_tokens: 16, stream: false }
    case "generateContent":
      return { contents: [{ role: "user", parts: [{ text: "ping" }] }], generationConfig: { maxOutputTokens: 1 } }
    case "local-model-server":
      return { model, messages: ping, stream: false, options: { num_predict: 1 } }
    case "none":
      return null
  }
}

/** The candidate in the form that endpoints are built from. */
const asConnection = (candidate: Candidate): Connection => ({
  id: "probe", provider: candidate.provider, authType: candidate.authType, name: "probe", email: null, displayName: null, priority: 1,
  globalPriority: null, isActive: true,
  apiKey: candidate.authType === "oauth" ? null : candidate.credential,
  accessToken: candidate.authType === "oauth" ? candidate.credential : null,
  refreshToken: null, idToken: null, tokenType: null, scope: null, projectId: null, expiresAt: null, tokenExpiresAt: null, expiresIn: null,
  testStatus: "unknown", lastError: null, lastErrorType: null, lastErrorSource: null, errorCode: null, lastErrorAt: null, lastTested: null,
  lastHealthCheckAt: null, backoffLevel: 0, bannedSignals: 0, rateLimitedUntil: null, healthCheckInterval: null,
  providerSpecificData: {
    ...candidate.providerSpecificData as Readonly<Record<string, Schema.Json>>,
    ...(candidate.baseUrl === null || candidate.baseUrl === undefined ? {} : { baseUrl: candidate.baseUrl })
  },
  defaultModel: null, consecutiveUseCount: 0, rateLimitProtection: false, maxConcurrent: null, group: null, quotaWindowThresholds: null,
  rateLimitOverrides: null, proxyEnabled: true, perKeyProxyEnabled: true, quotaVisible: true, createdAt: "", updatedAt: ""
})

type Built = WireCall | Impossible

const list = (endpoint: UpstreamEndpoint.UpstreamEndpoint | UpstreamEndpoint.EndpointMissing): Built => "_tag" in endpoint
  ? impossible(endpoint.message)
  : { probe: "models", endpoint, method: "GET", body: null }

const chat = (endpoint: UpstreamEndpoint.UpstreamEndpoint | UpstreamEndpoint.EndpointMissing, format: WireFormat, model: string, rules: Provider["body"]): Built => {
  if ("_tag" in endpoint) return impossible(endpoint.message)
  const body = chatBody(format, model)
  if (body === null) return impossible("The provider has no chat to probe")
  const text = JSON.stringify(body)
  return {
    probe: "chat", endpoint, method: "POST",
    body: rules === undefined ? text : new TextDecoder().decode(BodyRules.apply(rules, new TextEncoder().encode(text)))
  }
}

const needsModel = impossible("Name a model: validationModelId")

export interface Calls {
  readonly models: Built
  readonly chat: Built
}

/** `baseUrl` replaces an empty one of the row (the built-in simulator). */
export const ofProvider = (row: Provider, candidate: Candidate, baseUrl: string | null): Calls => {
  const connection = asConnection(candidate)
  const place = ConversationPlace.ofRow(row, candidate.family ?? null)
  const model = candidate.model ?? row.models.find((one) => one.kind === "chat")?.id ?? null
  return {
    models: row.modelsPath === null
      ? impossible(`Provider ${row.id} has no model list`)
      : list(UpstreamEndpoint.ofProvider(row, connection, row.modelsPath, "", baseUrl)),
    chat: place === null
      ? impossible(`No test exists for provider ${row.id}`)
      : model === null ? needsModel : chat(UpstreamEndpoint.ofProvider(row, connection, place.path, model, baseUrl), place.family, model, place.family === row.wireFormat ? row.body : undefined)
  }
}

type NodeFacts = NonNullable<Candidate["node"]>

const whole = (node: NodeFacts): ProviderNode => ({
  id: "probe", name: "probe", prefix: "probe", iconUrl: null, dailyQuotaResetTimezone: null, dailyQuotaResetHour: null, createdAt: "", updatedAt: "",
  ...node
})

export const ofNode = (facts: NodeFacts, candidate: Candidate): Calls => {
  const node = whole(facts)
  const connection = asConnection(candidate)
  const model = candidate.model ?? null
  const wanted = candidate.family ?? null
  const place = ConversationPlace.ofNode(node, wanted)
  const called = wanted === null || model === null ? null : { family: wanted, model }
  return {
    models: list(UpstreamEndpoint.ofNode(node, connection, node.modelsPath ?? "/models")),
    chat: place === null
      ? impossible("The node has no chat to probe")
      : model === null ? needsModel : chat(UpstreamEndpoint.ofNode(node, connection, place.path, called), place.family, model, undefined)
  }
}
