import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { Secrets } from "#actors/ports/Secrets.ts"
import * as MasterKey from "#src/platform/secrets/MasterKey.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import { temporaryDirectory } from "#test/support/postgres.ts"

const given = "a master secret of an operator"

const value = (keys: MasterKey.MasterKeys) => [Redacted.value(keys.current), ...keys.previous.map((secret) => Redacted.value(secret))]

describe("MasterKey", () => {
  it.effect("the first start makes a 0600 file in a 0700 directory; later starts read it", () =>
    Effect.gen(function*() {
      const dataDir = path.join(yield* temporaryDirectory, "data")
      const first = yield* MasterKey.load({ dataDir })
      assert.match(Redacted.value(first.current), /^[\w-]{43}$/)
      assert.strictEqual(fs.statSync(MasterKey.fileIn(dataDir)).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(dataDir).mode & 0o777, 0o700)
      assert.deepStrictEqual(value(yield* MasterKey.load({ dataDir })), value(first))
      assert.deepStrictEqual(fs.readdirSync(dataDir), ["secret.key"])
    }).pipe(Effect.scoped))

  it.effect("starts that race agree on one secret", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      const loaded = yield* Effect.all(Array.from({ length: 8 }, () => MasterKey.load({ dataDir })), { concurrency: "unbounded" })
      assert.strictEqual(new Set(loaded.map((keys) => Redacted.value(keys.current))).size, 1)
    }).pipe(Effect.scoped))

  it.effect("a file that others can read is refused, with the command that mends it", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      yield* MasterKey.load({ dataDir })
      for (const mode of [0o640, 0o604, 0o644, 0o610]) {
        fs.chmodSync(MasterKey.fileIn(dataDir), mode)
        const error = yield* Effect.flip(MasterKey.load({ dataDir }))
        assert.strictEqual(error.reason, "file-mode")
        assert.include(error.message, `chmod 600 ${MasterKey.fileIn(dataDir)}`)
      }
    }).pipe(Effect.scoped))

  it.effect("an empty or cut file is refused, never replaced", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      for (const text of ["", "\n", "short"]) {
        fs.writeFileSync(MasterKey.fileIn(dataDir), text, { mode: 0o600 })
        assert.strictEqual((yield* Effect.flip(MasterKey.load({ dataDir }))).reason, "file-broken")
        assert.strictEqual(fs.readFileSync(MasterKey.fileIn(dataDir), "utf8"), text)
      }
    }).pipe(Effect.scoped))

  it.effect("GATEWAY_SECRET makes no file; a short one is refused without quoting it", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      assert.deepStrictEqual(value(yield* MasterKey.load({ dataDir, secret: Redacted.make(given) })), [given])
      assert.deepStrictEqual(fs.readdirSync(dataDir), [])
      for (const options of [{ secret: Redacted.make("tooshort") }, { secret: Redacted.make(given), previous: [Redacted.make("tooshort")] }]) {
        const error = yield* Effect.flip(MasterKey.load({ dataDir, ...options }))
        assert.strictEqual(error.reason, "too-short")
        assert.notInclude(error.message, "tooshort")
      }
    }).pipe(Effect.scoped))

  it.effect("what the file sealed opens after GATEWAY_SECRET was set", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      const sealed = yield* Effect.provide(
        Effect.map(Secrets, (secrets) => secrets.seal(Redacted.make("value"), "c")),
        Sealer.layer({ dataDir })
      )
      const opened = yield* Effect.provide(
        Effect.map(Secrets, (secrets) => [Redacted.value(secrets.openUnsafe(sealed, "c")), secrets.isStale(sealed)] as const),
        Sealer.layer({ dataDir, secret: Redacted.make(given), previous: [Redacted.make("another previous secret")] })
      )
      assert.deepStrictEqual(opened, ["value", true])
    }).pipe(Effect.scoped))
})
