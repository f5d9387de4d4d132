/**
 * Stack traces in output: of many calls, one below the other, the first and the last ones stay, with the number of the others. Messages,
 * causes and calls in URLs stay. A shortened trace stays as it is. Pure, in linear time.
 */
import * as Masking from "#src/compression/masking.ts"

/** Calls of one trace; a shorter one stays whole. */
const fewest = 8
const head = 4
const tail = 3
/** Characters of a line that are looked at; a longer line is no call. */
const longestLine = 1_000
const call = /^\s*at\s\S/
const pythonCall = /^(\s*)File "[^"]*", line \d+/
const markerOf = (count: number): string => `[... ${count} calls left out]`

/** Where each call of the trace that begins here begins, and the line behind the last one; null where none begins. */
const traceAt = (lines: ReadonlyArray<string>, start: number): ReadonlyArray<number> | null => {
  const mayGo = (line: string): boolean => line.length <= longestLine && Masking.urlsIn(line).length === 0
  const begins: Array<number> = []
  const [first = ""] = lines.slice(start, start + 1)
  if (!mayGo(first)) return null
  const python = pythonCall.exec(first)
  let at = start
  if (python === null) {
    while (at < lines.length && mayGo(lines[at] as string) && call.test(lines[at] as string)) begins.push(at++)
  } else {
    const blanks = python[1] as string
    // Below each call stands its line of code, indented more.
    const isCode = (line: string): boolean => mayGo(line) && line.startsWith(`${blanks} `) && line.trim() !== ""
    while (at < lines.length && mayGo(lines[at] as string) && pythonCall.exec(lines[at] as string)?.[1] === blanks) {
      begins.push(at++)
      while (at < lines.length && isCode(lines[at] as string)) at++
    }
  }
  return begins.length === 0 ? null : [...begins, at]
}

export const shorten = (text: string): string => {
  const lines = text.split("\n")
  const out: Array<string> = []
  // Not as arguments of one call: a trace may have more lines than a call can take.
  const stay = (from: number, to: number): void => {
    for (let at = from; at < to; at++) out.push(lines[at] as string)
  }
  let i = 0
  while (i < lines.length) {
    const trace = traceAt(lines, i)
    if (trace === null) {
      out.push(lines[i++] as string)
      continue
    }
    const calls = trace.length - 1
    const end = trace[calls] as number
    if (calls > fewest) {
      stay(i, trace[head] as number)
      out.push(markerOf(calls - head - tail))
      stay(trace[calls - tail] as number, end)
    } else stay(i, end)
    i = end
  }
  const said = out.join("\n")
  return said.length < text.length ? said : text
}
