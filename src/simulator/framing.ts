/**
 * Turns events into the bytes of server-sent events, well-formed in any of the ways the standard allows, or broken as a script says.
 */
import type { WireEvent } from "./formats/Format.ts"
import type { Malformed, Script } from "./Script.ts"

/** One frame: the bytes of one event with its comments and blank line. */
export interface SimulatedFrame {
  readonly bytes: Buffer
  readonly tokens: number
  /** Reports usage. */
  readonly usage: boolean
  /** Cut short by a fault: its bytes count, the frame does not. */
  readonly partial?: boolean
  /** Written as it is, outside the transfer coding. */
  readonly raw?: boolean
  /** The bytes as one HTTP chunk, kept where a frame is shared between replies. */
  readonly wire?: Buffer
}

/** Where a reply takes its frames from. */
export type Frames = Iterator<SimulatedFrame, void>

const DEFAULT_HUGE_BYTES = 1024 * 1024
const EOL = { LF: "\n", CRLF: "\r\n", CR: "\r" } as const
const BOM = "\uFEFF"

export const htmlPage = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n"

type Lines = Pick<Script, "lineEnding" | "comments" | "bom" | "dataSpace" | "multiLine" | "extraFields"> & {
  /** The format brings its own framing: events are written as they are. */
  readonly plain?: boolean
}

const isPlain = (script: Script): boolean =>
  script.lineEnding === undefined && script.comments === undefined && script.bom === undefined && script.dataSpace === undefined &&
  script.multiLine === undefined && script.extraFields === undefined && script.malformed === undefined && script.omitDone === undefined &&
  script.finalNewline === undefined

/** JSON over several data lines; whatever is no JSON stays one line. */
const dataLines = (data: string): ReadonlyArray<string> => {
  try {
    return JSON.stringify(JSON.parse(data), null, 1).split("\n")
  } catch {
    return [data]
  }
}

const comment = (lines: Lines): string => {
  if (lines.comments === undefined || lines.comments === false) return ""
  return `: ${lines.comments === true ? "SIM PROCESSING" : lines.comments}${EOL[lines.lineEnding ?? "LF"]}`
}

const render = (event: WireEvent, lines: Lines, index: number, field = "data"): string => {
  if (lines.plain === true) return event.data
  const eol = EOL[lines.lineEnding ?? "LF"]
  const colon = lines.dataSpace === false ? ":" : ": "
  let text = lines.bom === true && index === 0 ? BOM : ""
  const note = comment(lines)
  if (note !== "") text += note + eol
  if (lines.extraFields === true) text += `id${colon}${index}${eol}retry${colon}3000${eol}`
  if (event.event !== undefined) text += `event${colon}${event.event}${eol}`
  for (const line of lines.multiLine === true ? dataLines(event.data) : [event.data]) text += `${field}${colon}${line}${eol}`
  return text + eol
}

const frame = (text: string, tokens = 0, usage = false): SimulatedFrame => ({ bytes: Buffer.from(text), tokens, usage })

/** A blank line between comments keeps a parser honest; keepalives use the same form. */
export const keepaliveBytes = (lines: Lines): Buffer => {
  const eol = EOL[lines.lineEnding ?? "LF"]
  return Buffer.from(`: keepalive${eol}${eol}`)
}

/** An event's JSON with padding inside, as vendors pad to hide lengths. */
const padded = (data: string, bytes: number): string =>
  data.endsWith("}") ? `${data.slice(0, -1)},"obfuscation":"${"x".repeat(bytes)}"}` : `{"obfuscation":"${"x".repeat(bytes)}"}`

const malformedFrame = (bad: Malformed, event: WireEvent, lines: Lines, index: number, error: WireEvent): SimulatedFrame => {
  const eol = EOL[lines.lineEnding ?? "LF"]
  const half = Math.floor(event.data.length / 2)
  switch (bad.kind) {
    case "bad-json":
      return frame(render({ data: event.data.slice(0, half), tokens: 0 }, lines, index))
    case "bare-cr":
      return frame(render({ data: `${event.data.slice(0, half)}\r${event.data.slice(half)}`, tokens: 0 }, lines, index))
    case "wrong-field":
      return frame(render({ data: event.data, tokens: 0 }, lines, index, "dada"))
    case "error":
      return frame(render({ ...error, data: bad.raw ?? error.data }, lines, index))
    case "huge":
      return frame(render({ ...event, data: padded(event.data, bad.bytes ?? DEFAULT_HUGE_BYTES) }, lines, index), bad.replace === true ? event.tokens : 0)
    case "bad-chunk":
      return { bytes: Buffer.from(`zz${eol}this is no chunk${eol}`), tokens: 0, usage: false, raw: true }
    case "raw":
      return frame(bad.raw ?? "")
  }
}

function* shaped(events: Iterable<WireEvent>, script: Script & Lines, error: WireEvent): Generator<SimulatedFrame, void> {
  let index = 0
  for (const event of events) {
    if (event.terminal === true && script.omitDone === true) continue
    let replaced = false
    for (const bad of script.malformed ?? []) {
      if (bad.at !== index) continue
      yield malformedFrame(bad, event, script, index, error)
      if (bad.kind === "error" && bad.end !== false) return
      replaced ||= bad.replace === true
    }
    if (!replaced) yield frame(render(event, script, index), event.tokens, event.usage === true)
    index++
  }
}

/** Takes the newlines off the last frame. */
function* unterminated(frames: Iterable<SimulatedFrame>): Generator<SimulatedFrame, void> {
  let held: SimulatedFrame | null = null
  for (const next of frames) {
    if (held !== null) yield held
    held = next
  }
  if (held !== null) yield { ...held, bytes: Buffer.from(held.bytes.toString().replace(/[\r\n]+$/, "")) }
}

function* unframed(events: Iterable<WireEvent>): Generator<SimulatedFrame, void> {
  for (const event of events) yield frame(event.data, event.tokens, event.usage === true)
}

function* plain(events: Iterable<WireEvent>): Generator<SimulatedFrame, void> {
  for (const event of events) {
    const text = event.event === undefined ? `data: ${event.data}\n\n` : `event: ${event.event}\ndata: ${event.data}\n\n`
    yield { bytes: Buffer.from(text), tokens: event.tokens, usage: event.usage === true }
  }
}

/** The frames of a stream, made one by one as the reply asks for them. */
export const framesOf = (events: Iterable<WireEvent>, script: Script, error: WireEvent, sse: boolean): Frames => {
  if (isPlain(script)) return sse ? plain(events) : unframed(events)
  const frames = shaped(events, sse ? script : { ...script, plain: true }, error)
  return script.finalNewline === false ? unterminated(frames) : frames
}

const CRLF = "\r\n"

/** `bytes` as one HTTP chunk. */
export const chunkOf = (bytes: Buffer): Buffer => {
  const size = bytes.length.toString(16)
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 4)
  chunk.write(size + CRLF, 0, "latin1")
  bytes.copy(chunk, size.length + 2)
  chunk.write(CRLF, chunk.length - 2, "latin1")
  return chunk
}
