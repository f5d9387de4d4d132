/** Embeddings of texts and media, as each multimodal vendor's servers are asked for them. Pure. */
import { PublicError } from "#schemas/errors.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { Asked as OneShotAsked, Encoded } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"
import type { InlinePart, Part, RemotePart, TextPart } from "./items.ts"

type Ready = TextPart | InlinePart

interface Asked {
  readonly parts: ReadonlyArray<Ready>
  readonly parsed: Body
  readonly model: string
}

interface Said {
  readonly body: Readonly<Record<string, unknown>>
  /** Vectors that it asks for. */
  readonly count: number
  /** Members of the client's body that it says. */
  readonly takes: ReadonlyArray<string>
}

const dataUri = ({ data, mediaType }: InlinePart): string => `data:${mediaType};base64,${data}`

const stringAt = (parsed: Body, name: string): string | undefined => typeof parsed[name] === "string" ? parsed[name] : undefined

const dimensionsOf = (parsed: Body): unknown => parsed["dimensions"] ?? undefined

/** https://jina.ai/embeddings: one object by modality for each item. */
const jina = ({ model, parsed, parts }: Asked): Said => ({
  body: { ...parsed, model, input: parts.map((part) => part.modality === "text" ? { text: part.text } : { [part.modality]: dataUri(part) }) },
  count: parts.length, takes: Object.keys(parsed)
})

/** https://ai.google.dev/api/embeddings: one request whose parts become one vector. */
const gemini = ({ model, parsed, parts }: Asked): Said => ({
  body: {
    requests: [{
      model: `models/${model}`, taskType: stringAt(parsed, "task_type"), title: stringAt(parsed, "title"), outputDimensionality: dimensionsOf(parsed),
      content: { parts: parts.map((part) => part.modality === "text" ? { text: part.text } : { inlineData: { mimeType: part.mediaType, data: part.data } }) }
    }]
  },
  count: 1, takes: ["task_type", "title"]
})

/** https://docs.voyageai.com/reference/multimodal-embeddings-api */
const voyage = ({ model, parsed, parts }: Asked): Said => ({
  body: {
    model, input_type: stringAt(parsed, "input_type"), truncation: parsed["truncation"] ?? undefined, output_dimension: dimensionsOf(parsed),
    inputs: parts.map((part) => ({
      content: [part.modality === "text" ? { type: "text", text: part.text } : { type: `${part.modality}_base64`, [`${part.modality}_base64`]: dataUri(part) }]
    }))
  },
  count: parts.length, takes: ["input_type", "truncation"]
})

/** https://docs.cohere.com/reference/embed (v2). An input type is required: what is embedded is mostly searched in. */
const cohere = ({ model, parsed, parts }: Asked): Said => ({
  body: {
    model, input_type: stringAt(parsed, "input_type") ?? "search_document", embedding_types: ["float"], truncate: stringAt(parsed, "truncate"), output_dimension: dimensionsOf(parsed),
    inputs: parts.map((part) => ({ content: [part.modality === "text" ? { type: "text", text: part.text } : { type: "image_url", image_url: { url: dataUri(part) } }] }))
  },
  count: parts.length, takes: ["input_type", "truncate"]
})

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/multimodal-embeddings-api */
const predict = ({ parsed, parts }: Asked): Said => ({
  body: {
    instances: parts.map((part) => part.modality === "text" ? { text: part.text } : { [part.modality]: { bytesBase64Encoded: part.data, mimeType: part.mediaType } }),
    ...(dimensionsOf(parsed) === undefined ? {} : { parameters: { dimension: dimensionsOf(parsed) } })
  },
  count: parts.length, takes: []
})

const writers: Partial<Readonly<Record<EmbeddingFamily, (asked: Asked) => Said>>> = {
  "embeddings/jina": jina,
  batchEmbedContents: gemini,
  "embeddings/voyage": voyage,
  "embeddings/cohere": cohere,
  "embeddings/predict": predict
}

/** Members that are said in each vendor's own words, or that the gateway acts on itself. */
const understood: ReadonlySet<string> = new Set(["model", "input", "encoding_format", "dimensions"])

/** The part with the bytes that were fetched for it. */
const inlined = (part: RemotePart, media: OneShotAsked["media"]): Part => {
  const found = media?.find(({ url }) => url === part.url)
  if (found === undefined) return part
  const { buffer, byteLength, byteOffset } = found.bytes
  return { modality: part.modality, mediaType: found.mediaType, data: Buffer.from(buffer, byteOffset, byteLength).toString("base64") }
}

const isRemote = (part: Part): part is RemotePart => "url" in part

/** The note: how many vectors the body asks for. */
export const encode = (family: EmbeddingFamily, items: ReadonlyArray<Part>, { media, model, parsed }: OneShotAsked): Encoded<number> | PublicError => {
  const parts = items.map((part) => isRemote(part) ? inlined(part, media) : part)
  const write = writers[family]
  if (write === undefined) return invalid("input", `Model '${model.slice(0, 200)}' takes no structured input.`)
  const away = parts.find(isRemote)
  if (away !== undefined) return invalid(away.at, `Field '${away.at}' could not be fetched.`)
  const said = write({ parts: parts as ReadonlyArray<Ready>, parsed, model })
  const takes = new Set(said.takes)
  return {
    body: Buffer.from(JSON.stringify(said.body)), note: said.count,
    omitted: Object.keys(parsed).filter((name) => !understood.has(name) && !takes.has(name) && parsed[name] !== null)
  }
}
