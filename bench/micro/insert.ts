/**
 * What the usage store costs the main thread: building, sending and answering inserts against a real Postgres, and the longest
 * turn of the event loop meanwhile. Run: `node bench/micro/insert.ts [postgres-url]`; it creates and drops its own database.
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { freshClient, stores } from "#test/support/postgres.ts"

const BATCHES = 60
const BATCH_ROWS = 1000
const ROUNDS = 6

/** `keys`: how many keys and models the traffic has. */
const row = (i: number, keys: number): LedgerRow => ({
  attemptId: `m3k2j1x9-${(1e7 + i).toString(36)}`, requestId: `req_m3k2j1x9-${(2e7 + i).toString(36)}`,
  attempt: 1, final: true, startedAt: 1_760_000_000_000 + i, settledAt: 1_760_000_000_900 + i, nodeId: "node-1",
  endpoint: "/v1/chat/completions", requestedModel: "openai/gpt-4o-mini", provider: "openai", model: "gpt-4o-mini",
  connectionId: `0199c1f2-connection-${i % keys % 7}`, apiKeyId: `0199c1f2-key-${i % keys}`, apiKeyName: `production ${i % keys}`, combo: null,
  sessionTag: null, sourceFormat: "chat-completions", targetFormat: "chat-completions", stream: true, outcome: "completed",
  upstreamStatus: 200, status: 200, clientStatus: 200, errorCode: null, phase: null, tokensIn: 1000 + i % 977, tokensOut: i % 613, tokensCacheRead: 100,
  tokensCacheCreation: 0, tokensReasoning: 0, estimated: false, units: null, unpriced: false, costUsd: (1000 + i % 977) * 1.5e-7 + (i % 613) * 6e-7,
  latencyMs: 900 + i % 333, ttftMs: 120 + i % 99, phases: { before: 1, queue: 0, limits: 1, sent: 2 + i % 5, head: 90 + i % 99, end: 900 + i % 333 }, tokensCompressed: null, proxyId: null
})

const url = process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres"

/** CPU of the main thread alone where the kernel tells it, else of the process, us. */
const cpu = (): number => {
  try {
    return Number(fs.readFileSync("/proc/self/schedstat", "latin1").split(" ")[0]) / 1000
  } catch {
    const { system, user } = process.cpuUsage()
    return system + user
  }
}

/** CPU of all threads, ms: a turn's share of it is not stretched by other processes. */
const processCpu = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

const program = Effect.gen(function*() {
  const store = yield* UsageStore
  let next = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const keys of [1, 200]) {
      // The watch keeps the loop spinning, so the CPU is read in a round without it.
      const watched = round % 2 === 1
      const turns: Array<number> = []
      let wall = 0
      let used = 0
      for (let batch = 0; batch < BATCHES; batch++) {
        const rows = Array.from({ length: BATCH_ROWS }, () => row(next++, keys))
        let running = true
        let last = processCpu()
        const watch = () => {
          const now = processCpu()
          turns.push(now - last)
          last = now
          if (running) setImmediate(watch)
        }
        if (watched) watch()
        const began = performance.now()
        const before = cpu()
        yield* store.insert(rows)
        used += cpu() - before
        wall += performance.now() - began
        running = false
      }
      turns.sort((a, b) => b - a)
      const rows = BATCHES * BATCH_ROWS
      console.log(`${round < 2 ? "warm-up " : ""}${keys} keys: ${watched
        ? `CPU of a turn: longest ${turns[0]?.toFixed(2)} ms, one per batch above ${turns[BATCHES]?.toFixed(2)} ms`
        : `${(used / rows).toFixed(2)} us CPU of the main thread per row`}, ${(wall * 1000 / rows).toFixed(1)} us wall per row`)
    }
  }
})

await Effect.runPromise(Effect.scoped(program.pipe(Effect.provide(stores(freshClient(url))))))
