/** PGlite in this process, with the flushes counted. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as path from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { crashed, DurableFS, syncTree } from "#src/platform/postgres/pglite/DurableFS.ts"
import { pgliteDirectory, temporaryDirectory } from "#test/support/postgres.ts"

/** Counts calls of fdatasync until the scope closes. */
const counting = Effect.acquireRelease(
  Effect.sync(() => {
    const original = fs.fdatasyncSync
    const counter = { calls: 0, original }
    fs.fdatasyncSync = (handle) => {
      counter.calls++
      original(handle)
    }
    syncBuiltinESMExports()
    return counter
  }),
  ({ original }) =>
    Effect.sync(() => {
      fs.fdatasyncSync = original
      syncBuiltinESMExports()
    })
)

const params = [...PGlite.defaultStartParams.filter((param) => param !== "-F"), "-c", "wal_sync_method=fsync"]

describe("DurableFS", () => {
  it.live("a whole directory is flushed, also when a file goes meanwhile; what cannot be flushed is an error", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      fs.mkdirSync(path.join(directory, "inner"))
      for (let i = 0; i < 40; i++) fs.writeFileSync(path.join(directory, "inner", String(i)), "x")
      // Listed, and not there when it is opened.
      fs.symlinkSync(path.join(directory, "gone"), path.join(directory, "inner", "went"))
      yield* Effect.promise(() => syncTree(directory))
      fs.symlinkSync("loop", path.join(directory, "loop"))
      const failed = yield* Effect.promise(() => syncTree(directory).then(() => "flushed", (error: Error) => error.message))
      assert.include(failed, "ELOOP")
    }).pipe(Effect.scoped))

  it.live("every commit is flushed before it is acknowledged; a read is not; a crash is told from a shutdown", () =>
    Effect.gen(function*() {
      const directory = path.join(yield* pgliteDirectory, "pglite")
      assert.isFalse(crashed(directory))
      const counter = yield* counting
      const database = yield* Effect.promise(() => PGlite.create({ fs: new DurableFS(directory), startParams: params }))
      assert.isTrue(crashed(directory), "a running database looks like a crashed one")
      yield* Effect.promise(async () => {
        await database.exec("CREATE TABLE t (n integer)")
        for (let n = 0; n < 20; n++) {
          const before = counter.calls
          await database.query("INSERT INTO t VALUES ($1)", [n])
          assert.isAbove(counter.calls, before)
        }
        const before = counter.calls
        await database.query("SELECT * FROM t WHERE n > 100")
        assert.strictEqual(counter.calls, before)
        await database.exec("CHECKPOINT")
        assert.isAbove(counter.calls, before + 2)
        await database.close()
      })
      assert.isFalse(crashed(directory))
    }).pipe(Effect.scoped))
})
