/**
 * Which headers may cross the gateway, both ways: deny by default, every exception is a row with its reason.
 *
 * Names are lower case and lists are flat (name, value, name, value). No value can carry a line break to the other side.
 */
import { hopsHeader } from "#schemas/hops.ts"
import { type CallFormat, oneShotKinds, type TargetFamily } from "#schemas/wire/formats.ts"

/** Request headers of a client that an upstream may see. Credentials, cookies, addresses and our own headers never may. */
export const requestAllowed: ReadonlyMap<string, string> = new Map([
  ["user-agent", "vendors support and route clients by their name; an operator's own one stands before it"],
  ["anthropic-beta", "selects beta behaviour of the messages format; the client's SDK sets it with the body that needs it"],
  ["anthropic-version", "version of the messages format that the body was written for"],
  ["anthropic-dangerous-direct-browser-access", "the client's SDK sets it where it runs in a browser"],
  ["openai-beta", "selects beta behaviour of the assistants, realtime and responses formats"],
  ["openai-organization", "which organization of its credential a call belongs to; a refusal because of it is the client's own"],
  ["openai-project", "which project of its credential a call belongs to; a refusal because of it is the client's own"],
  ["session-id", "a coding agent's session, by which its vendor routes to a warm cache"],
  ["session_id", "the same in the spelling of older versions"],
  ["conversation_id", "a coding agent's conversation; its vendor's cache key"],
  ["originator", "which coding agent asks; its vendor gates features by it"],
  ["x-app", "how a coding agent was started"],
  ["x-goog-api-client", "library version that the generateContent vendors ask for; names no user"],
  [hopsHeader, "the gateways that the call has passed; ends loops of them"],
  ["idempotency-key", "lets the upstream drop a repeated POST; without it a repeat is billed twice"]
])

/** Families of request headers that may cross: what coding agents and vendors' SDKs say of themselves. */
const requestPrefixes: ReadonlyArray<string> = ["x-stainless-", "x-codex-", "x-claude-code-"]

/**
 * Response headers of an upstream that a client may see: what a client's back-off and a support ticket need. Cookies, server and
 * CDN banners, CORS, caching, connection headers and the account behind the credential (`openai-organization`, `anthropic-organization-id`)
 * stay behind.
 */
export const responseAllowed: ReadonlyMap<string, string> = new Map([
  ["content-type", "says how to read the body; a stage that translates replaces it"],
  ["content-disposition", "file name of a download"],
  ["retry-after", "when to come back; kept only when the reply is passed on as it is"],
  ["retry-after-ms", "the same in ms, read by vendor SDKs"],
  ["x-should-retry", "tells vendor SDKs whether to try again by themselves"],
  ["openai-processing-ms", "time in the model; the vendor SDKs report it"],
  ["openai-model", "the model that answered"],
  ["openai-version", "version of the vendor's API that answered"],
  ["request-id", "what the vendor's support asks for; the messages SDKs report it"],
  ["x-request-id", "the same of other vendors; the gateway's own id has another name"],
  ["x-models-etag", "tells a coding agent that its list of models is old"],
  ["x-reasoning-included", "tells a coding agent how its context is counted"]
])

/** Families of response headers that may cross: quota left at the upstream, and what a coding agent must send back with its next call. */
const responsePrefixes: ReadonlyArray<string> = ["x-ratelimit-", "anthropic-ratelimit-", "ratelimit-", "x-codex-"]

/** The upstream's own request ids; the first of them is also sent as `upstreamIdHeader`, one name for all vendors. */
const upstreamIds: ReadonlySet<string> = new Set(["x-request-id", "request-id", "x-goog-request-id", "x-amzn-requestid"])
const upstreamIdHeader = "x-upstream-request-id"

/** Longest value that crosses, in characters. */
const maxValueLength = 8_192
/** Most headers that cross in one direction. */
const maxHeaders = 64

/** Visible latin-1, blanks and tabs: what HTTP lets into a value. */
const isValueCode = (code: number): boolean => code === 9 || (code >= 32 && code !== 127 && code <= 255)

const isValueText = (value: string): boolean => {
  for (let i = 0; i < value.length; i++) if (!isValueCode(value.charCodeAt(i))) return false
  return true
}

const nameToken = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

/** The value without surrounding blanks, or null when it cannot be a header value: it holds a control character or is too long. */
export const safeValue = (value: string): string | null =>
  value.length <= maxValueLength && isValueText(value) ? value.trim() : null

/** True for a lower-case header name that may be written on the wire. */
const isSafeName = (name: string): boolean => nameToken.test(name)

/** Names whose decision is kept: few names come again and again, and a client may send any. */
const rememberedNames = 256

/** A decision about header names in lower case, kept for the names as they were spelled. */
const deciding = <A>(decide: (name: string) => A | null): (name: string) => A | null => {
  const known = new Map<string, A | null>()
  return (spelled) => {
    const kept = known.get(spelled)
    if (kept !== undefined) return kept
    const decision = decide(spelled.toLowerCase())
    if (known.size < rememberedNames) known.set(spelled, decision)
    return decision
  }
}

const none: ReadonlyArray<string> = []

/** Those of one head that cross; kept, because a list that grows takes more room than the headers need. */
const crossing: Array<string> = []

/** Most heads have no header that crosses, and share the empty list. */
const crossed = (count: number): ReadonlyArray<string> => count === 0 ? none : crossing.slice(0, count)

const ofRequest = deciding((name) =>
  requestAllowed.has(name) || (isSafeName(name) && requestPrefixes.some((prefix) => name.startsWith(prefix))) ? name : null)

/** How a header of an upstream's answer crosses. */
interface OfAnswer {
  /** Null: not under its own name. */
  readonly name: string | null
  readonly isId: boolean
}

const ofResponse = deciding((name): OfAnswer | null => {
  const isId = upstreamIds.has(name)
  const isAllowed = responseAllowed.has(name) || (isSafeName(name) && responsePrefixes.some((prefix) => name.startsWith(prefix)))
  return isAllowed || isId ? { name: isAllowed ? name : null, isId } : null
})

/** What of a client's request headers goes to the upstream; the adapter of the provider adds credentials and content headers itself. */
export const toUpstream = (headers: ReadonlyArray<string>): ReadonlyArray<string> => {
  let count = 0
  for (let i = 0; i + 1 < headers.length && count < maxHeaders * 2; i += 2) {
    const name = ofRequest(headers[i] as string)
    const value = name === null ? null : safeValue(headers[i + 1] as string)
    if (name === null || value === null || value === "") continue
    crossing[count++] = name
    crossing[count++] = value
  }
  return crossed(count)
}

/**
 * The vendor of a header, by the prefix of its name. Such headers cross only where the client's format is the upstream's: they
 * describe the body that the client wrote.
 */
const ofFormat: ReadonlyArray<readonly [prefix: string, formats: ReadonlyArray<TargetFamily> | "any"]> = [
  ["user-agent", "any"],
  ["x-stainless-", "any"],
  ["anthropic-", ["messages"]],
  ["x-claude-code-", ["messages"]],
  ["x-app", ["messages"]],
  ["openai-", ["chat-completions", "responses", ...oneShotKinds]],
  ["x-codex-", ["responses"]],
  ["session", ["responses"]],
  ["conversation_id", ["responses"]],
  ["originator", ["responses"]],
  ["x-goog-", ["generateContent"]]
]

/** Where both have it, the operator's stands: it belongs to the credential, or was set for it. */
const operators: ReadonlySet<string> = new Set(["user-agent", "openai-organization", "openai-project"])

const accountHeaders = ["openai-organization", "openai-project"]

/** True when the client chose the account that is asked: what the upstream refuses then says nothing of the stored credential. */
export const namesAccount = (own: ReadonlyArray<string>, forwarded: ReadonlyArray<string>, face: CallFormat, family: TargetFamily): boolean =>
  face === family && accountHeaders.some((name) => indexOfName(forwarded, name) !== -1 && indexOfName(own, name) === -1)

/** A merge that is remembered: lists that come again are sent from the head that was formatted for them. */
interface Merge {
  readonly own: ReadonlyArray<string>
  readonly forwarded: ReadonlyArray<string>
  readonly face: CallFormat
  readonly merged: ReadonlyArray<string>
}

/** Merges that are remembered, overwritten in turn. */
const remembered = 16
const merges: Array<Merge> = []
let next = 0

const repeatKey = "idempotency-key"

/** Headers whose values do not come again, by how their names begin. */
const unique = [repeatKey, "x-codex-"]

/** The client's name for its request; null for one without. */
export const repeatKeyOf = (headers: ReadonlyArray<string>): string | null => {
  const at = indexOfName(headers, repeatKey)
  return at === -1 ? null : headers[at + 1] as string
}

/** The headers with another name for the request. */
export const withRepeatKey = (headers: ReadonlyArray<string>, key: string): ReadonlyArray<string> => [...withoutRepeatKey(headers), repeatKey, key]

/** Headers of a call beside the one that answers: it is no repeat of what the client named. */
export const withoutRepeatKey = (headers: ReadonlyArray<string>): ReadonlyArray<string> => {
  const at = indexOfName(headers, repeatKey)
  return at === -1 ? headers : [...headers.slice(0, at), ...headers.slice(at + 2)]
}

/**
 * A target's own headers with the client's: what belongs to another format than the one that is forwarded stays behind, and a
 * header that both have is the client's. Answers the target's own list when nothing is added, and the same list for the same
 * headers, so that it can be cached by identity.
 */
export const merge = (own: ReadonlyArray<string>, forwarded: ReadonlyArray<string>, face: CallFormat, family: TargetFamily): ReadonlyArray<string> => {
  // Nothing that a usual client sends crosses to another family.
  if (face === family) for (const known of merges) if (known.own === own && known.face === face && isSame(known.forwarded, forwarded)) return known.merged
  const merged = mergedAnew(own, forwarded, face, family)
  if (face === family && merged !== own && !forwarded.some((name, i) => i % 2 === 0 && unique.some((prefix) => name.startsWith(prefix)))) {
    merges[next] = { own, forwarded, face, merged }
    next = (next + 1) % remembered
  }
  return merged
}

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

const mergedAnew = (own: ReadonlyArray<string>, forwarded: ReadonlyArray<string>, face: CallFormat, family: TargetFamily): ReadonlyArray<string> => {
  let merged: Array<string> | null = null
  for (let i = 0; i < forwarded.length; i += 2) {
    const name = forwarded[i] as string
    const value = forwarded[i + 1] as string
    const bound = ofFormat.find(([prefix]) => name.startsWith(prefix))
    if (bound !== undefined && (face !== family || (bound[1] !== "any" && !bound[1].includes(family)))) continue
    const list: ReadonlyArray<string> = merged ?? own
    const at = indexOfName(list, name)
    if (at !== -1 && (list[at + 1] === value || operators.has(name))) continue
    merged ??= [...own]
    if (at === -1) merged.push(name, value)
    else merged[at + 1] = value
  }
  return merged ?? own
}

const betas = "anthropic-beta"

/** The headers with one more beta of the messages format. */
export const withBeta = (headers: ReadonlyArray<string>, beta: string): ReadonlyArray<string> => {
  const at = indexOfName(headers, betas)
  if (at === -1) return [...headers, betas, beta]
  const named = headers[at + 1] as string
  return named.split(",").some((one) => one.trim() === beta) ? headers : headers.with(at + 1, `${named},${beta}`)
}

/** What of a client's query goes to an upstream of its own format: the switch of the messages vendor's SDKs. With `?` or `&`, or empty. */
export const queryToUpstream = (query: string, path: string, face: CallFormat, family: TargetFamily): string =>
  face === "messages" && family === "messages" && /(?:^|&)beta=true(?:&|$)/.test(query) && !/[?&]beta=/.test(path)
    ? path.includes("?") ? "&beta=true" : "?beta=true"
    : ""

const indexOfName = (headers: ReadonlyArray<string>, name: string): number => {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return i
  return -1
}

/** What of an upstream's response headers goes to the client, but the one that is named. */
export const toClient = (headers: ReadonlyArray<string>, but: string | null = null): ReadonlyArray<string> => {
  let count = 0
  let id: string | null = null
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const crosses = ofResponse(headers[i] as string)
    if (crosses === null || (but !== null && crosses.name === but)) continue
    const value = safeValue(headers[i + 1] as string)
    if (value === null || value === "") continue
    if (crosses.isId) id ??= value
    if (crosses.name === null || count >= maxHeaders * 2) continue
    crossing[count++] = crosses.name
    crossing[count++] = value
  }
  if (id !== null) {
    crossing[count++] = upstreamIdHeader
    crossing[count++] = id
  }
  return crossed(count)
}
