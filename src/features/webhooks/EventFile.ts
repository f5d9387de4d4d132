/**
 * Events between their emitter and the queue: lines appended to a file of this process before `publish` returns, so that a killed
 * process loses none. The next process in the same data directory takes over what a dead process left.
 */
import * as fs from "node:fs"
import type { QueuedEvent } from "#actors/webhook/ports/WebhookQueue.ts"
import * as JournalOwner from "#src/platform/accounting/journal/JournalOwner.ts"

/** Bytes that may wait while the store is away; beyond, new events are dropped and counted. */
export const MAX_BYTES = 64 * 1024 * 1024
/** Bytes read at a time. */
const CHUNK_BYTES = 128 * 1024

export interface Chunk {
  readonly events: ReadonlyArray<QueuedEvent>
  /** Where the next one begins. */
  readonly end: number
}

const NEWLINE = 0x0a

const parse = (line: string): QueuedEvent | null => {
  try {
    const { at, body, id, type } = JSON.parse(line) as Record<string, unknown>
    if (typeof id !== "string" || typeof type !== "string" || typeof body !== "string") return null
    // Lines of earlier releases have their time in the payload only.
    const happenedAt = at ?? (JSON.parse(body) as { readonly timestamp?: unknown }).timestamp
    return typeof happenedAt === "string" ? { id, type, at: happenedAt, body } : null
  } catch {
    return null
  }
}

/** Whole lines of a file from an offset on; what is torn or unreadable is passed over. Throws what the file system throws. */
export const readUnsafe = (fd: number, from: number, size: number): Chunk => {
  let length = Math.min(CHUNK_BYTES, size - from)
  for (;;) {
    const bytes = Buffer.allocUnsafe(length)
    const read = fs.readSync(fd, bytes, 0, length, from)
    const last = bytes.subarray(0, read).lastIndexOf(NEWLINE)
    // One line is longer than the chunk, or the file ends in a torn one.
    if (last === -1 && from + length < size) {
      length = Math.min(size - from, length * 2)
      continue
    }
    if (last === -1) return { events: [], end: size }
    const events = bytes.subarray(0, last).toString("utf8").split("\n").map(parse).filter((event) => event !== null)
    return { events, end: from + last + 1 }
  }
}

export class EventFile {
  readonly owner: JournalOwner.Owner
  dropped = 0
  readonly #path: string
  readonly #fd: number
  #size = 0
  #done = 0

  /** Throws what the file system throws. */
  constructor(directory: string, processId: string) {
    this.owner = JournalOwner.acquireUnsafe(directory, processId)
    this.#path = JournalOwner.segmentPath(this.owner, 1)
    this.#fd = fs.openSync(this.#path, "wx+", 0o600)
  }

  get waiting(): boolean {
    return this.#done < this.#size
  }

  /** On disk when it returns true. */
  append(event: QueuedEvent): boolean {
    const line = Buffer.from(`${JSON.stringify(event)}\n`)
    if (this.#size + line.length > MAX_BYTES) {
      this.dropped++
      return false
    }
    let at = 0
    try {
      while (at < line.length) at += fs.writeSync(this.#fd, line, at, line.length - at, this.#size + at)
    } catch {
      // What was half written is written over by the next one, and a torn line is passed over.
      this.dropped++
      return false
    }
    this.#size += line.length
    return true
  }

  peek(): Chunk {
    return readUnsafe(this.#fd, this.#done, this.#size)
  }

  /** Everything before `end` is in the queue. */
  done(end: number): void {
    this.#done = end
    if (this.#done < this.#size) return
    fs.ftruncateSync(this.#fd, 0)
    this.#done = this.#size = 0
  }

  close(): void {
    fs.closeSync(this.#fd)
    if (!this.waiting) fs.rmSync(this.#path, { force: true })
    JournalOwner.release(this.owner, this.waiting)
  }
}
