/**
 * Finds the error event of a stream that passes as it comes, and holds it back: the client gets the gateway's own words. A line is judged
 * by its first signs, as others hold pictures of many megabytes. Pure.
 */
import * as Json from "#src/wire/json/json.ts"

const LF = 0x0a

/** Bytes by which a line is judged. */
const decisive = 48
/** Bytes of the longest error event; a longer one passes. */
const longest = 16 * 1024

const begins = /^(?:event: ?error\s*$|data: ?\{\s*"error"\s*:\s*[{"]|data: ?\{\s*"type"\s*:\s*"error")/
/** A short beginning of a line that may become one of them. */
const mayBegin = /^(?:e|d)/
const endOfEvent = /\n\r?\n/

const none = Buffer.alloc(0)

export class EventErrors {
  /** The JSON text of the error; null while none came. */
  error: Buffer | null = null
  /** A line that passes is not complete. */
  isWithinLine = false
  /** From the beginning of a line on. */
  #held = none

  /** Answers what passes; it may be the chunk itself. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.error !== null) return none
    const came = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const bytes = this.#held.length === 0 ? came : Buffer.concat([this.#held, came])
    this.#held = none
    for (let at = 0; ;) {
      if (this.isWithinLine) {
        const end = bytes.indexOf(LF, at)
        if (end < 0) return bytes
        at = end + 1
        this.isWithinLine = false
      }
      const judged = this.#judge(bytes, at)
      if (judged === "waits") this.#held = Buffer.from(bytes.subarray(at))
      if (judged !== "passes") return bytes.subarray(0, at)
      this.isWithinLine = true
    }
  }

  /** The stream is over: what was held back passes, unless it is an error without its empty line. */
  end(): Uint8Array {
    const held = this.#held
    this.#held = none
    if (begins.test(held.toString("latin1", 0, decisive).split("\n", 1)[0] as string)) this.error = errorIn(held)
    return this.error === null ? held : none
  }

  #judge(bytes: Buffer, at: number): "passes" | "waits" | "error" {
    if (at === bytes.length) return "waits"
    const head = bytes.toString("latin1", at, at + decisive)
    const end = head.indexOf("\n")
    if (!begins.test(end < 0 ? head : head.slice(0, end))) return end < 0 && head.length < decisive && mayBegin.test(head) ? "waits" : "passes"
    const event = bytes.subarray(at, at + longest)
    if (!endOfEvent.test(event.toString("latin1"))) return event.length < longest ? "waits" : "passes"
    this.error = errorIn(event)
    return this.error === null ? "passes" : "error"
  }
}

/** The data of the first event, where it is an error. */
const errorIn = (bytes: Buffer): Buffer | null => {
  const event = bytes.toString("utf8").split(endOfEvent, 1)[0] as string
  const data = event.split("\n").flatMap((line) => line.startsWith("data:") ? [line.slice("data:".length)] : []).join("\n")
  const said = Json.parseRecord(data)
  const isError = said !== null && (isSaid(said["error"]) || said["type"] === "error" || event.startsWith("event:"))
  return isError ? Buffer.from(data) : null
}

const isSaid = (error: unknown): boolean => typeof error === "string" || (typeof error === "object" && error !== null)
