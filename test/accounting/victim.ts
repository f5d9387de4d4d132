/**
 * A process that opens and settles attempts until it is killed, and reports on its standard output what it was promised:
 * `O <id>` the go was given, `S <id>` the settle was given a whole turn to reach the journal.
 * Arguments: journal directory, store file, mood (down | up | slow), prefix of its attempt ids.
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { StoreError } from "#actors/ports/StoreError.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import { FileStore } from "./FileStore.ts"
import { attemptStart, settledRow, storeOf } from "./support.ts"

const [directory, storeFile, mood, prefix] = process.argv.slice(2) as [string, string, string, string]
const store = new FileStore(storeFile)

const service = storeOf((rows) =>
  mood === "down"
    ? Effect.fail(new StoreError({ store: "usage", operation: "insert", reason: "unavailable", message: "down" }))
    : Effect.sync(() => store.insert(rows)).pipe(Effect.delay(mood === "slow" ? 20 : 0))
)

const say = (line: string): void => {
  fs.writeSync(1, `${line}\n`)
}

const program = Effect.gen(function*() {
  const ledger = yield* JournaledLedger.make({ directory, nodeId: "victim", segmentBytes: 20_000 })
  let next = 0
  const waiting: Array<string> = []
  const step = () => {
    for (const id of waiting.splice(0)) say(`S ${id}`)
    for (let i = 0; i < 3; i++) {
      const id = `${prefix}-${next++}`
      const start = attemptStart(id, { nodeId: "victim" })
      ledger.open(start, {
        go: (error) => {
          if (error !== null) return say(`E ${error.message}`)
          say(`O ${id}`)
          // Some settle at once, some some turns later, some never.
          const turns = next % 4
          if (turns === 3) return
          const settle = (left: number): void => {
            if (left > 0) return void setImmediate(() => settle(left - 1))
            ledger.settle(settledRow(start))
            setImmediate(() => waiting.push(id))
          }
          settle(turns)
        }
      })
    }
    setImmediate(step)
  }
  step()
  return yield* Effect.never
})

Effect.runFork(Effect.scoped(program).pipe(Effect.provideService(UsageStore, service), Effect.provide(Logger.layer([]))))
