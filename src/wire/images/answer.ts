/** Answers with images, as each family of servers gives them and as the client is given them. Pure. */
import type { AnswerFacts, Usage } from "#actors/request/ports/Face.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import { upstream as chatCompletions } from "#src/wire/chatCompletions/index.ts"
import { upstream as generateContent } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json/json.ts"
import type { Json as Body, UpstreamCodec } from "#src/wire/WireFormat.ts"
import * as Content from "./content.ts"

/** How the family's servers tell of an error. */
export const errorsOf = (family: TargetFamily): Pick<UpstreamCodec, "readError"> => family === "images/predict" || family === "images/content" ? generateContent : chatCompletions

const outputText = (): string => ""

/** Null when the bytes are no answer of the family, or hold no image. `now`: Unix seconds. */
export const read = (family: TargetFamily, bytes: Uint8Array, now: number): AnswerFacts | null => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parsed = Json.parseRecord(body.toString("utf8"))
  if (parsed === null) return null
  const error = errorsOf(family).readError(parsed)
  if (error !== null) return { usage: null, error, body, outputText }
  if (family === "images/content") return Content.read(body, parsed, now)
  return family === "images/predict" ? translated(parsed, now) : forwarded(body, parsed)
}

/** Images have no text that tokens could be counted of: an answer without counts used none. */
const noTokens: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

const countAt = (record: unknown, name: string): number => {
  const value = Json.isRecord(record) ? record[name] : null
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0
}

const usageOf = ({ usage }: Body): Usage => ({ ...noTokens, input: countAt(usage, "input_tokens"), output: countAt(usage, "output_tokens") })

const isImage = (item: unknown): boolean => Json.isRecord(item) && (typeof item["url"] === "string" || typeof item["b64_json"] === "string")

/** The client's own format: the server's bytes. */
const forwarded = (body: Buffer, parsed: Body): AnswerFacts | null => {
  const { data } = parsed
  if (!Array.isArray(data) || data.length === 0 || !data.every(isImage)) return null
  return { usage: usageOf(parsed), units: { image: data.length }, error: null, body, outputText }
}

const translated = ({ predictions }: Body, created: number): AnswerFacts | null => {
  if (!Array.isArray(predictions)) return null
  // What a filter left out stands there without bytes.
  const data = predictions.flatMap((item: unknown) =>
    Json.isRecord(item) && typeof item["bytesBase64Encoded"] === "string" ? [{ b64_json: item["bytesBase64Encoded"] }] : [])
  return data.length === 0 ? null : { usage: noTokens, units: { image: data.length }, error: null, body: Buffer.from(JSON.stringify({ created, data })), outputText }
}
