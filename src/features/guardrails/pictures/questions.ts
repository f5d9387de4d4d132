/** What is asked of the model that describes pictures: one question for each, in the client's own format, so that the picture crosses as it came. Pure. */
import * as Crypto from "node:crypto"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Edits from "#src/wire/json/edits.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { Bridge } from "./bridge.ts"
import * as Pictures from "./pictures.ts"

type Body = Readonly<Record<string, unknown>>

/** Plain data: a thread answers it. */
export interface Question {
  readonly path: string
  /** JSON in UTF-8. */
  readonly body: Uint8Array
  /** SHA-256 of the path and the body, hex. */
  readonly digest: string
}

/** Plain data. */
export interface Asked {
  /** Of different pictures. */
  readonly questions: ReadonlyArray<Question>
  /** For each picture of the conversation the index of its question; -1: it is not asked about. */
  readonly places: ReadonlyArray<number>
}

/** One format wants a bound of the answer. */
const MAX_TOKENS = 4_096

const asked = (format: FormatName, { model, prompt }: Bridge, picture: Pictures.Picture): readonly [path: string, body: Body] => {
  const turn = (type: string): ReadonlyArray<Body> => [{ role: "user", content: [picture, { type, text: prompt }] }]
  switch (format) {
    case "messages": return ["/v1/messages", { model, max_tokens: MAX_TOKENS, messages: turn("text") }]
    case "responses": return ["/v1/responses", { model, input: turn("input_text") }]
    case "generateContent": return [`/v1beta/models/${encodeURIComponent(model)}:generateContent`, { contents: [{ role: "user", parts: [picture, { text: prompt }] }] }]
    case "local-model-server": return ["/v1/api/chat", { model, stream: false, messages: [{ role: "user", content: prompt, images: [picture] }] }]
    case "chat-completions":
    case "completions": return ["/v1/chat/completions", { model, messages: turn("text") }]
  }
}

const questionOf = (format: FormatName, bridge: Bridge, picture: Pictures.Picture): Question => {
  const [path, document] = asked(format, bridge, picture)
  const body = Buffer.from(JSON.stringify(document))
  return { path, body, digest: Crypto.hash("sha256", Buffer.concat([Buffer.from(`${path}\n`), body]), "hex") }
}

/** Of more pictures than are described, the last ones are: they are what the conversation is at. */
export const of = (format: FormatName, bridge: Bridge, body: Body): Asked => {
  const pictures = Pictures.of(body)
  const indexes = new Map<string, number>()
  const questions: Array<Question> = []
  const places = pictures.toReversed().map((picture) => {
    const identity = Crypto.hash("sha256", JSON.stringify(picture), "hex")
    const known = indexes.get(identity)
    if (known !== undefined) return known
    if (questions.length >= bridge.most) return -1
    indexes.set(identity, questions.length)
    return questions.push(questionOf(format, bridge, picture)) - 1
  })
  return { questions, places: places.toReversed() }
}

/** The text of an answer; empty where there is none. */
export const answerIn = (format: FormatName, text: string): string => {
  const body = Json.parseRecord(text)
  const answer = body === null ? null : Formats.family(format === "completions" ? "chat-completions" : format).decodeAnswer(body)
  if (answer === null || !("choices" in answer)) return ""
  return (answer.choices[0]?.parts ?? []).map((part) => part.kind === "text" ? part.text : "").join("").trim()
}

export interface Described {
  readonly bytes: Buffer
  readonly body: Record<string, unknown>
}

/** The conversation with these texts in the places of its pictures. `bytes` are the body that `body` was parsed of. */
export const described = (bytes: Buffer, body: Record<string, unknown>, texts: ReadonlyArray<string>): Described => {
  let next = 0
  const edits = Pictures.read(body, () => texts[next++] ?? null)
  if (edits === null) return { bytes, body }
  const changed = Edits.applied(body, edits) as Record<string, unknown>
  return { body: changed, bytes: Edits.inBytes(bytes, edits) ?? Buffer.from(JSON.stringify(changed)) }
}
