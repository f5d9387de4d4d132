/** Requests for embeddings: what clients may ask, and how each family of servers is asked. Pure. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Items from "./items.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { Asked, Encoded, MediaWish } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"
import * as Structured from "./structured.ts"

export interface EmbeddingHead extends RequestHead {
  /** How the client wants vectors; null = it did not say. */
  readonly encoding: "float" | "base64" | null
}

const isToken = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value >= 0
const isTokens = (value: unknown): value is ReadonlyArray<number> => Array.isArray(value) && value.length > 0 && value.every(isToken)
const isText = (value: unknown): value is string => typeof value === "string"

const inputRefusal = (input: unknown): PublicError | null => {
  if (input === undefined || input === null) return invalid("input", "Field 'input' is required: a string, a list of strings, a list of tokens, or a list of such lists.")
  if (isText(input)) return null
  if (!Array.isArray(input)) return invalid("input", "Field 'input' must be a string, a list of strings, a list of tokens, or a list of such lists.")
  if (input.length === 0) return invalid("input", "Field 'input' must not be an empty list.")
  if (input.every(isText) || input.every(isToken) || input.every(isTokens)) return null
  if (Items.firstOf(input) >= 0) return isOutline(input) ? null : refusedBy(Items.read(input))
  return invalid("input", "Field 'input' must hold strings only, tokens only (whole numbers from 0), or non-empty lists of tokens only.")
}

const refusedBy = (read: unknown): PublicError | null => read instanceof PublicError ? read : null

/** The outline of a large body, which was read whole before, keeps its last item without what it holds. */
const isOutline = (input: ReadonlyArray<unknown>): boolean => {
  const [item] = input
  if (input.length !== 1 || !Json.isRecord(item)) return false
  const source: unknown = item["source"]
  return (Json.isRecord(source) && Object.keys(source).length === 0) || (Array.isArray(item["content"]) && item["content"].length === 0) ||
    Object.values(item).some((value) => typeof value === "string" && value.length === cutCharacters)
}

/** Length of a text that was cut for an outline. */
const cutCharacters = 64

/** Reads what is planned by, and refuses what no server could read. Members that are not named here are the vendors' and are forwarded. */
export const head = (body: Body): EmbeddingHead | PublicError => {
  const { dimensions, encoding_format: encoding, input, model } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string such as 'openai/text-embedding-3-small'.")
  const refusal = inputRefusal(input)
  if (refusal !== null) return refusal
  if (encoding !== undefined && encoding !== null && encoding !== "float" && encoding !== "base64") {
    return invalid("encoding_format", "Field 'encoding_format' must be 'float' or 'base64'.")
  }
  if (dimensions !== undefined && dimensions !== null && !(Number.isSafeInteger(dimensions) && (dimensions as number) > 0)) {
    return invalid("dimensions", "Field 'dimensions' must be a whole number from 1.")
  }
  return { model, stream: false, wantsUsage: false, encoding: encoding ?? null }
}

/** Vectors that the input asks for: one for each item at its top. */
const countOf = ({ input }: Body): number => Array.isArray(input) && !isToken(input[0]) ? input.length : 1

const nothing: ReadonlyArray<string> = []

const structuredOf = (family: EmbeddingFamily, { modalities, model, parsed: { input } }: Asked): Items.Items | PublicError | null => {
  if (!Array.isArray(input) || Items.firstOf(input) < 0) return null
  const items = Items.read(input)
  if (items instanceof PublicError) return items
  return Items.refusalOf(items, model, modalities ?? null) ?? (items.native && family !== "embeddings/jina" ? Errors.make("bad_request", "Invalid request") : items)
}

/** What the items name by URL; those in the vendor's own spelling are fetched by the vendor. */
export const media = (family: EmbeddingFamily, asked: Asked): MediaWish | PublicError => {
  const items = structuredOf(family, asked)
  if (items === null || items instanceof PublicError) return items ?? noMedia
  const remote = items.parts.flatMap((part) => "url" in part ? [{ url: part.url, at: part.at, types: items.native ? null : Items.typesOf(part.modality) }] : [])
  return { remote, maxBytes: Items.mostItemBytes, room: Items.mostBytes - Items.weightOf(items.parts) }
}

const noMedia: MediaWish = { remote: [], maxBytes: 0, room: 0 }

/** The request for a server of the family that knows the model as `model`; `parsed` is what the bytes say. */
export const encode = (family: EmbeddingFamily, given: Asked): Encoded<number> | PublicError => {
  const asked = measured(given)
  const { bytes, model, parsed } = asked
  const { input } = parsed
  const items = structuredOf(family, asked)
  if (items instanceof PublicError) return items
  if (items !== null) return items.native ? { body: named(bytes, parsed, model), note: countOf(parsed), omitted: nothing } : Structured.encode(family, items.parts, asked)
  if (family === "embeddings" || family === "embeddings/jina") return { body: named(bytes, parsed, model), note: countOf(parsed), omitted: nothing }
  const texts = textsOf(input)
  if (texts === null) {
    return Errors.make("bad_request", `Model '${model.slice(0, 200)}' embeds text only: send 'input' as text, not as tokens.`, { extra: { param: "input" } })
  }
  if (family === "batchEmbedContents") return contents(texts, parsed, model)
  return family === "predict" ? instances(texts, parsed) : Structured.encode(family, texts.map((text) => ({ modality: "text", text })), asked)
}

/** With the length of vectors that its combo says, where the client says none. */
const measured = (asked: Asked): Asked => {
  const { bytes, dimensions, parsed } = asked
  if (dimensions === undefined || dimensions === null || (parsed["dimensions"] !== undefined && parsed["dimensions"] !== null)) return asked
  const said = { ...parsed, dimensions }
  return { ...asked, bytes: Splice.edit(bytes, parsed, [{ key: "dimensions", value: String(dimensions) }]) ?? Buffer.from(JSON.stringify(said)), parsed: said }
}

/** The client's own bytes with another model. */
const named = (bytes: Buffer, parsed: Body, model: string): Uint8Array =>
  Splice.edit(bytes, parsed, [{ key: "model", value: JSON.stringify(model) }]) ?? Buffer.from(JSON.stringify({ ...parsed, model }))

const textsOf = (input: unknown): ReadonlyArray<string> | null =>
  isText(input) ? [input] : Array.isArray(input) && input.every(isText) ? input : null

/** Members that both other families take under another name, or that the gateway acts on itself. */
const understood: ReadonlySet<string> = new Set(["model", "input", "encoding_format", "dimensions", "task_type", "title"])

const omittedOf = (parsed: Body): ReadonlyArray<string> => Object.keys(parsed).filter((name) => !understood.has(name) && parsed[name] !== null)

const stringAt = (parsed: Body, name: string): string | undefined => typeof parsed[name] === "string" ? parsed[name] : undefined

const contents = (texts: ReadonlyArray<string>, parsed: Body, model: string): Encoded<number> => {
  const shared = { model: `models/${model}`, taskType: stringAt(parsed, "task_type"), title: stringAt(parsed, "title"), outputDimensionality: parsed["dimensions"] ?? undefined }
  return { body: Buffer.from(JSON.stringify({ requests: texts.map((text) => ({ ...shared, content: { parts: [{ text }] } })) })), note: texts.length, omitted: omittedOf(parsed) }
}

const instances = (texts: ReadonlyArray<string>, parsed: Body): Encoded<number> => {
  const shared = { task_type: stringAt(parsed, "task_type"), title: stringAt(parsed, "title") }
  const parameters = parsed["dimensions"] === undefined || parsed["dimensions"] === null ? {} : { parameters: { outputDimensionality: parsed["dimensions"] } }
  return { body: Buffer.from(JSON.stringify({ instances: texts.map((content) => ({ ...shared, content })), ...parameters })), note: texts.length, omitted: omittedOf(parsed) }
}
