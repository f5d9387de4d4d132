/** What an upstream's answer says about a credential. Pure. */
import type { Diagnosis, UpstreamModel } from "#src/features/providers/ports/ProviderProbe.ts"
import type { UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"

/** Characters of an upstream's message that are kept. */
const MESSAGE_MAX = 300

type Json = Readonly<Record<string, unknown>>

const asObject = (value: unknown): Json | null => typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : null

/** Undefined for what is no JSON, or holds so much that reading it would hold the loop. */
export const parse = (body: string): unknown => {
  if (JsonBounds.excessOf(Buffer.from(body)) !== null) return undefined
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}

const messageIn = (value: unknown): string | null => {
  const body = asObject(Array.isArray(value) ? value[0] : value)
  if (body === null) return null
  const { detail, error, message } = body
  if (typeof error === "string") return error
  const inner = asObject(error)?.["message"]
  return [inner, message, detail].find((text): text is string => typeof text === "string") ?? null
}

/** Credentials and what looks like one never come back in a message. */
export const sanitize = (message: string, credential: string | null): string => {
  const plain = credential === null || credential.length < 4 ? message : message.replaceAll(credential, "[redacted]")
  return plain
    .replaceAll(/\b(sk|key|gsk|xai|pk|rk|AIza)[-_A-Za-z0-9*.]{8,}/g, "[redacted]")
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, MESSAGE_MAX)
}

const isAuthText = (message: string): boolean => /api[ _-]?key|invalid.{0,12}(key|token|credential)|unauthori[sz]ed|authenticat/i.test(message)

const typeOf = (status: number, message: string, oauth: boolean): Diagnosis["type"] => {
  const reason = StatusReason.of(status)
  if (reason === "credential" || reason === "forbidden") return oauth && reason === "credential" ? "token_expired" : "upstream_auth_error"
  if (reason === "rate-limit") return "upstream_rate_limited"
  if (StatusReason.isServers(status)) return "upstream_unavailable"
  return reason === "invalid" && isAuthText(message) ? "upstream_auth_error" : "upstream_error"
}

/** The diagnosis of an HTTP answer that is no success. */
export const ofStatus = (status: number, body: string, credential: string | null, oauth: boolean): Diagnosis => {
  const said = messageIn(parse(body))
  const type = typeOf(status, said ?? "", oauth)
  return {
    type,
    source: type === "token_expired" ? "oauth" : "upstream",
    code: String(status),
    message: said === null ? `The upstream answered ${status}` : sanitize(said, credential)
  }
}

export const ofFailure = (failure: UpstreamFailure): Diagnosis => ({
  type: "network_error", source: "upstream", code: failure.reason, message: failure.message.slice(0, MESSAGE_MAX)
})

export const unsupported = (message: string): Diagnosis => ({ type: "unsupported", source: "validation", code: "unsupported", message })

const text = (...values: ReadonlyArray<unknown>): string | null => values.find((value): value is string => typeof value === "string" && value !== "") ?? null

/** Largest number of tokens that is believed. */
const TOKENS_MAX = 100_000_000

const tokens = (...values: ReadonlyArray<unknown>): number | undefined =>
  values.find((value): value is number => typeof value === "number" && Number.isInteger(value) && value > 0 && value <= TOKENS_MAX)

/** What a list says of a model's limits, in the words of the servers that say it; no window that only bounds the training. */
const limitsOf = (model: Json): Pick<UpstreamModel, "contextWindow" | "maxOutputTokens"> => {
  const contextWindow = tokens(model["max_model_len"], model["context_length"], model["context_window"])
  const maxOutputTokens = tokens(
    model["max_output_tokens"], model["max_completion_tokens"], asObject(model["top_provider"])?.["max_completion_tokens"],
    model["type"] === "model" ? model["max_tokens"] : undefined
  )
  return { ...(contextWindow === undefined ? {} : { contextWindow }), ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) }
}

/** The models of a list in any of the vendors' forms; null when the body is no list. */
export const modelsIn = (body: string): ReadonlyArray<UpstreamModel> | null => {
  const value = parse(body)
  const object = asObject(value)
  const list = Array.isArray(value) ? value : object?.["data"] ?? object?.["models"] ?? object?.["result"]
  if (!Array.isArray(list)) return null
  return (list as ReadonlyArray<unknown>).flatMap((item): ReadonlyArray<UpstreamModel> => {
    const model = typeof item === "string" ? { id: item } : asObject(item)
    const id = model === null ? null : text((model as Json)["id"], (model as Json)["name"], (model as Json)["model"])
    if (id === null) return []
    const name = text((model as Json)["display_name"], (model as Json)["displayName"], (model as Json)["name"])
    return [{ id: id.replace(/^models\//, ""), name: name === id ? null : name, ...limitsOf(model as Json) }]
  })
}
