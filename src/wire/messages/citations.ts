/** Citations of a text block: the vendor's five location shapes and the neutral annotation. */
import type { Annotation } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

const textAt = (value: Readonly<Record<string, unknown>>, key: string): string | null => typeof value[key] === "string" ? value[key] : null

/** An index as text, null when absent. */
const indexAt = (value: Readonly<Record<string, unknown>>, key: string): string | null =>
  typeof value[key] === "number" ? String(value[key]) : null

/** Offsets in a vendor's citation point into the cited document, not into the answer: they stay in `native`. */
export const annotationOf = (value: unknown): Annotation | null => {
  if (!Json.isRecord(value)) return null
  const type = value["type"]
  const isWeb = type === "web_search_result_location"
  const source = textAt(value, "source")
  const url = isWeb ? textAt(value, "url") : source !== null && /^https?:\/\//.test(source) ? source : null
  return {
    kind: url === null ? "document" : "url",
    url,
    title: textAt(value, isWeb || type === "search_result_location" ? "title" : "document_title"),
    citedText: textAt(value, "cited_text"),
    start: null,
    end: null,
    document: indexAt(value, "document_index") ?? indexAt(value, "search_result_index") ?? textAt(value, "file_id") ?? (url === null ? source : null),
    native: { format: "messages", value }
  }
}

export const annotationsOf = (citations: ReadonlyArray<unknown> | null | undefined): ReadonlyArray<Annotation> =>
  (citations ?? []).map(annotationOf).filter((annotation) => annotation !== null)

/** What a messages client is shown; null when the kind fits none of the vendor's shapes. */
export const citationOf = (annotation: Annotation): unknown => {
  if (annotation.native?.format === "messages") return annotation.native.value
  if (annotation.kind !== "url" || annotation.url === null) return null
  return {
    type: "web_search_result_location", cited_text: annotation.citedText ?? "", encrypted_index: "", title: annotation.title, url: annotation.url
  }
}

/** True for a citation that `citationOf` made up: the vendor would refuse its empty index. */
export const isMadeUp = (citation: unknown): boolean =>
  Json.isRecord(citation) && citation["type"] === "web_search_result_location" && citation["encrypted_index"] === ""
