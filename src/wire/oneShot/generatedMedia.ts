/** What the requests for videos and for music share: fields of the clients' format, and their answers. Pure. */
import type { AnswerFacts, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

export interface MadeHead extends RequestHead {
  /** Seconds that the client asks for; null when it does not say. */
  readonly seconds: number | null
  readonly count: number
}

export const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

/** Why a field is no number of seconds; null for one that is, and for one that is not said. */
export const secondsRefusal = (value: unknown, most: number): PublicError | null =>
  isAbsent(value) || (typeof value === "number" && value > 0 && value <= most) ? null : invalid("duration", `Field 'duration' must be a number of seconds above 0, at most ${most}.`)

export const textsRefusal = (body: Body, names: ReadonlyArray<string>): PublicError | null => {
  const wrong = names.find((name) => !isAbsent(body[name]) && (typeof body[name] !== "string" || body[name] === ""))
  return wrong === undefined ? null : invalid(wrong, `Field '${wrong}' must be a non-empty string.`)
}

/** The client wants addresses or bytes, and a server that has one of them only says so. */
export const formatRefusal = ({ response_format: format }: Body): PublicError | null =>
  isAbsent(format) || format === "url" || format === "b64_json" ? null : invalid("response_format", "Field 'response_format' must be 'url' or 'b64_json'.")

export const onlyUrls = ({ response_format: format }: Body): PublicError | null =>
  format === "b64_json" ? invalid("response_format", "This model answers with addresses only: set 'response_format' to 'url'.") : null

export const onlyBytes = ({ response_format: format }: Body): PublicError | null =>
  format === "url" ? invalid("response_format", "This model answers with bytes only: set 'response_format' to 'b64_json'.") : null

/** A client that reads events finds none in a whole answer, and loses what it pays for. Forms hold texts. */
export const onlyWhole = ({ stream }: Body): PublicError | null =>
  stream === true || stream === "true" ? invalid("stream", "This model answers with whole images only: leave 'stream' out.") : null

export const onlyOne = ({ n }: Body, noun: string): PublicError | null =>
  isAbsent(n) || n === 1 ? null : invalid("n", `This model makes one ${noun} at a time.`)

/** Members that are sent under their own names, where the client said them. */
export const kept = (body: Body, names: Iterable<string>): Body =>
  Object.fromEntries([...names].flatMap((name) => isAbsent(body[name]) ? [] : [[name, body[name]]]))

/** Names of the members that are said and not understood. */
export const omitted = (body: Body, understood: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(body).filter((name) => !isAbsent(body[name]) && !understood.has(name))

/** What is made has no tokens. */
const noTokens: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

const outputText = (): string => ""

/** The answer in the clients' format. `created`: Unix seconds. */
export const answered = (created: number, data: ReadonlyArray<Body>, units: Units | null): AnswerFacts =>
  ({ usage: noTokens, units, error: null, body: Buffer.from(JSON.stringify({ created, data })), outputText })

export const failed = (bytes: Uint8Array, error: UpstreamErrorBody): AnswerFacts => ({ usage: null, error, body: bytes, outputText })

export const failure = (message: string, code: string | null, status: number | null = null): UpstreamErrorBody => ({ message, type: null, code, status })

/** Items of an answer in the clients' own format; null when it is none. */
export const itemsIn = (answer: Body): ReadonlyArray<Body> | null => {
  const { data } = answer
  return Array.isArray(data) && data.length > 0 && data.every((item: unknown) => Json.isRecord(item) && (typeof item["url"] === "string" || typeof item["b64_json"] === "string")) ? data : null
}

/** Seconds that the items themselves name; null unless all do. */
export const secondsIn = (items: ReadonlyArray<Body>): Units | null => {
  const lengths = items.map(({ duration }) => duration)
  return lengths.every((length) => typeof length === "number" && length >= 0) ? { second: lengths.reduce((sum: number, length) => sum + (length as number), 0) } : null
}
