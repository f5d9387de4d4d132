/**
 * What an attempt costs in the ledger: `open` + group commit + `go` + `settle`, per attempt (two records), at several numbers
 * of attempts per event-loop turn, with the commit scheduled by setImmediate or by microtask. Run: `node bench/micro/journal.ts`.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"

const ATTEMPTS = 60_000

const start = (i: number): AttemptStart => ({
  attemptId: `0199c1f2-7a6b-7c1d-9e11-${String(i).padStart(12, "0")}`,
  requestId: `req_0199c1f27a6b7c1d9e11${String(i).padStart(12, "0")}`,
  attempt: 1, startedAt: 1_760_000_000_000 + i, nodeId: "node-1", endpoint: "/v1/chat/completions", requestedModel: "openai/gpt-4o-mini",
  provider: "openai", model: "gpt-4o-mini", connectionId: "0199c1f2-connection", apiKeyId: "0199c1f2-key", apiKeyName: "production",
  combo: null, sessionTag: null, sourceFormat: "chat-completions", targetFormat: "chat-completions", stream: true
})

const row = (s: AttemptStart): LedgerRow => ({
  ...s, final: true, settledAt: s.startedAt + 900, outcome: "completed", upstreamStatus: 200, status: 200, clientStatus: 200, errorCode: null, phase: null,
  tokensIn: 1234, tokensOut: 567, tokensCacheRead: 100, tokensCacheCreation: 0, tokensReasoning: 0, estimated: false, units: null, unpriced: false, costUsd: 0.0012345678,
  latencyMs: 900.25, ttftMs: 120.5, phases: { before: 1, queue: 0, limits: 1, sent: 2, head: 90, end: 900 }, tokensCompressed: null, proxyId: null
})

/** Runs `perTurn` exchanges in each turn until all are done; answers CPU us per attempt and the longest turn in ms. */
const measure = (perTurn: number, schedule: (run: () => void) => void) =>
  Effect.gen(function*() {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "bench-journal-"))
    const result = yield* Effect.scoped(Effect.gen(function*() {
      const ledger = yield* JournaledLedger.make({ directory, nodeId: "bench", schedule })
      const starts = Array.from({ length: ATTEMPTS }, (_, i) => start(i))
      const rows = starts.map(row)
      return yield* Effect.callback<{ readonly us: number; readonly longest: number }>((resume) => {
        let next = 0
        let done = 0
        let longest = 0
        const before = process.cpuUsage()
        const turn = (): void => {
          const began = performance.now()
          for (let k = 0; k < perTurn && next < ATTEMPTS; k++) {
            const i = next++
            ledger.open(starts[i]!, {
              go: () => {
                ledger.settle(rows[i]!)
                if (++done < ATTEMPTS) return
                setImmediate(() => {
                  const used = process.cpuUsage(before)
                  resume(Effect.succeed({ us: (used.user + used.system) / ATTEMPTS, longest }))
                })
              }
            })
          }
          longest = Math.max(longest, performance.now() - began)
          if (next < ATTEMPTS) setImmediate(turn)
        }
        turn()
      })
    }))
    fs.rmSync(directory, { recursive: true, force: true })
    return result
  }).pipe(Effect.provideService(UsageStore, { insert: (rows: ReadonlyArray<LedgerRow>) => Effect.succeed(rows.length) } as unknown as UsageStore["Service"]))

const schedules = { setImmediate, queueMicrotask } as const
for (let round = 0; round < 2; round++) {
  for (const perTurn of [1, 4, 16, 64]) {
    for (const [name, schedule] of Object.entries(schedules)) {
      const { longest, us } = await Effect.runPromise(measure(perTurn, schedule))
      console.log(`${round === 0 ? "warm-up " : ""}${name} ${perTurn} attempts/turn: ${us.toFixed(2)} us CPU per attempt (open + go + settle + delivery), longest turn ${longest.toFixed(2)} ms`)
    }
  }
}
