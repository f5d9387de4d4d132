/** The part of a file that a request asks for (RFC 9110, sections 13 and 14). Pure. */
import type { ByteRange } from "./ports/FileStore.ts"

/** "whole": no range, more than one, or one that is not understood; "none": the file has no such bytes. */
export const of = (header: string | undefined, size: number): ByteRange | "whole" | "none" => {
  const found = header === undefined ? null : /^bytes=[ \t]*(\d{0,30})-(\d{0,30})[ \t]*$/i.exec(header)
  if (found === null) return "whole"
  const [, from = "", to = ""] = found
  if (from === "") {
    if (to === "") return "whole"
    const length = Math.min(Number(to), size)
    return length === 0 ? "none" : { first: size - length, last: size - 1 }
  }
  const first = Number(from)
  if (to !== "" && Number(to) < first) return "whole"
  return first >= size ? "none" : { first, last: to === "" ? size - 1 : Math.min(Number(to), size - 1) }
}
