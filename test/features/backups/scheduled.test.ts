/** Backups on a schedule: one in each period, over starts and nodes, with the old ones removed. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { Configuration } from "#actors/ports/Configuration.ts"
import { AuditStore, DocumentStore } from "#actors/ports/Stores.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { BackupRecords } from "#src/features/backups/BackupRecords.ts"
import * as Backups from "#src/features/backups/Backups.ts"
import * as BackupTurns from "#src/features/backups/ports/backupTurns.ts"
import * as ScheduledBackups from "#src/features/backups/schedule/ScheduledBackups.ts"
import * as Management from "#test/support/management.ts"

const START = Date.parse("2026-11-27T10:00:00Z")
const DAY_MS = 86_400_000

/** The records of a gateway, and nodes on them that start and stop. */
const make = Effect.gen(function*() {
  yield* TestClock.setTime(START)
  const { context } = yield* Management.make()
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "gateway-schedule-"))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
  )
  const documents = Context.get(context, DocumentStore)
  const configuration = Context.get(context, Configuration)
  let failure: StoreError | null = null
  const records = Layer.succeed(BackupRecords, {
    size: Effect.succeed(0), migrations: Effect.succeed([]), merge: () => Effect.void, replace: (_pages, check) => check,
    dump: (_contents, take) => failure === null ? take({ table: "documents", columns: ["kind", "key", "value"], rows: [] }) : Effect.fail(failure)
  })
  const start = (directory = dataDir) => Effect.gen(function*() {
    const scope = yield* Scope.make()
    const node = ScheduledBackups.layer.pipe(Layer.provideMerge(Backups.layer({ dataDir: directory }).pipe(Layer.provide(records))))
    const services = yield* Layer.buildWithScope(Layer.fresh(node), scope).pipe(Effect.provideContext(context))
    const { inUse, round } = Context.get(services, ScheduledBackups.ScheduledBackups)
    return { backups: Context.get(services, Backups.Backups), inUse, to: (ms: number) => Effect.andThen(TestClock.setTime(START + ms), round), stop: Scope.close(scope, Exit.void) }
  })
  return {
    context, documents, dataDir, start,
    fail: (error: StoreError | null) => { failure = error },
    set: (backup: object) => configuration.commit(documents.put("setting", "database", { backup }))
  }
})

const listed = (backups: Backups.Backups["Service"]) => Effect.map(backups.list, (all) => all.map(({ at, reason }) => `${reason} ${new Date(at).toISOString().slice(0, 10)}`))

describe("backups on a schedule", () => {
  it.effect("are off by default, and made once in a day after both switches are on; an operator's own stay", () => Effect.gen(function*() {
    const { context, documents, set, start } = yield* make
    const { backups, inUse, to } = yield* start()
    yield* to(60_000)
    yield* set({ auto: true })
    yield* to(120_000)
    assert.deepStrictEqual(yield* listed(backups), [])
    assert.isFalse(inUse())
    assert.isUndefined(yield* documents.get(BackupTurns.KIND, BackupTurns.KEY))
    yield* backups.create("manual")
    yield* set({ auto: true, frequency: "daily", keep: 2 })
    assert.isTrue(inUse())
    yield* to(180_000)
    yield* to(3_600_000)
    assert.deepStrictEqual(yield* listed(backups), ["scheduled 2026-11-27", "manual 2026-11-27"])
    for (const day of [1, 2]) yield* to(day * DAY_MS)
    assert.deepStrictEqual(yield* listed(backups), ["scheduled 2026-11-29", "scheduled 2026-11-28", "manual 2026-11-27"])
    const { entries } = yield* Context.get(context, AuditStore).query({ action: "backup.created", limit: 10, offset: 0 })
    assert.deepStrictEqual(entries.map(({ actor, details }) => [actor, details["removed"]]), [["schedule", 1], ["schedule", 0], ["schedule", 0]])
    yield* set({ auto: true, frequency: "never" })
    yield* to(4 * DAY_MS)
    assert.lengthOf(yield* listed(backups), 3)
  }))

  it.effect("are not repeated by a start, and what was missed is made up for by one", () => Effect.gen(function*() {
    const { set, start } = yield* make
    yield* set({ auto: true, frequency: "daily", keep: 10 })
    const first = yield* start()
    yield* first.to(31_000)
    assert.deepStrictEqual(yield* listed(first.backups), ["scheduled 2026-11-27"])
    yield* first.stop
    const second = yield* start()
    yield* second.to(3_600_000)
    assert.lengthOf(yield* listed(second.backups), 1)
    yield* second.stop
    const third = yield* start()
    yield* third.to(5 * DAY_MS + 60_000)
    yield* third.to(5 * DAY_MS + 120_000)
    assert.deepStrictEqual(yield* listed(third.backups), ["scheduled 2026-12-02", "scheduled 2026-11-27"])
  }))

  it.effect("are left to the node that has begun one, and taken over when it ends without", () => Effect.gen(function*() {
    const { documents, set, start } = yield* make
    yield* documents.put(BackupTurns.KIND, BackupTurns.KEY, { lastAt: null, claimedAt: START })
    yield* set({ auto: true, frequency: "monthly", keep: 1 })
    const { backups, to } = yield* start()
    yield* to(BackupTurns.CLAIM_MS - 60_000)
    assert.deepStrictEqual(yield* listed(backups), [])
    yield* to(BackupTurns.CLAIM_MS + 60_000)
    assert.deepStrictEqual(yield* listed(backups), ["scheduled 2026-11-27"])
  }))

  it.effect("are tried again five minutes after a failure, which is not counted as made", () => Effect.gen(function*() {
    const { documents, fail, set, start } = yield* make
    fail(new StoreError({ store: "BackupRecords", operation: "dump", reason: "unavailable", message: "the database is away" }))
    yield* set({ auto: true, frequency: "weekly", keep: 1 })
    const { backups, to } = yield* start()
    yield* to(60_000)
    assert.deepStrictEqual(yield* documents.get(BackupTurns.KIND, BackupTurns.KEY), { lastAt: null, claimedAt: null })
    fail(null)
    yield* to(240_000)
    assert.deepStrictEqual(yield* listed(backups), [])
    yield* to(400_000)
    assert.deepStrictEqual(yield* listed(backups), ["scheduled 2026-11-27"])
  }))
})
