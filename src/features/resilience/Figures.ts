/** Moving figures of one target over its last calls: fixed arrays, written in place; a quantile is sorted when it is asked for. */

/** Calls that the figures look back on. */
const windowSize = 64
/** A quantile is computed again after so many new values. */
const staleAfter = 8

class Quantile {
  private readonly share: number
  private values: Float64Array | null = null
  private count = 0
  private since = 0
  private known: number | null = null

  constructor(share: number) {
    this.share = share
  }

  add(value: number): void {
    this.values ??= new Float64Array(windowSize)
    this.values[this.count++ % windowSize] = value
    this.since++
  }

  /** Null without data. */
  read(): number | null {
    if (this.values === null) return null
    if (this.known === null || this.since >= staleAfter || this.count <= staleAfter) {
      const sorted = this.values.slice(0, Math.min(this.count, windowSize)).sort()
      this.known = sorted[Math.min(sorted.length - 1, Math.ceil(this.share * sorted.length) - 1)] ?? null
      this.since = 0
    }
    return this.known
  }
}

export class Figures {
  /** Completed calls since start. */
  uses = 0
  /** ms since the epoch; 0 = never. */
  lastUsedAt = 0
  private readonly latencies = new Quantile(0.95)
  private readonly ttfts = new Quantile(0.5)
  private readonly failures = new Uint8Array(windowSize)
  private failed = 0
  private noted = 0

  ok(latencyMs: number, ttftMs: number | null): void {
    this.latencies.add(latencyMs)
    if (ttftMs !== null) this.ttfts.add(ttftMs)
    this.note(0)
  }

  fail(): void {
    this.note(1)
  }

  /** A call that ended by its own fault: it was one, and says nothing else. */
  neutral(): void {
    this.uses++
  }

  private note(failure: 0 | 1): void {
    const at = this.noted++ % windowSize
    this.failed += failure - (this.failures[at] ?? 0)
    this.failures[at] = failure
    this.uses++
  }

  /** p95 of the latency of successful calls, ms. */
  latencyP95(): number | null {
    return this.latencies.read()
  }

  ttftP50(): number | null {
    return this.ttfts.read()
  }

  /** Failed share of the last calls, 0 to 1. */
  errorRate(): number | null {
    return this.noted === 0 ? null : this.failed / Math.min(this.noted, windowSize)
  }
}
