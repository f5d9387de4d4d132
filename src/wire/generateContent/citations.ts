/** Citations: grounding and citation metadata, whose offsets count bytes of UTF-8, and annotations, whose offsets count characters. */
import type { Annotation } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { byteAt } from "./offsets.ts"

/** `character`: the character at each byte of what the candidate said so far, thoughts apart. */
export const annotationsOf = (candidate: Readonly<Record<string, unknown>>, character: (byte: number) => number): ReadonlyArray<Annotation> => {
  const grounding = Json.recordAt(candidate, "groundingMetadata")
  const citation = Json.recordAt(candidate, "citationMetadata")
  if (grounding === null && citation === null) return []
  return [...(grounding === null ? [] : ofGrounding(grounding, character)), ...(citation === null ? [] : ofCitations(citation, character))]
}

const ofGrounding = (grounding: Record<string, unknown>, character: (byte: number) => number): ReadonlyArray<Annotation> => {
  const chunks: ReadonlyArray<unknown> = Array.isArray(grounding["groundingChunks"]) ? grounding["groundingChunks"] : []
  const supports: ReadonlyArray<unknown> = Array.isArray(grounding["groundingSupports"]) ? grounding["groundingSupports"] : []
  const annotations: Array<Annotation> = []
  for (const support of supports) {
    const segment = Json.isRecord(support) ? Json.recordAt(support, "segment") : null
    const indices = Json.isRecord(support) ? support["groundingChunkIndices"] : null
    if (segment === null || !Array.isArray(indices)) continue
    const start = character(Json.countAt(segment, "startIndex"))
    const end = character(Json.countAt(segment, "endIndex"))
    for (const index of indices) {
      const chunk = typeof index === "number" ? chunks[index] : null
      const annotation = Json.isRecord(chunk) ? ofChunk(chunk, Number(index), start, end) : null
      if (annotation !== null) annotations.push(annotation)
    }
  }
  return annotations
}

const textAt = (record: Readonly<Record<string, unknown>>, key: string): string | null => {
  const value = record[key]
  return typeof value === "string" && value !== "" ? value : null
}

const ofChunk = (chunk: Record<string, unknown>, index: number, start: number, end: number): Annotation | null => {
  const web = Json.recordAt(chunk, "web") ?? Json.recordAt(chunk, "maps")
  const retrieved = Json.recordAt(chunk, "retrievedContext")
  const source = web ?? retrieved
  if (source === null) return null
  return {
    kind: web === null ? "document" : "url", url: textAt(source, "uri"), title: textAt(source, "title"), citedText: textAt(source, "text"), start, end,
    document: web === null ? String(index) : null, native: null
  }
}

/** Sources that the model recited: `citationSources` in the public API, `citations` in Vertex AI. */
const ofCitations = (citation: Record<string, unknown>, character: (byte: number) => number): ReadonlyArray<Annotation> => {
  const sources = citation["citationSources"] ?? citation["citations"]
  if (!Array.isArray(sources)) return []
  return sources.filter(Json.isRecord).filter((source) => textAt(source, "uri") !== null).map((source) => ({
    kind: "url", url: textAt(source, "uri"), title: textAt(source, "title"), citedText: null,
    start: character(Json.countAt(source, "startIndex")), end: character(Json.countAt(source, "endIndex")), document: null, native: null
  }))
}

/** JSON of `"groundingMetadata":{…}` for a client. `text` is the whole text that the offsets count in. */
export const groundingText = (annotations: ReadonlyArray<Annotation>, text: string): string => {
  /** Each source with its number. */
  const chunks = new Map<string, number>()
  const supports: Array<object> = []
  const byte = byteAt(text)
  for (const one of annotations) {
    const chunk = JSON.stringify(chunkOf(one))
    const index = chunks.get(chunk) ?? chunks.size
    chunks.set(chunk, index)
    if (one.start === null || one.end === null) continue
    supports.push({
      segment: { startIndex: byte(one.start), endIndex: byte(one.end), text: text.slice(one.start, one.end) },
      groundingChunkIndices: [index]
    })
  }
  return `"groundingMetadata":{"groundingChunks":[${[...chunks.keys()].join(",")}],"groundingSupports":${JSON.stringify(supports)}}`
}

const chunkOf = (one: Annotation): object => {
  const title = one.title === null ? {} : { title: one.title }
  const uri = one.url === null ? {} : { uri: one.url }
  if (one.kind === "url") return { web: { ...uri, ...title } }
  return { retrievedContext: { ...uri, ...title, ...(one.citedText === null ? {} : { text: one.citedText }) } }
}
