import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Password from "#src/platform/secrets/Password.ts"

const timed = (effect: Effect.Effect<boolean>) =>
  Effect.gen(function*() {
    const began = performance.now()
    yield* effect
    return performance.now() - began
  })

describe("Password", () => {
  it.live("a hash verifies its password and no other; two hashes of one password differ", () =>
    Effect.gen(function*() {
      const password = Redacted.make("correct horse")
      const [one, two] = [yield* Password.hash(password), yield* Password.hash(password)]
      assert.notStrictEqual(one, two)
      assert.match(one, /^scrypt\$15\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
      assert.isTrue(yield* Password.verify(password, one))
      assert.isTrue(yield* Password.verify(password, two))
      assert.isFalse(yield* Password.verify(Redacted.make("correct horse "), one))
      assert.isFalse(yield* Password.verify(Redacted.make(""), one))
    }))

  it.live("nothing stored, and anything unreadable, is never right", () =>
    Effect.gen(function*() {
      const stored = yield* Password.hash(Redacted.make("x"))
      const zeros = `scrypt$15$8$1$${"A".repeat(22)}$${"A".repeat(43)}`
      for (const wrong of [null, "", "plain", stored.slice(0, -1), stored.replace("$15$", "$30$"), stored.replace("$8$", "$99$"), zeros]) {
        assert.isFalse(yield* Password.verify(Redacted.make("x"), wrong))
      }
    }))

  it.live("an unknown user costs as much as a known one", () =>
    Effect.gen(function*() {
      const stored = yield* Password.hash(Redacted.make("x"))
      const known = yield* Effect.all(Array.from({ length: 5 }, () => timed(Password.verify(Redacted.make("y"), stored))))
      const unknown = yield* Effect.all(Array.from({ length: 5 }, () => timed(Password.verify(Redacted.make("y"), null))))
      const least = (times: ReadonlyArray<number>) => Math.min(...times)
      // Without a hash it would cost a thousandth; a neighbour on the machine may slow one half of the runs down.
      assert.isAbove(least(unknown), least(known) / 10)
    }))

  it.live("composed and decomposed characters are the same password", () =>
    Effect.gen(function*() {
      const stored = yield* Password.hash(Redacted.make("caf\u00e9"))
      assert.isTrue(yield* Password.verify(Redacted.make("cafe\u0301"), stored))
    }))

  it.live("the event loop goes on while passwords are hashed", () =>
    Effect.gen(function*() {
      let ticks = 0
      const timer = setInterval(() => ticks++, 2)
      yield* Effect.all(Array.from({ length: 4 }, () => Password.hash(Redacted.make("x"))), { concurrency: "unbounded" })
      clearInterval(timer)
      assert.isAbove(ticks, 5)
    }))
})
