/**
 * Requests that ended in the last quarter of an hour, outside of React and of one size for ever: counters for each second, and the
 * newest requests one by one.
 */

export const SECONDS = 900
export const SPAN_MS = SECONDS * 1_000
/** Requests that are kept one by one. */
export const MOST_REQUESTS = 10_000

export interface Ended {
  readonly id: string
  /** ms since the epoch. */
  readonly endedAt: number
  readonly tookMs: number
  readonly failed: boolean
}

export interface Second {
  readonly ended: number
  readonly failed: number
}

const none: Second = { ended: 0, failed: 0 }

export class Ring {
  /** Goes up with each change. */
  version = 0
  #count = 0
  /** What the log told: its live event may come after it. */
  #seeded: ReadonlySet<string> = new Set()
  readonly #ids: Array<string> = []
  readonly #endedAt = new Float64Array(MOST_REQUESTS)
  readonly #tookMs = new Float64Array(MOST_REQUESTS)
  readonly #failed = new Uint8Array(MOST_REQUESTS)
  /** Which second a slot counts. */
  readonly #seconds = new Float64Array(SECONDS)
  readonly #ended = new Uint32Array(SECONDS)
  readonly #failures = new Uint32Array(SECONDS)

  add(request: Ended): void {
    if (!this.#seeded.has(request.id)) this.#put(request)
  }

  #put({ endedAt, failed, id, tookMs }: Ended): void {
    const place = this.#count % MOST_REQUESTS
    this.#ids[place] = id
    this.#endedAt[place] = endedAt
    this.#tookMs[place] = tookMs
    this.#failed[place] = failed ? 1 : 0
    this.#count++
    this.version++
    const second = Math.floor(endedAt / 1_000)
    const slot = second % SECONDS
    // An older second than the slot counts is out of the span.
    if (second < (this.#seconds[slot] ?? 0)) return
    if (second > (this.#seconds[slot] ?? 0)) {
      this.#seconds[slot] = second
      this.#ended[slot] = 0
      this.#failures[slot] = 0
    }
    this.#ended[slot] = (this.#ended[slot] ?? 0) + 1
    if (failed) this.#failures[slot] = (this.#failures[slot] ?? 0) + 1
  }

  /** Adds what was read of the log; requests that are here already are passed over. */
  seed(rows: ReadonlyArray<Ended>): void {
    const known = new Set(this.#ids)
    for (const row of rows) {
      if (known.has(row.id)) continue
      known.add(row.id)
      this.#put(row)
    }
    this.#seeded = new Set(rows.map(({ id }) => id))
  }

  /** What ended in the second that holds this time. */
  secondOf(at: number): Second {
    const second = Math.floor(at / 1_000)
    const slot = ((second % SECONDS) + SECONDS) % SECONDS
    return this.#seconds[slot] === second ? { ended: this.#ended[slot] ?? 0, failed: this.#failures[slot] ?? 0 } : none
  }

  /** Calls `see` for each request that is kept. */
  each(see: (endedAt: number, tookMs: number, failed: boolean, id: string) => void): void {
    const kept = Math.min(this.#count, MOST_REQUESTS)
    for (let place = 0; place < kept; place++) see(this.#endedAt[place] ?? 0, this.#tookMs[place] ?? 0, this.#failed[place] === 1, this.#ids[place] ?? "")
  }

  /** Requests that were there in the second of this time: those that ended in it, failed and slow ones first, and those that went on. */
  during(at: number): { readonly ended: ReadonlyArray<Ended>; readonly ran: number } {
    const from = Math.floor(at / 1_000) * 1_000
    const ended: Array<Ended> = []
    let ran = 0
    this.each((endedAt, tookMs, failed, id) => {
      if (endedAt >= from && endedAt < from + 1_000) ended.push({ id, endedAt, tookMs, failed })
      else if (endedAt >= from + 1_000 && endedAt - tookMs < from + 1_000) ran++
    })
    ended.sort((a, b) => Number(b.failed) - Number(a.failed) || b.tookMs - a.tookMs)
    return { ended, ran }
  }
}
