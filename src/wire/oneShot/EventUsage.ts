/**
 * What the events of a stream that passes as it comes say of its use: the newest `usage` object, in tokens or in seconds of sound. Only its
 * name is searched for, as the events around it may hold pictures of many megabytes. Pure.
 */
import type { Usage } from "#actors/request/ports/Face.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Json from "#src/wire/json/json.ts"
import { endOfValue, skipSpace } from "#src/wire/json/splice.ts"
import * as OneShotJson from "./oneShotJson.ts"

/** As it stands in JSON: inside of a text its quotes would have a backslash. */
const mark = Buffer.from("\"usage\"")
const COLON = 0x3a
const OPEN = 0x7b

/** Bytes of the longest object that is read, and of its name. */
const longest = 4 * 1024

export class EventUsage {
  usage: Usage | null = null
  units: Units | null = null
  /** The end of what came, where it may be the beginning of a usage object. */
  #open: Buffer | null = null

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const open = this.#open
    this.#open = null
    if (open === null) {
      this.#search(bytes)
      return
    }
    this.#search(Buffer.concat([open, bytes.subarray(0, longest)]))
    if (bytes.length <= longest) return
    // The rest of a large read is not copied. What stands in both parts is read twice, which changes nothing.
    this.#open = null
    this.#search(bytes)
  }

  #search(bytes: Buffer): void {
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) {
      if (this.#isRead(bytes, at) || bytes.length - at >= longest) continue
      // Its end may come with the next bytes.
      this.#open = Buffer.from(bytes.subarray(at))
      return
    }
    const begun = beginOf(bytes)
    this.#open = begun === 0 ? null : Buffer.from(bytes.subarray(bytes.length - begun))
  }

  /** False where the object may not be complete. */
  #isRead(bytes: Buffer, at: number): boolean {
    const colon = skipSpace(bytes, at + mark.length)
    if (colon === bytes.length) return false
    if (bytes[colon] !== COLON) return true
    const start = skipSpace(bytes, colon + 1)
    if (start === bytes.length) return false
    if (bytes[start] !== OPEN) return true
    const usage = Json.parseRecord(bytes.toString("utf8", start, Math.min(endOfValue(bytes, start), start + longest)))
    if (usage === null) return false
    this.usage = OneShotJson.usageIn({ usage }) ?? this.usage
    const { seconds } = usage
    if (typeof seconds === "number" && seconds >= 0) this.units = { second: seconds }
    return true
  }
}

/** Bytes at the end that are the beginning of the mark. */
const beginOf = (bytes: Buffer): number => {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return length
  }
  return 0
}
