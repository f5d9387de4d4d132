/**
 * Brings settled rows into the record store: idempotent inserts with a deadline, retried with capped backoff for as long as
 * the store is away. A row that the store refuses for its content is set aside in a file, so that it does not block other rows.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

/** First and longest pause between two tries, ms; each pause is varied by up to a fifth. */
const BACKOFF_FIRST_MS = 250
const BACKOFF_MAX_MS = 10_000
/** A store that has not answered an insert by then is treated as away, ms. */
const INSERT_DEADLINE_MS = 30_000

export type DeliveryReport = (level: "error" | "warn" | "info", message: string, fields?: Record<string, unknown>) => void

export interface Options {
  readonly store: UsageStore["Service"]
  readonly directory: string
  /** While open, the pause before the next try is cut short. */
  readonly hurry: Latch.Latch
  readonly report: DeliveryReport
}

export class Delivery {
  lastError: string | null = null
  /** Rows that lie in `rejected.jsonl`. */
  rejected = 0

  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns once every row is in the store, or set aside; answers how many are in the store. Waits as long as it takes. */
  deliver(rows: ReadonlyArray<LedgerRow>): Effect.Effect<number> {
    return this.#deliver(rows, false)
  }

  /** `suspect`: the rows are part of a batch that was refused for its content twice. */
  #deliver(rows: ReadonlyArray<LedgerRow>, suspect: boolean): Effect.Effect<number> {
    return Effect.gen({ self: this }, function*() {
      let failures = 0
      while (true) {
        const error = yield* this.#insert(rows)
        if (error === null) {
          this.lastError = null
          return rows.length
        }
        this.lastError = error.message
        if (failures === 0) this.#options.report("warn", "usage rows could not be stored; they stay in the journal", { rows: rows.length, error: error.message })
        if (error.reason !== "unavailable" && (suspect || failures > 0)) {
          if (rows.length > 1) {
            const half = rows.length >>> 1
            const first = yield* this.#deliver(rows.slice(0, half), true)
            return first + (yield* this.#deliver(rows.slice(half), true))
          }
          if (this.#setAside(rows[0]!, error.message)) return 0
        }
        yield* this.#pause(failures++)
      }
    })
  }

  /** Null when the rows are stored. A defect, a hang and a refusal all become an error value. */
  #insert(rows: ReadonlyArray<LedgerRow>): Effect.Effect<StoreError | null> {
    const unavailable = (message: string) => new StoreError({ store: "usage", operation: "insert", reason: "unavailable", message })
    return this.#options.store.insert(rows).pipe(
      Effect.timeoutOrElse({
        duration: Duration.millis(INSERT_DEADLINE_MS),
        orElse: () => Effect.fail(unavailable(`no answer within ${INSERT_DEADLINE_MS} ms`))
      }),
      Effect.exit,
      Effect.map((exit) => {
        if (Exit.isSuccess(exit)) return null
        const error = Cause.squash(exit.cause)
        return error instanceof StoreError ? error : unavailable(String(error))
      })
    )
  }

  #pause(failures: number): Effect.Effect<void> {
    const { hurry } = this.#options
    const base = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(failures, 10))
    return Random.next.pipe(
      Effect.flatMap((random) => Effect.raceFirst(Effect.sleep(Duration.millis(base * (0.8 + 0.4 * random))), hurry.await)),
      Effect.andThen(hurry.close),
      Effect.asVoid
    )
  }

  #setAside(row: LedgerRow, message: string): boolean {
    try {
      fs.appendFileSync(path.join(this.#options.directory, "rejected.jsonl"), `${JSON.stringify({ error: message, row })}\n`, { mode: 0o600 })
    } catch {
      return false
    }
    this.rejected++
    this.#options.report("error", "a usage row was refused by the store and set aside in rejected.jsonl", { attemptId: row.attemptId, error: message })
    return true
  }
}
