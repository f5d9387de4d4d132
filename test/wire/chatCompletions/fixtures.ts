/** The golden fixtures of the format, and what every test of it needs. */
import { readdirSync, readFileSync } from "node:fs"
import { expect } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { client } from "#src/wire/chatCompletions/index.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"

const root = new URL("../../golden/chat-completions/", import.meta.url)

export type Json = Record<string, unknown>

const load = <A>(kind: string): ReadonlyArray<readonly [name: string, value: A]> =>
  readdirSync(new URL(`${kind}/`, root)).sort().map((file) =>
    [file.replace(/\.json$/, ""), JSON.parse(readFileSync(new URL(`${kind}/${file}`, root), "utf8")) as A]
  )

export const requests = load<Json>("requests")
export const answers = load<Json>("answers")
export const bad = load<{ readonly request: Json; readonly param: string }>("bad")
export const streams: ReadonlyArray<readonly [name: string, bytes: Buffer]> = readdirSync(new URL("streams/", root)).sort().map((file) =>
  [file.replace(/\.sse$/, ""), readFileSync(new URL(`streams/${file}`, root))]
)

export const named = <A>(table: ReadonlyArray<readonly [string, A]>, name: string): A => {
  const found = table.find(([one]) => one === name)
  if (found === undefined) throw new Error(`no fixture ${name}`)
  return found[1]
}

export const traits = (model = "some-model", more: Partial<TargetTraits> = {}): TargetTraits => ({
  model, stream: false, maxOutputTokens: null, reasoning: null, streamOptions: true, previousResponseId: "auto", ...more
})

export const options = (more: Partial<EncoderOptions> = {}): EncoderOptions => ({
  model: "public/model", includeUsage: false, request: {}, makeId: () => "0123456789abcdefghijABCD", now: () => 1_700_000_000, ...more
})

/** The decoded request; fails the test when it was refused. */
export const conversationOf = (body: Json): Conversation => {
  const decoded = client.decodeRequest(body)
  if (decoded instanceof PublicError) throw new Error(`${decoded.message} (${JSON.stringify(decoded.extra)})`)
  return decoded
}

/** Data of each event of a stream, parsed. */
export const framesOf = (stream: string): ReadonlyArray<unknown> =>
  stream.split("\n\n").filter((event) => event !== "").map((event) => {
    expect(event.startsWith("data: ")).toBe(true)
    const data = event.slice(6)
    return data === "[DONE]" ? data : JSON.parse(data) as unknown
  })
