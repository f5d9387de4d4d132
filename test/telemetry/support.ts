/** A request summary by default, and an output that a test can block. */
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { Destination } from "#src/platform/telemetry/LogSink.ts"

export const requestSummary = (over: Partial<RequestSummary> = {}): RequestSummary => ({
  requestId: "request-1",
  method: "POST",
  endpoint: "/v1/chat/completions",
  requestedModel: "openai/gpt-4o",
  provider: "openai",
  model: "gpt-4o",
  apiKeyId: "key-1",
  status: 200,
  clientStatus: 200,
  outcome: "completed",
  errorCode: null,
  stream: true,
  attempts: 1,
  cache: "miss",
  startedAt: 1_760_000_000_000,
  latencyMs: 1234.5,
  ttftMs: 321.25,
  bytesOut: 4096,
  ...over
})

/** Takes `room` bytes, then is blocked. */
export class Output implements Destination {
  room = Number.POSITIVE_INFINITY
  broken = false
  writes = 0
  text = ""
  write(bytes: Uint8Array, done: (error: Error | null, written: number) => void): void {
    if (this.broken) return done(new Error("EPIPE"), 0)
    const written = Math.min(this.room, bytes.length)
    this.room -= written
    if (written > 0) this.writes++
    this.text += Buffer.from(bytes.subarray(0, written)).toString("utf8")
    done(null, written)
  }
  get lines(): ReadonlyArray<string> {
    return this.text.split("\n").slice(0, -1)
  }
}
