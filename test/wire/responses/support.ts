/** Fixtures of the responses format and the players that the tests share. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { StreamTap } from "#actors/request/ports/Face.ts"
import type { Conversation, ContentPart, Turn } from "#schemas/wire/conversation.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { client, upstream } from "#src/wire/responses/index.ts"
import type { EncoderOptions, StreamEncoder } from "#src/wire/stream/StreamSink.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { passBorrowed, pushBorrowed } from "#test/support/wire/borrowed.ts"

const root = Path.join(Path.dirname(fileURLToPath(import.meta.url)), "../../golden/responses")

export interface Fixture {
  readonly name: string
  readonly bytes: Buffer
}

export const fixtures = (kind: "requests" | "answers" | "streams" | "bad"): ReadonlyArray<Fixture> =>
  Fs.readdirSync(Path.join(root, kind)).sort().map((file) => ({ name: file.replace(/\.\w+$/, ""), bytes: Fs.readFileSync(Path.join(root, kind, file)) }))

export const fixture = (kind: "requests" | "answers" | "streams" | "bad", name: string): Buffer => {
  const found = fixtures(kind).find((one) => one.name === name)
  if (found === undefined) throw new Error(`no fixture ${kind}/${name}`)
  return found.bytes
}

export const parsed = (bytes: Buffer | string): Record<string, unknown> => JSON.parse(bytes.toString()) as Record<string, unknown>

export const request = (name: string): Record<string, unknown> => parsed(fixture("requests", name))

export const traits = (over: Partial<TargetTraits> = {}): TargetTraits =>
  ({ model: "gpt-5", stream: false, maxOutputTokens: null, reasoning: null, streamOptions: true, previousResponseId: "auto", ...over })

/** The same ids and times in every run. */
export const options = (body: Record<string, unknown> = {}): EncoderOptions => {
  let id = 0
  return { model: "lab/model", includeUsage: true, request: body, now: () => 1_790_000_000, makeId: () => `id${String(++id).padStart(22, "0")}` }
}

export const conversation = (turns: ReadonlyArray<Turn>, over: Partial<Conversation> = {}): Conversation =>
  ({ format: "messages", turns, tools: [], toolChoice: null, settings: none, extras: [], ...over })

export const turn = (role: Turn["role"], ...parts: ReadonlyArray<ContentPart>): Turn => ({ role, parts, name: null, path: "messages[0]" })

/** Neutral events of a stream given in pieces, and whether it was sound to its end. */
export const decoded = (pieces: ReadonlyArray<Buffer>) => {
  const sink = new RecordingSink()
  const decoder = upstream.makeDecoder(sink)
  let isSound = true
  for (const piece of pieces) isSound = isSound && pushBorrowed(decoder, piece)
  return { isSound: isSound && decoder.end(), events: sink.events }
}

/** What a tap forwards and learns of a stream given in pieces. */
export const tapped = (pieces: ReadonlyArray<Buffer>) => {
  const tap: StreamTap = upstream.makePassThroughTap({ forwardUsage: true }, null)
  const out: Array<Uint8Array> = []
  for (const piece of [...pieces, null]) {
    const bytes = piece === null ? tap.end() : passBorrowed(tap, piece)
    if (bytes !== null) out.push(bytes)
  }
  const { alive, error, finished, malformed, terminal, usage, useful } = tap
  return { text: Buffer.concat(out).toString("utf8"), alive, error, finished, malformed, terminal, usage, useful, output: tap.outputText(), tap }
}

/** Data objects of a stream, each checked to repeat its event line and to be numbered in order. */
export const eventsOf = (text: string): ReadonlyArray<Record<string, unknown> & { readonly type: string }> =>
  text.split("\n\n").filter((event) => event !== "").map((event, i) => {
    const [first, second] = event.split("\n")
    const data = JSON.parse((second ?? "").slice("data: ".length)) as Record<string, unknown> & { readonly type: string }
    if (first !== `event: ${data.type}`) throw new Error(`event line ${String(first)} of ${data.type}`)
    if (data["sequence_number"] !== i) throw new Error(`${data.type} is numbered ${String(data["sequence_number"])}, not ${i}`)
    return data
  })

/** What a script makes an encoder write. */
export const encoded = (script: (encoder: StreamEncoder) => void, body: Record<string, unknown> = {}): string => {
  const encoder = client.makeEncoder(options(body))
  script(encoder)
  return encoder.take()
}

export const anyText = Arbitrary.schema(Schema.String)
export const anyJson = Arbitrary.schema(Schema.Json)
