/** What is stored of one request's bodies: texts without credentials, each distinct one once. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Masking from "#actors/request/steps/masking.ts"
import * as Redact from "#src/platform/telemetry/redact.ts"
import type { Payload } from "./api.ts"
import type { Capture } from "./Capture.ts"
import type { Kept } from "./Kept.ts"

/** Place in `texts`; null for what is no text. */
const StoredPayload = Schema.Struct({ text: Schema.NullOr(Schema.Int), bytes: Schema.Int, cut: Schema.Boolean })

const Stored = Schema.Struct({
  texts: Schema.Array(Schema.String),
  clientRequest: StoredPayload,
  clientAnswer: StoredPayload,
  attempts: Schema.Array(Schema.Struct({ id: Schema.String, upstreamRequest: StoredPayload, upstreamAnswer: StoredPayload }))
})
const codec = Schema.fromJsonString(Stored)

/** Characters that are searched for credentials in one go; other work has its turn between. */
const pieceLength = 4_096
/** A longer run without a boundary is no header and no sentence, and shapes that read ahead would take too long in it. */
const longestShaped = 2 * pieceLength
/** Credentials have none of these. */
const boundary = /[\s"]/g
const isOpen = /\b(?:bearer|basic)\s*$/i

/** Pieces that are divided where no credential stands. */
export const piecesOf = (text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let from = 0
  while (text.length - from > pieceLength) {
    let end = from + pieceLength
    do {
      boundary.lastIndex = end
      end = boundary.exec(text) === null ? text.length : boundary.lastIndex
    } while (end < text.length && isOpen.test(text.slice(Math.max(from, end - 16), end)))
    pieces.push(text.slice(from, end))
    from = end
  }
  pieces.push(text.slice(from))
  return pieces
}

/** Without the credentials of every target that was called, and of the client, and without what looks like one. */
const maskOf = ({ attempts, credential }: Capture): (text: string) => string => {
  const own = credential === null ? [] : ["x-client-key", credential]
  const maskings = Array.from(Map.groupBy(attempts, ({ target }) => target), ([target, calls]) => Masking.of(target, [...calls.flatMap(({ sent }) => sent), ...own]))
  return (text) => maskings.reduce((masked, masking) => masking.text(masked), text.length > longestShaped ? text : Redact.text(text))
}

/** The stored form, as JSON. */
export const encode = Effect.fnUntraced(function*(capture: Capture) {
  const mask = maskOf(capture)
  const places = new Map<string, number>()
  const texts: Array<string> = []
  const payload = Effect.fnUntraced(function*(kept: Kept) {
    const { bytes, isCut: cut, text: plain } = kept
    if (plain === null || (plain === "" && bytes > 0)) return { text: null, bytes, cut }
    let place = places.get(plain)
    if (place === undefined) {
      place = texts.length
      places.set(plain, place)
      let masked = ""
      for (const piece of piecesOf(plain)) {
        masked += mask(piece)
        yield* Effect.yieldNow
      }
      texts.push(masked)
    }
    return { text: place, bytes, cut }
  })
  const clientRequest = yield* payload(capture.request)
  const clientAnswer = yield* payload(capture.answer)
  const attempts: Array<typeof Stored.Type["attempts"][number]> = []
  for (const { answer, id, request } of capture.attempts) {
    attempts.push({ id, upstreamRequest: yield* payload(request), upstreamAnswer: yield* payload(answer) })
  }
  return JSON.stringify({ texts, clientRequest, clientAnswer, attempts } satisfies typeof Stored.Type)
})

/** Reads what `encode` made. */
export const decode = (json: string) => {
  const { attempts, clientAnswer, clientRequest, texts } = Schema.decodeUnknownSync(codec)(json)
  const shown = ({ bytes, cut, text }: typeof StoredPayload.Type): Payload => ({ text: text === null ? null : texts[text] ?? null, bytes, cut })
  return {
    clientRequest: shown(clientRequest),
    clientAnswer: shown(clientAnswer),
    attempts: attempts.map(({ id, upstreamAnswer, upstreamRequest }) => ({ id, upstreamRequest: shown(upstreamRequest), upstreamAnswer: shown(upstreamAnswer) }))
  }
}
