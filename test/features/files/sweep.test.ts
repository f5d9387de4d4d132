/** The sweep of files under a clock of the test: expired files, bytes without a record, and writes that nobody finishes. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { type FileRecord, FileRecords } from "#src/features/files/ports/FileRecords.ts"
import * as OwnIds from "#src/features/files/ports/OwnIds.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"
import * as LocalFileStore from "#src/features/files/stores/LocalFileStore.ts"
import * as Sweep from "#src/features/files/sweep.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"
import * as MemoryFiles from "#test/support/memoryFiles.ts"

const HOUR = 3_600_000
const recordOf = (id: string, expiresAt: number | null): FileRecord => ({
  id, ownerKeyId: "k", filename: "f", purpose: "batch", contentType: "text/plain", bytes: 3, sha256: "", status: "processed", statusDetails: null, createdAt: 0, expiresAt
})

/** The loops begin some turns after their layer was built. */
const until = <E, R>(holds: Effect.Effect<boolean, E, R>) => Effect.gen(function*() {
  const deadline = performance.now() + 15_000
  while (!(yield* holds)) {
    if (performance.now() > deadline) return assert.fail("the sweeps did not begin")
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
})

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "gateway-sweep-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

const world = Effect.fnUntraced(function*(isShared: boolean, given?: string) {
  const place = given ?? (yield* directory)
  const dials = { cleanup: true }
  const flags = Layer.succeed(Flags, {
    isOn: (key) => key === "BATCH_AND_FILE_AUTO_CLEANUP_ENABLED" && dials.cleanup, value: () => "", source: () => "default"
  })
  const rounds = new Map<string, number>()
  const probe = { round: (loop: string) => void rounds.set(loop, (rounds.get(loop) ?? 0) + 1), ended: () => undefined }
  const context = yield* Effect.provideService(Layer.build(Sweep.layer(isShared).pipe(
    Layer.provideMerge(OwnIds.layer),
    Layer.provideMerge(Layer.mergeAll(flags, LocalPlacement.layer, LocalFileStore.layer({ directory: place, reserveBytes: 0 }), Layer.sync(FileRecords, MemoryFiles.records), MemoryStores.documents))
  )), Supervisor.Probe, probe)
  const sweeps = ["sweep/files", "sweep/file bytes"]
  yield* until(Effect.sync(() => sweeps.every((loop) => (rounds.get(loop) ?? 0) > 0)))
  const run = <A, E>(effect: Effect.Effect<A, E, Flags | FileRecords | FileStore | OwnIds.OwnIds | DocumentStore>) => Effect.provideContext(effect, context)
  /** Moves the clock, and sweeps then: the loops would sleep from whenever their work on the real disk ends. */
  const advance = (duration: Duration.Input) => TestClock.adjust(duration).pipe(Effect.andThen(run(Sweep.expired)), Effect.andThen(run(Sweep.leftovers)))
  /** Writes a file whose bytes are as old as the clock says; null: a record is never made. */
  const file = Effect.fnUntraced(function*(expiresAt: number | null | "none") {
    const id = FileId.make((yield* run(Effect.flatMap(OwnIds.OwnIds, ({ own }) => own))).mark)
    yield* run(Effect.flatMap(FileStore, (store) => store.write(id, Stream.make(Buffer.from("abc")))))
    const now = (yield* Clock.currentTimeMillis) / 1000
    fs.utimesSync(path.join(place, id), now, now)
    if (expiresAt !== "none") yield* run(Effect.flatMap(FileRecords, (records) => records.insert(recordOf(id, expiresAt))))
    return id
  })
  const has = (id: string): boolean => fs.existsSync(path.join(place, id))
  const status = (id: string) => run(Effect.flatMap(FileRecords, (records) => Effect.map(records.find(id, "all"), (record) => record?.status ?? null)))
  return { place, dials, file, has, status, advance }
})

describe("the sweep of files", () => {
  for (const isShared of [false, true]) {
    it.effect(`${isShared ? "one node for all" : "each node"}: expired bytes go and their record stays a while; files without end stay`, () => Effect.gen(function*() {
      yield* TestClock.adjust("1000 days")
      const start = yield* Clock.currentTimeMillis
      const { advance, dials, file, has, status } = yield* world(isShared)
      const [soon, later, never] = [yield* file(start + HOUR), yield* file(start + 5 * HOUR), yield* file(null)]
      dials.cleanup = false
      yield* advance("2 hours")
      assert.isTrue(has(soon))
      assert.strictEqual(yield* status(soon), "processed")
      dials.cleanup = true
      yield* advance(Sweep.EVERY_MS)
      assert.isFalse(has(soon))
      assert.deepStrictEqual([has(later), has(never), yield* status(soon), yield* status(later), yield* status(never)], [true, true, "expired", "processed", "processed"])
      yield* advance(Sweep.EXPIRED_KEPT_MS - 2 * HOUR)
      assert.isFalse(has(later))
      assert.strictEqual(yield* status(soon), "expired")
      yield* advance(2 * HOUR)
      assert.deepStrictEqual([yield* status(soon), has(never), yield* status(never)], [null, true, "processed"])
    }).pipe(Effect.scoped))

    it.effect(`${isShared ? "one node for all" : "each node"}: bytes without a record and dead writes go once no upload can be theirs`, () => Effect.gen(function*() {
      yield* TestClock.adjust("1000 days")
      const start = yield* Clock.currentTimeMillis
      const { advance, file, has, place, status } = yield* world(isShared)
      const [orphan, kept] = [yield* file("none"), yield* file(null)]
      const dead = path.join(place, "incoming", `${FileId.make("0123abcd")}.1.1`)
      const foreign = path.join(place, "notes.txt")
      for (const each of [dead, foreign]) {
        fs.writeFileSync(each, "half")
        fs.utimesSync(each, start / 1000, start / 1000)
      }
      yield* advance(Sweep.LEFT_BEHIND_MS - HOUR)
      assert.deepStrictEqual([has(orphan), fs.existsSync(dead)], [true, true])
      yield* advance(2 * HOUR)
      assert.deepStrictEqual([has(orphan), fs.existsSync(dead)], [false, false])
      assert.deepStrictEqual([has(kept), fs.existsSync(foreign), yield* status(kept)], [true, true, "processed"])
    }).pipe(Effect.scoped))

    it.effect(`${isShared ? "one node for all" : "each node"}: other records over the same directory leave the bytes that were there before them, and those of the others`, () => Effect.gen(function*() {
      yield* TestClock.adjust("1000 days")
      const place = yield* directory
      const before = yield* world(isShared, place)
      const kept = yield* before.file(null)
      yield* before.advance("1 day")
      const after = yield* world(isShared, place)
      const [theirs, ours] = [yield* before.file(null), yield* after.file(null)]
      const orphans = [yield* before.file("none"), yield* after.file("none")]
      yield* TestClock.adjust("1 day")
      for (const each of [after, before]) yield* each.advance(Sweep.EVERY_MS)
      assert.deepStrictEqual([kept, theirs, ours, ...orphans].map(after.has), [true, true, true, false, false])
    }).pipe(Effect.scoped))
  }
})
