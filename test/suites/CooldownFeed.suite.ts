import { assert, describe, it } from "vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Cleared, Cooled, CooldownFeed, Locked } from "#src/features/resilience/ports/CooldownFeed.ts"
import { eventually } from "#test/support/operator.ts"

export type Feed = CooldownFeed["Service"]

/** What a node was told, newest last; `locked` is what it would say runs now. */
export interface Ears {
  readonly cooled: Array<Cooled>
  readonly locked: Array<Locked>
  readonly cleared: Array<Cleared>
}

export const listen = async (feed: Feed): Promise<Ears & { readonly close: () => Promise<void> }> => {
  const ears: Ears = { cooled: [], locked: [], cleared: [] }
  const scope = Scope.makeUnsafe()
  await Effect.runPromise(Scope.provide(feed.hear({
    cooled: (one) => ears.cooled.push(one), locked: (one) => ears.locked.push(one), cleared: (one) => ears.cleared.push(one)
  }), scope))
  return { ...ears, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

export const locked = (model: string, fields: Partial<Locked> = {}): Locked =>
  ({ provider: "openai", connectionId: "c-1", model, forMs: 60_000, failures: 1, status: 404, ...fields })
export const cooled = (fields: Partial<Cooled> = {}): Cooled =>
  ({ connectionId: "c-1", forMs: 60_000, until: 1_000_000, level: 1, reason: "server_error", status: 503, guessed: true, ...fields })

export const heardOf = (ears: Ears, model: string) => eventually(async () => ears.locked.filter((one) => one.model === model).at(-1), (one) => one !== undefined, `the lockout of ${model}`)

/** The cooldown of a whole provider. */
const whole = locked("*", { connectionId: null, whole: true, rest: { level: 2, reason: "server_error", guessed: true } })

/** `open` makes nodes of a store of their own. */
export const suite = (name: string, open: () => Promise<(node: string) => Feed>): void => {
  describe(`CooldownFeed on ${name}`, () => {
    it("cooldowns and lockouts reach the other nodes as they were told, and not their teller", async () => {
      const node = await open()
      const [one, two] = [node("one"), node("two")]
      const [ears, own] = [await listen(two), await listen(one)]
      one.lock(locked("m"))
      one.lock(locked("gone", { forMs: 0, failures: 0, status: 0 }))
      one.lock(locked("bare", { connectionId: null, forMs: 1_500.5, failures: 3 }))
      one.lock(whole)
      one.cool(cooled())
      one.cool(cooled({ forMs: 0, until: 0, level: 0, reason: "unknown", status: 0, guessed: false }))
      await eventually(async () => [ears.cooled.length, ears.locked.length].join(), (seen) => seen === "2,4", "everything that was told")
      assert.deepStrictEqual(ears.cooled, [cooled(), cooled({ forMs: 0, until: 0, level: 0, reason: "unknown", status: 0, guessed: false })])
      assert.deepStrictEqual(ears.locked, [
        locked("m"), locked("gone", { forMs: 0, failures: 0, status: 0 }), locked("bare", { connectionId: null, forMs: 1_500.5, failures: 3 }), whole
      ])
      two.lock(locked("echo"))
      await heardOf(own, "echo")
      assert.deepStrictEqual(own.locked.map(({ model }) => model), ["echo"])
      assert.deepStrictEqual([own.cooled, own.cleared], [[], []])
      await ears.close()
      await own.close()
    })

    it("a node that comes later hears of the lockouts that still run, with what is left of them", async () => {
      const node = await open()
      const ears = await listen(node("two"))
      node("one").lock(locked("short", { forMs: 40 }))
      node("one").lock(locked("over"))
      node("one").lock(locked("over", { forMs: 0, failures: 1 }))
      node("one").lock(locked("other", { connectionId: "c-2" }))
      node("one").lock(locked("m", { failures: 2 }))
      await heardOf(ears, "m")
      const heard = await eventually(async () => {
        const late = await listen(node("three"))
        await late.close()
        return late.locked
      }, (all) => !all.some(({ model }) => model === "short"), "the end of the short one")
      assert.deepStrictEqual(heard.map(({ failures, model }) => [model, failures]).sort(), [["m", 2], ["other", 1]])
      for (const { forMs } of heard) assert.isTrue(forMs > 30_000 && forMs <= 60_000, String(forMs))
      await ears.close()
    })

    it("what is cleared is cleared for all: those who listen, and those who come later", async () => {
      const node = await open()
      const ears = await listen(node("two"))
      const one = node("one")
      for (const fields of [{ model: "a" }, { model: "b" }, { model: "a", connectionId: "c-2" }, { model: "a", provider: "groq", connectionId: null }, { model: "last" }]) {
        one.lock({ ...locked("m"), ...fields })
      }
      await heardOf(ears, "last")
      const left = async () => {
        const late = await listen(node("three"))
        await late.close()
        return late.locked.map(({ connectionId, model, provider }) => `${provider} ${connectionId} ${model}`).sort()
      }
      const cleared = async (which: Cleared) => {
        const before = ears.cleared.length
        one.clear(which)
        await eventually(async () => ears.cleared.length, (count) => count === before + 1, "the news")
        assert.deepStrictEqual(ears.cleared.at(-1), which)
        return await left()
      }
      const any = { provider: null, model: null, connectionId: null }
      assert.deepStrictEqual(await cleared({ ...any, model: "b" }), ["groq null a", "openai c-1 a", "openai c-1 last", "openai c-2 a"])
      assert.deepStrictEqual(await cleared({ ...any, provider: "openai", model: "a", connectionId: "c-2" }), ["groq null a", "openai c-1 a", "openai c-1 last"])
      assert.deepStrictEqual(await cleared({ ...any, provider: "groq" }), ["openai c-1 a", "openai c-1 last"])
      assert.deepStrictEqual(await cleared(any), [])
      await ears.close()
    })
  })
}
