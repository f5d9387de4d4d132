/** The body of a response whose length its head says. The native side completes the response with its last byte: that one waits for the producer's end. */
import type { NativeResponse } from "#src/platform/server/uws/native.ts"
import type { SendQueue } from "./SendQueue.ts"

/** Most bytes that are handed over at once; the native side takes what fits the socket. */
const BATCH_BYTES = 256 * 1024

export class SizedBody {
  readonly total: number
  readonly #queue: SendQueue
  /** Taken from the queue, and not sent entirely; `#at`: where it begins in the body. */
  #batch: Uint8Array | undefined
  #at = 0

  constructor(total: number, queue: SendQueue) {
    this.total = total
    this.#queue = queue
  }

  /** Bytes of the batch that the socket has not taken. */
  unsent(res: NativeResponse): number {
    return this.#batch === undefined ? 0 : this.#batch.byteLength + this.#at - res.getWriteOffset()
  }

  /** Bytes that came and were not sent. */
  private left(res: NativeResponse): number {
    return this.#queue.bytes + this.unsent(res)
  }

  /** Fewer bytes came than the head says, though the producer `ended`, or more. A client would take a part for the whole, or the rest for the next response. */
  breaks(res: NativeResponse, ended: boolean): boolean {
    const came = res.getWriteOffset() + this.left(res)
    return ended ? came !== this.total : came > this.total
  }

  /** There are bytes that may go. */
  isDue(res: NativeResponse, ended: boolean): boolean {
    const left = this.left(res)
    return left > 0 && (ended || res.getWriteOffset() + left < this.total)
  }

  /** Sends one batch in one cork; `first` writes what goes before it. "part": the socket is full. "all": the response is complete. */
  send(res: NativeResponse, first: () => void): "batch" | "part" | "all" {
    const sent = res.getWriteOffset()
    if (this.#batch === undefined) {
      this.#at = sent
      this.#batch = this.#queue.take(BATCH_BYTES)
    }
    const rest = this.#batch.subarray(sent - this.#at)
    let [taken, done] = [false, false]
    res.cork(() => {
      first()
      ;[taken, done] = res.tryEnd(rest, this.total)
    })
    if (taken || done) this.discard()
    return done ? "all" : taken ? "batch" : "part"
  }

  /** Forgets the batch. */
  discard(): void {
    this.#batch = undefined
  }
}
