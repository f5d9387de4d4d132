/** A usage store whose availability a test controls, ledger rows by default, and temporary journal directories. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { StoreError } from "#actors/ports/StoreError.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerUnavailable } from "#actors/request/ports/Ledger.ts"
import type { Ledger } from "#actors/request/ports/Ledger.ts"
import * as Journal from "#src/platform/accounting/journal/Journal.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"

export const attemptStart = (attemptId: string, over: Partial<AttemptStart> = {}): AttemptStart => ({
  attemptId,
  requestId: `req-${attemptId}`,
  attempt: 1,
  startedAt: 1_760_000_000_000,
  nodeId: "node-1",
  endpoint: "/v1/chat/completions",
  requestedModel: "openai/gpt-4o",
  provider: "openai",
  model: "gpt-4o",
  connectionId: "connection-1",
  apiKeyId: "key-1",
  apiKeyName: "production",
  combo: null,
  sessionTag: null,
  sourceFormat: "chat",
  targetFormat: "chat",
  stream: true,
  ...over
})

export const settledRow = (start: AttemptStart, over: Partial<LedgerRow> = {}): LedgerRow => ({
  ...start,
  final: true,
  settledAt: start.startedAt + 1234,
  outcome: "completed",
  upstreamStatus: 200,
  status: 200,
  clientStatus: 200,
  errorCode: null,
  phase: null,
  tokensIn: 100,
  tokensOut: 20,
  tokensCacheRead: 0,
  tokensCacheCreation: 0,
  tokensReasoning: 0,
  estimated: false,
  units: null,
  unpriced: false,
  costUsd: 0.0001234567,
  latencyMs: 1234.5,
  ttftMs: 321.25,
  phases: null, tokensCompressed: null, proxyId: null,
  ...over
})

export type Mood = "up" | "down" | "frozen" | "dying"

/** A usage store that can only insert. */
export const storeOf = (insert: UsageStore["Service"]["insert"]): UsageStore["Service"] => ({
  insert,
  rows: () => Effect.die("not used"),
  connectionUse: () => Effect.die("not used"),
  calls: () => Effect.die("not used"),
  facets: () => Effect.die("not used"),
  totals: () => Effect.die("not used"),
  groupBy: () => Effect.die("not used"),
  usedBy: () => Effect.die("not used"),
  trend: () => Effect.die("not used"),
  lastMinutes: () => Effect.die("not used"),
  count: () => Effect.die("not used"),
  latencies: () => Effect.die("not used"),
  comboTargets: () => Effect.die("not used"),
  comboCalls: () => Effect.die("not used"),
  promptCache: () => Effect.die("not used"),
  promptCacheWrites: () => Effect.die("not used"),
  promptCacheHours: () => Effect.die("not used"),
  removeBefore: () => Effect.die("not used"),
  removeBut: () => Effect.die("not used")
})

/** Rows by attempt id, and how many inserts named each: 1 everywhere means that nothing was even sent twice. */
export class ScriptedStore {
  readonly rows = new Map<string, LedgerRow>()
  readonly batches: Array<number> = []
  mood: Mood = "up"
  inserts = 0
  /** Rows for whose content the store refuses a batch. */
  refuse: (row: LedgerRow) => boolean = () => false

  readonly service = storeOf((rows) =>
      Effect.suspend(() => {
        this.inserts++
        switch (this.mood) {
          case "down":
            return Effect.fail(new StoreError({ store: "usage", operation: "insert", reason: "unavailable", message: "connection refused" }))
          case "frozen":
            return Effect.never
          case "dying":
            return Effect.die(new Error("a defect of the store"))
          case "up": {
            const bad = rows.find(this.refuse)
            if (bad !== undefined) {
              return Effect.fail(new StoreError({ store: "usage", operation: "insert", reason: "corrupt", message: `bad row ${bad.attemptId}` }))
            }
            this.batches.push(rows.length)
            let fresh = 0
            for (const row of rows) {
              if (this.rows.has(row.attemptId)) continue
              this.rows.set(row.attemptId, row)
              fresh++
            }
            return Effect.succeed(fresh)
          }
        }
      })
  )
}

/** Opens an attempt and waits for its go. */
export const open = (ledger: Ledger["Service"], start: AttemptStart): Effect.Effect<LedgerUnavailable | null> =>
  Effect.gen(function*() {
    const answer = yield* Deferred.make<LedgerUnavailable | null>()
    ledger.open(start, {
      go: (error) => {
        Deferred.doneUnsafe(answer, Effect.succeed(error))
      }
    })
    return yield* Deferred.await(answer)
  })

export const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "ledger-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** Names in a directory that match, sorted. */
export const files = (directory: string, pattern: RegExp): ReadonlyArray<string> =>
  fs.existsSync(directory) ? fs.readdirSync(directory).filter((name) => pattern.test(name)).sort() : []

/** One turn of the event loop: the group commit of everything queued before has run afterwards. */
export const turn = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** A running ledger whose end a test decides. */
export const run = (store: ScriptedStore, options: Partial<JournaledLedger.Options> & { readonly directory: string }) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const ledger = yield* JournaledLedger.make({ nodeId: "node-1", drainMs: 0, ...options }).pipe(
      Effect.provideService(UsageStore, store.service),
      Scope.provide(scope)
    )
    return { ledger, stop: Scope.close(scope, Exit.void) }
  })

/** A disk that can be full or dying. */
export class Disk {
  full = false
  /** Bytes that still fit when full. */
  room = 0
  truncates = true
  readonly fs: Journal.JournalFs = {
    ...Journal.nodeJournalFs,
    write: (fd, bytes, offset, length, position) => {
      if (!this.full) return Journal.nodeJournalFs.write(fd, bytes, offset, length, position)
      if (this.room > 0) {
        const part = Math.min(this.room, length)
        this.room = 0
        return Journal.nodeJournalFs.write(fd, bytes, offset, part, position)
      }
      throw Object.assign(new Error("no space"), { code: "ENOSPC" })
    },
    truncate: (fd, length) => {
      if (!this.truncates) throw Object.assign(new Error("io"), { code: "EIO" })
      Journal.nodeJournalFs.truncate(fd, length)
    }
  }
}

/** Lets time and the event loop pass until a fact holds: real file work takes as long as it takes. */
export const until = (fact: () => boolean): Effect.Effect<void> =>
  Effect.gen(function*() {
    while (!fact()) {
      yield* turn
      yield* TestClock.adjust("500 millis")
    }
  })

/** The answer of an effect that needs time and the event loop to pass. */
export const passing = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    yield* until(() => fiber.pollUnsafe() !== undefined)
    return yield* Fiber.join(fiber)
  })

/** Long enough for any machine: `passing` moves the clock fast. */
export const PATIENCE_MS = 1e12
