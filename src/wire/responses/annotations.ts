/** Citations of the responses format: url_citation, file_citation, container_file_citation, file_path. */
import type { Annotation } from "#schemas/wire/conversation.ts"

type Value = Readonly<Record<string, unknown>>

/** A vendor's annotation; null for an unknown kind without anything to cite. */
export const annotationOf = (value: Value): Annotation | null => {
  const native = { format: "responses", value } as const
  const bare = { citedText: null, document: null, url: null, title: null, start: count(value["start_index"]), end: count(value["end_index"]), native }
  switch (value["type"]) {
    case "url_citation":
      return { ...bare, kind: "url", url: word(value["url"]), title: word(value["title"]) }
    case "file_citation":
    case "file_path":
    case "container_file_citation":
      return { ...bare, kind: "file", title: word(value["filename"]), document: word(value["file_id"]), start: bare.start ?? count(value["index"]) }
    default:
      return null
  }
}

/** The wire form of a citation of a text of `length` characters; null when the format has no words for it. */
export const annotationJson = (annotation: Annotation, length: number): string | null => {
  if (annotation.native !== null && annotation.native.format === "responses") return JSON.stringify(annotation.native.value)
  if (annotation.kind === "url") {
    if (annotation.url === null) return null
    return JSON.stringify({
      type: "url_citation", start_index: annotation.start ?? 0, end_index: annotation.end ?? length, url: annotation.url, title: annotation.title ?? ""
    })
  }
  if (annotation.document === null && annotation.title === null) return null
  return JSON.stringify({
    type: "file_citation", index: annotation.start ?? length, file_id: annotation.document ?? "", filename: annotation.title ?? annotation.document ?? ""
  })
}

const word = (value: unknown): string | null => typeof value === "string" ? value : null
const count = (value: unknown): number | null => typeof value === "number" ? value : null
