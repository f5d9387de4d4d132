/**
 * The progress frames of one stream whose client asked for them (X-Gateway-Progress): one every two seconds, and one with
 * `"done":true` before the event that ends the stream. Other streams have no such object.
 */
import type { Inbound } from "#actors/request/Inbound.ts"

/** Between two progress frames, ms. */
const progressMs = 2_000

export class ProgressFrames {
  readonly #lastTypes: ReadonlySet<string> | undefined
  readonly #beganAt: number
  /** ms since the epoch. */
  readonly #now: () => number
  #reportedAt: number
  #events = 0
  /** The last frame is out. */
  #isDone = false

  /** Null for a request that did not ask for them, or whose stream has no place for them. */
  static of({ face, progress }: Pick<Inbound, "face" | "progress">, beganAt: number, now: () => number): ProgressFrames | null {
    return progress ? new ProgressFrames(face.lastTypes, beganAt, now) : null
  }

  private constructor(lastTypes: ReadonlySet<string> | undefined, beganAt: number, now: () => number) {
    this.#lastTypes = lastTypes
    this.#beganAt = beganAt
    this.#now = now
    this.#reportedAt = beganAt
  }

  /** The frame that is due; null when none is. */
  due(now: number): Uint8Array | null {
    if (this.#isDone || now - this.#reportedAt < progressMs) return null
    this.#reportedAt = now
    return Buffer.from(this.#frame(now, false))
  }

  /** Whole events of the stream, with the last frame before the event that ends it. The bytes are borrowed, or new. */
  within(chunk: Uint8Array): Uint8Array {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1")
    const at = this.#isDone ? -1 : this.#lastEventAt(text)
    this.#events += eventsIn(at === -1 ? text : text.slice(0, at))
    return at === -1 ? chunk : Buffer.concat([chunk.subarray(0, at), Buffer.from(this.last()), chunk.subarray(at)])
  }

  /** The last frame, empty when it is out. */
  last(): string {
    if (this.#isDone) return ""
    this.#isDone = true
    return this.#frame(this.#now(), true)
  }

  #frame(now: number, done: boolean): string {
    const facts = `"tokens_generated":${this.#events},"elapsed_ms":${Math.max(0, now - this.#beganAt)}`
    return `event: progress\ndata: {${facts}${done ? ',"done":true' : ""}}\n\n`
  }

  /** Where the event begins that ends the stream: nothing stands behind it. -1 when it is not in the text. */
  #lastEventAt(text: string): number {
    const end = text.trimEnd().length
    const boundary = Math.max(...boundaries.map((line) => {
      const at = text.lastIndexOf(line, end - 1)
      return at === -1 ? 0 : at + line.length
    }))
    const data = text.slice(boundary, end).split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:")).map((line) => line.slice("data:".length)).join("\n").trim()
    return data === "[DONE]" || (this.#lastTypes !== undefined && this.#lastTypes.has(typeIn(data))) ? boundary : -1
  }
}

/** Blank lines behind an event. */
const boundaries = ["\n\n", "\r\n\r\n", "\r\r"]

/** The type that an event's data names, empty for any other data. */
const typeIn = (data: string): string => {
  try {
    const frame = JSON.parse(data) as { readonly type?: unknown } | null
    return typeof frame?.type === "string" ? frame.type : ""
  } catch {
    return ""
  }
}

/** Events with data. */
const eventsIn = (text: string): number => text.split(/\r?\n\r?\n|\r\r/).filter((event) => event.includes("data:") && !event.includes("[DONE]")).length
