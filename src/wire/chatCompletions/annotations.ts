/** Citations in the chat format: `{type:"url_citation", url_citation:{start_index, end_index, url, title}}`. */
import type { Annotation } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

const readAnnotation = (value: unknown): Annotation | null => {
  if (!Json.isRecord(value) || value["type"] !== "url_citation") return null
  const inner = Json.recordAt(value, "url_citation") ?? value
  const url = inner["url"]
  if (typeof url !== "string") return null
  return {
    kind: "url",
    url,
    title: typeof inner["title"] === "string" ? inner["title"] : null,
    citedText: typeof inner["content"] === "string" ? inner["content"] : null,
    start: typeof inner["start_index"] === "number" ? inner["start_index"] : null,
    end: typeof inner["end_index"] === "number" ? inner["end_index"] : null,
    document: null,
    native: { format: "chat-completions", value }
  }
}

/** Reads a list of annotations; what is none is left out. */
export const readAnnotations = (value: unknown): ReadonlyArray<Annotation> =>
  Array.isArray(value) ? value.map(readAnnotation).filter((annotation) => annotation !== null) : []

/** Null for a citation of a document, which the format cannot say. */
export const writeAnnotation = (annotation: Annotation): unknown => {
  if (annotation.native?.format === "chat-completions") return annotation.native.value
  if (annotation.url === null) return null
  return {
    type: "url_citation",
    url_citation: {
      ...(annotation.start === null ? {} : { start_index: annotation.start }),
      ...(annotation.end === null ? {} : { end_index: annotation.end }),
      url: annotation.url,
      title: annotation.title ?? "",
      ...(annotation.citedText === null ? {} : { content: annotation.citedText })
    }
  }
}
