/**
 * Which headers may cross the gateway, both ways: deny by default, every exception is a row with its reason.
 *
 * Names are lower case and lists are flat (name, value, name, value). No value can carry a line break to the other side.
 */
import type { FormatName } from "#schemas/wire/conversation.ts"

/** Request headers of a client that an upstream may see. Credentials, cookies, addresses and our own headers never may. */
export const requestAllowed: ReadonlyMap<string, string> = new Map([
  ["anthropic-beta", "selects beta behaviour of the messages format; the client's SDK sets it with the body that needs it"],
  ["anthropic-version", "version of the messages format that the body was written for"],
  ["openai-beta", "selects beta behaviour of the assistants, realtime and responses formats"],
  ["x-goog-api-client", "library version that the generateContent vendors ask for; names no user"],
  ["idempotency-key", "lets the upstream drop a repeated POST; without it a repeat is billed twice"]
])

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
  ["openai-version", "version of the vendor's API that answered"]
])

/** Families of response headers that may cross: quota left at the upstream. */
const responsePrefixes: ReadonlyArray<string> = ["x-ratelimit-", "anthropic-ratelimit-", "ratelimit-"]

/** The upstream's own request ids; they cross under `upstreamIdHeader`, because `x-request-id` is the gateway's. */
const upstreamIds: ReadonlySet<string> = new Set(["x-request-id", "request-id", "x-goog-request-id", "x-amzn-requestid"])
export const upstreamIdHeader = "x-upstream-request-id"

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
export const isSafeName = (name: string): boolean => nameToken.test(name)

const select = (headers: ReadonlyArray<string>, rename: (name: string) => string | null): Array<string> => {
  const out: Array<string> = []
  for (let i = 0; i + 1 < headers.length && out.length < maxHeaders * 2; i += 2) {
    const name = rename((headers[i] ?? "").toLowerCase())
    if (name === null) continue
    const value = safeValue(headers[i + 1] ?? "")
    if (value !== null && value !== "") out.push(name, value)
  }
  return out
}

/** What of a client's request headers goes to the upstream; the adapter of the provider adds credentials and content headers itself. */
export const toUpstream = (headers: ReadonlyArray<string>): Array<string> =>
  select(headers, (name) => requestAllowed.has(name) ? name : null)

/** Headers that only one format's servers understand, by how their names begin. */
const ofFormat: ReadonlyArray<readonly [prefix: string, formats: ReadonlyArray<FormatName>]> = [
  ["anthropic-", ["messages"]],
  ["openai-", ["chat-completions", "responses"]],
  ["x-goog-", ["generateContent"]]
]

/**
 * A target's own headers with the client's: what belongs to another format than the one that is forwarded stays behind, and a
 * header that both have is the client's. Answers the target's own list when nothing is added, so that it can be cached by identity.
 */
export const merge = (own: ReadonlyArray<string>, forwarded: ReadonlyArray<string>, face: FormatName, family: FormatName): ReadonlyArray<string> => {
  let merged: Array<string> | null = null
  for (let i = 0; i < forwarded.length; i += 2) {
    const name = forwarded[i] as string
    const value = forwarded[i + 1] as string
    const bound = ofFormat.find(([prefix]) => name.startsWith(prefix))
    if (bound !== undefined && (face !== family || !bound[1].includes(family))) continue
    const list: ReadonlyArray<string> = merged ?? own
    const at = indexOfName(list, name)
    if (at !== -1 && list[at + 1] === value) continue
    merged ??= [...own]
    if (at === -1) merged.push(name, value)
    else merged[at + 1] = value
  }
  return merged ?? own
}

const indexOfName = (headers: ReadonlyArray<string>, name: string): number => {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return i
  return -1
}

/** What of an upstream's response headers goes to the client. */
export const toClient = (headers: ReadonlyArray<string>): Array<string> => {
  let identified = false
  return select(headers, (name) => {
    if (upstreamIds.has(name)) {
      if (identified) return null
      identified = true
      return upstreamIdHeader
    }
    if (responseAllowed.has(name)) return name
    return isSafeName(name) && responsePrefixes.some((prefix) => name.startsWith(prefix)) ? name : null
  })
}
