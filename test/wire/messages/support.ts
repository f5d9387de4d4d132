/** Fixtures and common questions of the tests of this format. */
import * as fs from "node:fs"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/messages/index.ts"
import { none } from "#src/wire/neutral/settings.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { Json, TargetTraits } from "#src/wire/WireFormat.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { pushBorrowed } from "#test/support/wire/borrowed.ts"

const root = new URL("../../golden/messages/", import.meta.url)

export const fixtures = (kind: "requests" | "answers" | "bad" | "streams"): ReadonlyArray<readonly [string, Buffer]> =>
  fs.readdirSync(new URL(`${kind}/`, root)).sort().map((name) => [name.replace(/\.[a-z]+$/, ""), fs.readFileSync(new URL(`${kind}/${name}`, root))])

const named = (kind: "requests" | "answers" | "streams") => {
  const all = new Map(fixtures(kind))
  return (name: string): Buffer => {
    const found = all.get(name)
    if (found === undefined) throw new Error(`no fixture ${name}`)
    return found
  }
}
export const requestOf = (name: string): Json => json(named("requests")(name))
export const answerOf = (name: string): Json => json(named("answers")(name))
export const streamOf = named("streams")

export const json = (bytes: Buffer): Json => JSON.parse(bytes.toString()) as Json

export const traits: TargetTraits = { model: "claude-sonnet-4-5", stream: false, maxOutputTokens: 64_000, reasoning: true, streamOptions: true, previousResponseId: "auto" }

export const options: EncoderOptions = { model: "asked/model", includeUsage: true, request: {}, makeId: () => "a".repeat(24), now: () => 1_760_000_000 }

export const conversation = (body: Json): Conversation => {
  const read = client.decodeRequest(body)
  if (read instanceof PublicError) throw new Error(`${read.message} (${JSON.stringify(read.extra)})`)
  return read
}

/** A conversation of a chat client, by default one that says hello. */
export const chat = (over: Partial<Omit<Conversation, "settings">> & { readonly settings?: Partial<Conversation["settings"]> } = {}): Conversation => ({
  format: "chat-completions", tools: [], toolChoice: null, extras: [],
  turns: [{ role: "user", name: null, path: "messages[0]", parts: [text("Hello")] }],
  ...over, settings: { ...none, ...over.settings }
})

export const text = (words: string) => ({ kind: "text", text: words, cache: null, annotations: [], signature: null }) as const

export const encoded = (from: Conversation, over: Partial<TargetTraits> = {}): { readonly body: Json; readonly omitted: ReadonlyArray<string> } => {
  const written = upstream.encodeRequest(from, { ...traits, ...over })
  if (written instanceof PublicError) throw new Error(`${written.message} (${JSON.stringify(written.extra)})`)
  return { body: JSON.parse(written.body) as Json, omitted: written.omitted }
}

export const refusal = (from: Conversation, over: Partial<TargetTraits> = {}): PublicError => {
  const written = upstream.encodeRequest(from, { ...traits, ...over })
  if (!(written instanceof PublicError)) throw new Error(`not refused: ${written.body}`)
  return written
}

/** What the decoder says of the pieces. */
export const events = (pieces: ReadonlyArray<Buffer>) => {
  const sink = new RecordingSink()
  const decoder = upstream.makeDecoder(sink)
  let isSound = true
  for (const piece of pieces) if (isSound) isSound = pushBorrowed(decoder, piece)
  if (isSound) isSound = decoder.end()
  return { isSound, events: sink.events }
}
