/** The tap of an answer that passes as it comes, such as sound or the events of pictures: only its use and its error are read of it. */
import type { StreamTap, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import { EventErrors } from "./EventErrors.ts"
import { EventUsage } from "./EventUsage.ts"

const noBytes = new Uint8Array(0)

/** Bytes by which a stream of events may begin: `event:`, `data:`, `id:`, `retry:`, a comment, an empty line or a byte order mark. */
const begins: ReadonlySet<number> = new Set([..."edir:\n\r"].map((sign) => sign.charCodeAt(0)).concat(0xef))

/** Reads the vendor's error event; null when it is of no known shape. */
type ReadError = (body: Uint8Array) => UpstreamErrorBody | null

const unsaid: UpstreamErrorBody = { message: "The provider ended the stream with an error.", type: null, code: null, status: null }

export class OpaqueTap implements StreamTap {
  readonly terminal = false
  /** HTTP itself says where the answer ends. */
  readonly finished = true
  readonly malformed = false
  useful = false
  error: UpstreamErrorBody | null = null
  readonly #readError: ReadError
  /** Null before the first byte, and of what is no stream of events. */
  #events: { readonly usage: EventUsage; readonly errors: EventErrors } | null = null

  constructor(readError: ReadError) {
    this.#readError = readError
  }

  get alive(): boolean {
    return this.useful
  }

  get usage(): Usage | null {
    return this.#events === null ? null : this.#events.usage.usage
  }

  get units(): Units | null {
    return this.#events === null ? null : this.#events.usage.units
  }

  push(chunk: Uint8Array): Uint8Array | null {
    if (chunk.length === 0) return null
    if (!this.useful && this.#events === null && begins.has(chunk[0] as number)) this.#events = { usage: new EventUsage(), errors: new EventErrors() }
    if (this.#events === null) {
      this.useful = true
      return chunk
    }
    this.#events.usage.push(chunk)
    return this.#passes(this.#events.errors, this.#events.errors.push(chunk))
  }

  end(): Uint8Array | null {
    return this.#events === null ? null : this.#passes(this.#events.errors, this.#events.errors.end())
  }

  close(): void {}

  /** Among other bytes than events nothing can be said, nor within a line: the connection is cut. */
  fail(error: PublicError): Uint8Array {
    if (this.#events === null || this.#events.errors.isWithinLine) return noBytes
    // The empty line ends an event whose own did not come.
    return Buffer.from(`\nevent: error\ndata: {"type":"error",${errorBody(error).slice(1)}\n\n`)
  }

  outputText(): string {
    return ""
  }

  #passes(errors: EventErrors, passing: Uint8Array): Uint8Array | null {
    if (errors.error !== null) this.error = this.#readError(errors.error) ?? unsaid
    if (passing.length === 0) return null
    this.useful = true
    return passing
  }
}
