import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import { FileStore } from "./FileStore.ts"
import { files, storeOf, temporaryDirectory } from "./support.ts"

const ROUNDS = 20
const VICTIM = path.join(import.meta.dirname, "victim.ts")

interface Report {
  readonly opened: Set<string>
  readonly settled: Set<string>
  readonly errors: Array<string>
}

/** Runs a victim until it has said so many lines, then kills it in the middle of whatever it does. */
const runVictim = (args: ReadonlyArray<string>, lines: number, report: Report): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const child: ChildProcess = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", VICTIM, ...args], { stdio: ["ignore", "pipe", "inherit"] })
    let rest = ""
    let seen = 0
    child.stdout!.setEncoding("utf8")
    child.stdout!.on("data", (text: string) => {
      const parts = (rest + text).split("\n")
      rest = parts.pop()!
      for (const line of parts) {
        const id = line.slice(2)
        if (line.startsWith("O ")) report.opened.add(id)
        else if (line.startsWith("S ")) report.settled.add(id)
        else report.errors.push(line)
        seen++
      }
      if (seen >= lines) child.kill("SIGKILL")
    })
    child.on("close", () => resume(Effect.void))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

describe("a process that is killed", () => {
  it.live("leaves exactly one row per attempt that was let go, through twenty kills and whatever the store did", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const journal = path.join(directory, "journal")
      const storeFile = path.join(directory, "store.jsonl")
      const report: Report = { opened: new Set(), settled: new Set(), errors: [] }
      for (let round = 0; round < ROUNDS; round++) {
        const mood = ["down", "up", "slow", "up"][round % 4]!
        // Few lines hit the start and the replay, many lines hit rotation.
        const lines = 1 + Math.floor(Math.random() * (round % 2 === 0 ? 50 : 1500))
        yield* runVictim([journal, storeFile, mood, `r${round}`], lines, report)
      }
      const store = new FileStore(storeFile)
      const rowsLeft = yield* Effect.scoped(Effect.gen(function*() {
        const ledger = yield* JournaledLedger.make({ directory: journal, nodeId: "survivor" })
        return yield* ledger.flush(20_000)
      })).pipe(Effect.provideService(UsageStore, storeOf((rows) => Effect.sync(() => store.insert(rows)))))
      assert.deepStrictEqual(report.errors, [])
      assert.strictEqual(rowsLeft, 0)
      assert.isAbove(report.opened.size, 1000)
      const missing = [...report.opened].filter((id) => !store.rows.has(id))
      assert.deepStrictEqual(missing, [])
      const lost = [...report.settled].filter((id) => store.rows.get(id)?.outcome !== "completed")
      assert.deepStrictEqual(lost, [])
      // At most the attempts whose go had not been reported when the kill came are there besides.
      assert.isAtMost(store.rows.size - report.opened.size, ROUNDS * 200)
      // The acknowledged part of a journal is not sent again: only batches in flight at a kill may repeat.
      assert.isAtMost(store.repeated, ROUNDS * JournaledLedger.BATCH_ROWS)
      assert.deepStrictEqual(files(journal, /./), [])
    }), 180_000)
})
