import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import type { Ledger } from "#actors/request/ports/Ledger.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import * as Support from "./support.ts"

const { attemptStart, settledRow } = Support

/** One process life: the group commit runs only when the test says so, and a killed life reaches the store no more. */
class Life {
  readonly directory: string
  readonly ledger: Ledger["Service"]
  readonly #commits: Array<() => void>
  readonly #fence: { killed: boolean }
  constructor(directory: string, ledger: Ledger["Service"], commits: Array<() => void>, fence: { killed: boolean }) {
    this.directory = directory
    this.ledger = ledger
    this.#commits = commits
    this.#fence = fence
  }
  commit(): void {
    for (const run of this.#commits.splice(0)) run()
  }
  /** What kill -9 leaves: the files as they are, without a living owner. */
  kill(target: string): void {
    this.#fence.killed = true
    this.#commits.length = 0
    for (const name of Support.files(this.directory, /\.log$/)) fs.copyFileSync(path.join(this.directory, name), path.join(target, name))
  }
}

const startLife = (store: Support.ScriptedStore, disk: Support.Disk, directory: string) =>
  Effect.gen(function*() {
    const commits: Array<() => void> = []
    const fence = { killed: false }
    const service: UsageStore["Service"] = {
      ...store.service,
      insert: (rows) => Effect.suspend(() => fence.killed ? Effect.never : store.service.insert(rows))
    }
    const ledger = yield* JournaledLedger.make({
      directory,
      nodeId: "node-1",
      drainMs: 0,
      segmentBytes: 2000,
      windowRows: 5,
      fs: {
        ...disk.fs,
        write: (...args) => {
          if (fence.killed) throw new Error("this process is dead")
          return disk.fs.write(...args)
        }
      },
      schedule: (run) => commits.push(run)
    }).pipe(Effect.provideService(UsageStore, service))
    return new Life(directory, ledger, commits, fence)
  })

const Command = Schema.Literals(["open", "open", "settle", "settle", "settle twice", "commit", "commit", "wait", "store", "disk", "kill"])

describe("any interleaving of open, settle and crash", () => {
  it.effect.prop(
    "leaves exactly one row per attempt that was let go",
    [Schema.Array(Schema.Tuple([Command, Schema.Int]))],
    ([commands]) =>
      Effect.scoped(Effect.gen(function*() {
        const store = new Support.ScriptedStore()
        const disk = new Support.Disk()
        let life = yield* startLife(store, disk, yield* Support.temporaryDirectory)
        const running: Array<string> = []
        const unblock = new Set<string>()
        const refused = new Set<string>()
        /** Settled in a life that committed it afterwards with a sound disk. */
        const settled = new Set<string>()
        let uncommitted: Array<string> = []
        let next = 0
        for (const [command, pick] of commands) {
          const at = running.length === 0 ? -1 : Math.abs(pick) % running.length
          switch (command) {
            case "open": {
              const id = `a${next++}`
              life.ledger.open(attemptStart(id), {
                go: (error) => {
                  if (error === null) {
                    unblock.add(id)
                    running.push(id)
                  } else refused.add(id)
                }
              })
              break
            }
            case "settle":
            case "settle twice":
              if (at === -1) break
              for (const id of running.splice(at, 1)) {
                life.ledger.settle(settledRow(attemptStart(id)))
                if (command === "settle twice") life.ledger.settle(settledRow(attemptStart(id), { outcome: "parse-error" }))
                uncommitted.push(id)
              }
              break
            case "commit":
              life.commit()
              if (!disk.full) for (const id of uncommitted.splice(0)) settled.add(id)
              break
            case "wait":
              yield* TestClock.adjust("3 seconds")
              break
            case "store":
              store.mood = (["up", "down", "dying"] as const)[Math.abs(pick) % 3]!
              break
            case "disk":
              disk.full = Math.abs(pick) % 2 === 0
              disk.room = Math.abs(pick) % 500
              disk.truncates = Math.abs(pick) % 3 > 0
              break
            case "kill": {
              const directory = yield* Support.temporaryDirectory
              life.kill(directory)
              running.length = 0
              uncommitted = []
              life = yield* startLife(store, disk, directory)
            }
          }
          const { gap, live } = life.ledger.reconciliation()
          assert.strictEqual(gap, 0)
          assert.isAtLeast(live, running.length)
        }
        // The end: one last kill, then a life in which everything works.
        disk.full = false
        store.mood = "up"
        const directory = yield* Support.temporaryDirectory
        life.kill(directory)
        life = yield* startLife(store, disk, directory)
        assert.strictEqual(yield* Support.passing(life.ledger.flush(Support.PATIENCE_MS)), 0)
        assert.deepStrictEqual([...unblock].filter((id) => !store.rows.has(id)), [])
        assert.deepStrictEqual([...settled].filter((id) => store.rows.get(id)?.outcome !== "completed"), [])
        assert.deepStrictEqual([...store.rows.values()].filter((row) => row.outcome === "parse-error"), [])
        // A refused or never answered attempt may leave a row only if the disk could not even be cut.
        if (!commands.some(([command]) => command === "disk")) assert.strictEqual(store.rows.size, unblock.size)
      })),
    { timeout: 120_000, arbitrary: { runs: 150 } }
  )
})
