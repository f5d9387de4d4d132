/** The data of one server-sent event, quickly when it is a single line. */
import { dataOf } from "#src/wire/stream/SseScanner.ts"

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const D = 0x64
const A = 0x61
const T = 0x74
const COLON = 0x3a

/** The event's data, null when it has none. `bytes[start, end)` is one event with its blank line. */
export const quickDataOf = (bytes: Buffer, start: number, end: number): string | null => {
  if (bytes[start] !== D || bytes[start + 1] !== A || bytes[start + 2] !== T || bytes[start + 3] !== A || bytes[start + 4] !== COLON) {
    return dataOf(bytes, start, end)
  }
  const from = bytes[start + 5] === SPACE ? start + 6 : start + 5
  let to = end
  while (to > from && (bytes[to - 1] === LF || bytes[to - 1] === CR)) to--
  const data = bytes.toString("utf8", from, to)
  // JSON on one line has no line ends; a second line of the event would have one before it.
  return data.includes("\n") || data.includes("\r") ? dataOf(bytes, start, end) : data
}
