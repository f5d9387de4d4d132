/** The gateway's own response headers, as flat name, value lists. */
import type { ResponseFacts } from "#actors/request/Inbound.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"
import { version } from "#schemas/version.ts"
import * as TerminalErrors from "./terminalErrors.ts"
import { formatCost, fromUnits, toUnits } from "#src/platform/accounting/cost.ts"
import * as Units from "#schemas/records/Units.ts"

export { version }

/** What a request says about itself that its responses repeat. */
export interface RequestTags {
  readonly requestId: string
  /** X-Gateway-Session-Id as the client sent it, for the ledger; never synthesized. */
  readonly sessionTag: string | null
  /** X-Session-Id as the client sent it: what a session is pinned and counted by. */
  readonly session: string | null
}

/** What every inference response says. */
export const common = (tags: RequestTags): Array<string> => {
  const headers = ["X-Gateway-Request-Id", tags.requestId, "X-Gateway-Version", version]
  const session = tags.sessionTag ?? tags.session
  if (session !== null) headers.push("X-Gateway-Session-Id", session)
  return headers
}

/** Beginnings of decisions by provider and strategy: few, and each piece that is joined for a request costs 32 bytes. */
const beginnings = new Map<string, Map<string, string>>()
/** Providers whose beginnings are kept. */
const keptBeginnings = 1_000

const beginningOf = (strategy: string, provider: string): string => {
  let own = beginnings.get(provider)
  if (own === undefined) {
    if (beginnings.size >= keptBeginnings) beginnings.clear()
    beginnings.set(provider, own = new Map())
  }
  let text = own.get(strategy)
  if (text === undefined) own.set(strategy, text = `strategy=${strategy}; provider=${provider}; latency_ms=`)
  return text
}

const decision = ({ latencyMs, strategy, target }: ResponseFacts): string => beginningOf(strategy, target.providerAlias) + Math.round(latencyMs)

const routed = (headers: Array<string>, facts: ResponseFacts): ReadonlyArray<string> => {
  headers.push(
    "X-Gateway-Decision", decision(facts),
    "X-Gateway-Model", facts.target.publicModel,
    "X-Gateway-Provider", facts.target.providerAlias,
    "X-Gateway-Compression", "off; source=off"
  )
  return rarely(headers, facts)
}

const rarely = (headers: Array<string>, facts: ResponseFacts): ReadonlyArray<string> => {
  if (facts.fallbackAttempts > 0) headers.push("X-Gateway-Fallback-Attempts", String(facts.fallbackAttempts))
  if (facts.omitted.length > 0) headers.push("X-Gateway-Omitted", omittedText(facts.omitted))
  return withUpstream(headers, facts.upstreamHeaders)
}

/** The decision with the reasoning effort that was chosen for the request (X-Gateway-Effort: auto). */
export const withEffort = (headers: ReadonlyArray<string>, effort: string): ReadonlyArray<string> =>
  headers.map((value, i) => i % 2 === 1 && headers[i - 1] === "X-Gateway-Decision" ? `${value}; effort=${effort}` : value)

/** With what was done to the prompt, and why. */
export const withCompression = (headers: ReadonlyArray<string>, compression: string): ReadonlyArray<string> =>
  headers.map((value, i) => i % 2 === 1 && headers[i - 1] === "X-Gateway-Compression" ? compression : value)

/** Characters of the list of omitted fields. */
const maxOmitted = 1_024

/** Field names of the client's request, which may hold anything: only what a header may carry is kept. */
const omittedText = (fields: ReadonlyArray<string>): string => {
  const text = fields.map((field) => field.replace(/[^\x20-\x7e]/g, "?")).join(", ")
  return text.length <= maxOmitted ? text : `${text.slice(0, maxOmitted - 5)}, ...`
}

/** Characters of upstream headers that are passed on: a response head is bounded, and an upstream must not fill it. */
const maxForwarded = 4_096

/** With allow-listed upstream headers; the gateway sets the content type itself. A list that is joined takes the room that it needs. */
const withUpstream = (headers: ReadonlyArray<string>, upstream: ReadonlyArray<string>): ReadonlyArray<string> => {
  const allowed = ForwardHeaders.toClient(upstream, "content-type")
  return allowed.length === 0 ? headers : headers.concat(lengthOf(allowed) <= maxForwarded ? allowed : fitting(allowed))
}

const lengthOf = (texts: ReadonlyArray<string>): number => {
  let length = 0
  for (const text of texts) length += text.length
  return length
}

/** Those that fit. */
const fitting = (allowed: ReadonlyArray<string>): ReadonlyArray<string> => {
  const headers: Array<string> = []
  let room = maxForwarded
  for (let i = 0; i < allowed.length; i += 2) {
    const name = allowed[i] as string
    const value = allowed[i + 1] as string
    if (name.length + value.length > room) continue
    room -= name.length + value.length
    headers.push(name, value)
  }
  return headers
}

/**
 * USD of bytes whose price is known before they come, because units alone are paid; null where tokens are paid, too. `units`: what the
 * request says of them.
 */
const knownCost = (units: Units.Units | null, { price }: ResponseFacts["target"]): number | null => {
  const all = Units.withRequest(units, price)
  if (all === null || price?.input !== undefined || price?.output !== undefined) return null
  return price === null ? 0 : fromUnits(toUnits(Units.picoUsd(all, price) / 1e12))
}

/**
 * Headers of bytes that mean nothing to the gateway and pass as they come. `tokensIn`: of the text that was sent; the bytes themselves are
 * not counted.
 */
export const ofBytes = (tags: RequestTags, facts: ResponseFacts, contentType: string, units: Units.Units | null, tokensIn: () => number): ReadonlyArray<string> => {
  const headers = ofStream(tags, facts, contentType, false)
  const cost = knownCost(units, facts.target)
  if (cost === null) return headers
  const told = [...headers, "X-Gateway-Cache-Hit", "false", "X-Gateway-Latency-Ms", String(Math.round(facts.latencyMs)), "X-Gateway-Response-Cost", formatCost(cost)]
  // Events may end with the server's own count.
  return /^text\/event-stream/i.test(contentType) ? told : [...told, "X-Gateway-Tokens-In", String(tokensIn()), "X-Gateway-Tokens-Out", "0"]
}

/** Headers of a stream: they leave before the usage is known, so they carry no cost. */
export const ofStream = (tags: RequestTags, facts: ResponseFacts, contentType: string, progress: boolean): ReadonlyArray<string> => {
  const headers = common(tags)
  headers.push("Content-Type", contentType, "Cache-Control", "no-cache, no-transform", "X-Accel-Buffering", "no")
  if (progress) headers.push("X-Gateway-Progress", "enabled")
  return routed(headers, facts)
}

/**
 * Headers of a whole answer with its cost telemetry. The most frequent head: one array of its size, which never grows in steps, and first
 * what is the same in the next one, so that the front end has its text already.
 */
export const ofAnswer = (tags: RequestTags, facts: ResponseFacts): ReadonlyArray<string> => {
  const { settled, target } = facts
  const latency = String(Math.round(facts.latencyMs))
  const headers = settled === null
    ? [
      "X-Gateway-Version", version, "Content-Type", facts.contentType ?? "application/json", "X-Gateway-Compression", "off; source=off",
      "X-Gateway-Cache", "MISS", "X-Gateway-Cache-Hit", "false", "X-Gateway-Provider", target.providerAlias, "X-Gateway-Model", target.publicModel,
      "X-Gateway-Request-Id", tags.requestId, "X-Gateway-Decision", decision(facts), "X-Gateway-Latency-Ms", latency
    ]
    : [
      "X-Gateway-Version", version, "Content-Type", facts.contentType ?? "application/json", "X-Gateway-Compression", "off; source=off",
      "X-Gateway-Cache", "MISS", "X-Gateway-Cache-Hit", "false", "X-Gateway-Provider", target.providerAlias, "X-Gateway-Model", target.publicModel,
      "X-Gateway-Request-Id", tags.requestId, "X-Gateway-Decision", decision(facts), "X-Gateway-Latency-Ms", latency,
      "X-Gateway-Response-Cost", formatCost(settled.costUsd),
      "X-Gateway-Tokens-In", String(settled.tokensIn), "X-Gateway-Tokens-Out", String(settled.tokensOut)
    ]
  const session = tags.sessionTag ?? tags.session
  if (session !== null) headers.push("X-Gateway-Session-Id", session)
  return rarely(headers, facts)
}

/** Headers of an error. */
export const ofError = (tags: RequestTags, error: PublicError, fallbackAttempts: number): ReadonlyArray<string> => {
  const headers = common(tags)
  headers.push("Content-Type", "application/json")
  if (error.retryAfterSeconds !== null) headers.push("Retry-After", String(error.retryAfterSeconds))
  if (fallbackAttempts > 0) headers.push("X-Gateway-Fallback-Attempts", String(fallbackAttempts))
  if (error.code === "provider_circuit_open") headers.push("X-Gateway-Provider-Breaker", "open")
  headers.push(...TerminalErrors.headersOf(error))
  // Our own Retry-After knows of other targets too, so the upstream's stays behind.
  return withIds(
    error.upstream === null ? headers : withUpstream(headers, error.upstream.headers.filter((_, i, all) => !/^retry-after/i.test(all[i - i % 2] as string))), tags.requestId
  )
}

/** Where the vendors' SDKs look for the id of a request, which their errors show. */
const idNames = ["x-request-id", "request-id"] as const

const placeOf = (headers: ReadonlyArray<string>, name: string): number => headers.findIndex((one, i) => i % 2 === 0 && one === name)

/** The upstream's id under both names, else the gateway's own. */
const withIds = (headers: ReadonlyArray<string>, requestId: string): ReadonlyArray<string> => {
  const place = Math.max(...idNames.map((name) => placeOf(headers, name)))
  const id = place === -1 ? requestId : headers[place + 1] as string
  return [...headers, ...idNames.flatMap((name) => placeOf(headers, name) === -1 ? [name, id] : [])]
}
