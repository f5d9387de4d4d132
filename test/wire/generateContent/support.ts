/** Fixtures and common questions of the tests of this format. */
import * as fs from "node:fs"
import * as Schema from "effect/Schema"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/generateContent/index.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { Json, TargetTraits } from "#src/wire/WireFormat.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { passBorrowed, pushBorrowed } from "#test/support/wire/borrowed.ts"

const root = new URL("../../golden/generateContent/", import.meta.url)

export const fixtures = (kind: "requests" | "answers" | "bad" | "streams"): ReadonlyArray<readonly [string, Buffer]> =>
  fs.readdirSync(new URL(`${kind}/`, root)).sort().map((name) => [name.replace(/\.\w+$/, ""), fs.readFileSync(new URL(`${kind}/${name}`, root))])

export const fixture = (kind: "requests" | "answers" | "bad" | "streams", name: string): Buffer => {
  const found = fixtures(kind).find(([one]) => one === name)
  if (found === undefined) throw new Error(`no fixture ${kind}/${name}`)
  return found[1]
}

export const json = (bytes: Buffer): Json => JSON.parse(bytes.toString()) as Json

export const traits: TargetTraits = {
  model: "gemini-3-flash-preview", stream: true, maxOutputTokens: null, reasoning: true, streamOptions: true, previousResponseId: "auto"
}

export const options: EncoderOptions = { model: "asked/model", includeUsage: true, request: {}, makeId: () => "a".repeat(24), now: () => 1_760_000_000 }

export const conversation = (body: Json): Conversation => {
  const read = client.decodeRequest(body)
  if (read instanceof PublicError) throw new Error(`${read.message} (${JSON.stringify(read.extra)})`)
  return read
}

export const user = (...parts: ReadonlyArray<Json>) => ({ role: "user", parts })
export const model = (...parts: ReadonlyArray<Json>) => ({ role: "model", parts })

/** What stands in a body upstream. */
export interface Body {
  readonly contents: ReadonlyArray<{ readonly role: string; readonly parts: ReadonlyArray<Json> }>
  readonly [member: string]: unknown
}

export const encoded = (from: Conversation, over: Partial<TargetTraits> = {}): { readonly body: Body; readonly omitted: ReadonlyArray<string> } => {
  const written = upstream.encodeRequest(from, { ...traits, ...over })
  if (written instanceof PublicError) throw new Error(written.message)
  return { body: JSON.parse(written.body) as Body, omitted: written.omitted }
}

/** The refusal of a request: its field and its words. */
export const refused = (from: Conversation, over: Partial<TargetTraits> = {}): readonly [unknown, string] => {
  const written = upstream.encodeRequest(from, { ...traits, ...over })
  if (!(written instanceof PublicError)) throw new Error(`not refused: ${written.body}`)
  return [written.extra?.["param"], written.message]
}

/** What a decoder says of the pieces, and whether it understood them. */
export const decoded = (pieces: ReadonlyArray<Buffer>) => {
  const sink = new RecordingSink()
  const decoder = upstream.makeDecoder(sink)
  const understood = pieces.map((piece) => pushBorrowed(decoder, piece)).every(Boolean) && decoder.end()
  return { events: sink.events, understood }
}

/** What a tap does with the pieces. */
export const tapped = (pieces: ReadonlyArray<Buffer>) => {
  const tap = upstream.makePassThroughTap({ forwardUsage: true }, null)
  const out: Array<Uint8Array | null> = pieces.map((piece) => passBorrowed(tap, piece))
  out.push(tap.end())
  return {
    bytes: Buffer.concat(out.filter((one) => one !== null)).toString(), usage: tap.usage, error: tap.error, useful: tap.useful, alive: tap.alive,
    terminal: tap.terminal, finished: tap.finished, malformed: tap.malformed, text: tap.outputText()
  }
}

/** The chunks of a stream written for a client. */
export const chunksOf = (text: string): ReadonlyArray<Json> =>
  text.split("\n\n").filter((event) => event !== "").map((event) => {
    if (!event.startsWith("data: ")) throw new Error(`no data line: ${event}`)
    return JSON.parse(event.slice(6)) as Json
  })

export const anyJson = Schema.Json
