/** Fixtures and common questions of the tests of this format. */
import * as fs from "node:fs"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/localModelServer/index.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { Json, TargetTraits } from "#src/wire/WireFormat.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { pushBorrowed } from "#test/support/wire/borrowed.ts"

const root = new URL("../../golden/local-model-server/", import.meta.url)

export const fixtures = (kind: "requests" | "answers" | "bad" | "streams"): ReadonlyArray<readonly [string, Buffer]> =>
  fs.readdirSync(new URL(`${kind}/`, root)).sort().map((name) => [name, fs.readFileSync(new URL(`${kind}/${name}`, root))])

export const json = (bytes: Buffer): Json => JSON.parse(bytes.toString()) as Json

export const traits: TargetTraits = { model: "llama3.2", stream: true, maxOutputTokens: null, reasoning: true, streamOptions: true, previousResponseId: "auto" }

export const options: EncoderOptions = { model: "asked/model", includeUsage: true, request: {}, makeId: () => "a".repeat(24), now: () => 1_760_000_000 }

/** What the client's request means; the refusal when it is refused. */
export const readRequest = (body: Json): Conversation | PublicError => {
  const head = client.head(body)
  return head instanceof PublicError ? head : client.decodeRequest(body)
}

export const conversation = (body: Json): Conversation => {
  const read = readRequest(body)
  if (read instanceof PublicError) throw new Error(`${read.message} (${JSON.stringify(read.extra)})`)
  return read
}

export const encoded = (from: Conversation, over: Partial<TargetTraits> = {}): { readonly body: Json; readonly omitted: ReadonlyArray<string> } => {
  const written = upstream.encodeRequest(from, { ...traits, ...over })
  if (written instanceof PublicError) throw new Error(written.message)
  return { body: JSON.parse(written.body) as Json, omitted: written.omitted }
}

/** What a decoder says of the pieces. */
export const events = (pieces: ReadonlyArray<Buffer>) => {
  const sink = new RecordingSink()
  const decoder = upstream.makeDecoder(sink)
  let isSound = true
  for (const piece of pieces) {
    isSound = pushBorrowed(decoder, piece)
    if (!isSound) break
  }
  if (isSound) isSound = decoder.end()
  return { events: sink.events, isSound }
}
