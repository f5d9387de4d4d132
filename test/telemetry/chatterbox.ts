/** Logs far more than a pipe holds to a standard output that nobody reads, then reports by standard error and exits. */
import * as fs from "node:fs"
import * as LogSink from "#src/platform/telemetry/LogSink.ts"

const sink = new LogSink.LogSink({ destination: LogSink.destination(1), bufferBytes: 100_000 })
let longestMs = 0
let turns = 0
let last = performance.now()
const turn = (): void => {
  const now = performance.now()
  longestMs = Math.max(longestMs, now - last)
  last = now
  for (let i = 0; i < 100; i++) sink.write(`line ${turns} ${"x".repeat(100)}`)
  if (turns++ < 200) return void setImmediate(turn)
  fs.writeSync(2, JSON.stringify({ dropped: sink.dropped, longestMs }))
  process.exit(0)
}
turn()
