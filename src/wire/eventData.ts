/** The data of the events in a stream's bytes: what a message of a socket carries instead. */
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const OPEN = 0x7b
const dataName = Buffer.from("data:")
const lineEnd = Buffer.from("\n")
const done = Buffer.from("[DONE]")

/** Called with the data of each event, borrowed; events without data and the word `[DONE]` are left out. */
export const scanner = (take: (data: Buffer) => void): SseScanner =>
  new SseScanner({
    event: (bytes, start, end) => {
      const data = oneLine(bytes, start, end) ?? asBuffer(dataOf(bytes, start, end))
      if (data !== null && data.length > 0 && !data.equals(done)) take(data)
    }
  })

/** Where the data of a usual event begins. */
export const DATA_START = 6

/** Where the data of a chunk ends that is one usual event, `data: {...}` and a blank line; -1 for any other, which a scanner has to read. */
export const endOfUsual = (chunk: Buffer): number => {
  const end = chunk.length - 2
  if (chunk[end] !== LF || chunk[end + 1] !== LF || chunk[DATA_START] !== OPEN) return -1
  for (let i = 0; i < usualStart.length; i++) if (chunk[i] !== usualStart[i]) return -1
  return chunk.indexOf(LF, DATA_START) === end && chunk.indexOf(CR, DATA_START) === -1 ? end : -1
}

const usualStart = Buffer.from("data: ")

const asBuffer = (text: string | null): Buffer | null => text === null ? null : Buffer.from(text)

/** The data where it stands, of an event with one data line that begins with `data:` or with an event's name; null for all others. */
export const oneLine = (bytes: Buffer, start: number, end: number): Buffer | null => {
  let at = start
  if (bytes[at] === 0x65) at = bytes.indexOf(LF, at) + 1
  if (at === 0 || at + dataName.length > end || bytes.compare(dataName, 0, 5, at, at + 5) !== 0) return null
  at += bytes[at + 5] === SPACE ? 6 : 5
  const line = bytes.indexOf(LF, at)
  if (line === -1 || line >= end) return null
  const stop = bytes[line - 1] === CR ? line - 1 : line
  // What follows is the blank line, or this is no simple event.
  const rest = bytes.subarray(line + 1, end)
  return rest.equals(lineEnd) || rest.toString("latin1") === "\r\n" ? bytes.subarray(at, stop) : null
}
