/** PGlite in this process, with the flushes counted. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as path from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { crashed, DurableFS } from "#src/platform/postgres/pglite/DurableFS.ts"
import { pgliteDirectory } from "#test/support/postgres.ts"

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
    }).pipe(Effect.scoped), 30_000)
})
