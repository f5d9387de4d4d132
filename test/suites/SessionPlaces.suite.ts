import { assert, describe, it } from "vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { CachePlace, SessionPlace, SessionPlaces } from "#src/inference/ports/SessionPlaces.ts"
import { eventually } from "#test/support/operator.ts"

export type Node = SessionPlaces["Service"]

export const place = (model: string, fields: Partial<SessionPlace> = {}): SessionPlace => ({ provider: "p-1", alias: "lab", model, connectionId: "c-1", window: 128_000, ...fields })

export const listen = async (node: Node) => {
  const heard: Array<readonly [string, SessionPlace]> = []
  const scope = Scope.makeUnsafe()
  await Effect.runPromise(Scope.provide(node.hear((key, one) => heard.push([key, one])), scope))
  return { heard, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

/** `open` makes nodes that hear each other. */
export const suite = (name: string, open: () => Promise<(node: string) => Node>): void => {
  describe(`SessionPlaces on ${name}`, () => {
    it("every other node hears every place, in order and whole, and its teller does not", async () => {
      const node = await open()
      const [one, two, three] = [node("one"), node("two"), node("three")]
      const ears = [await listen(two), await listen(three), await listen(one)]
      const told = Array.from({ length: 300 }, (_, i) => [one.keyOf(`s-${i % 100}`), place(`m-${i}`, i % 2 === 0 ? {} : { connectionId: null, window: null })] as const)
      for (const [key, at] of told) one.tell(key, at)
      for (const { heard } of ears.slice(0, 2)) {
        await eventually(async () => heard.length, (length) => length >= told.length, "all places")
        assert.deepStrictEqual(heard, told.map(([key, at]) => [key, at] as const))
      }
      assert.lengthOf(ears[2]?.heard ?? [null], 0)
      assert.strictEqual(two.keyOf("s-1"), one.keyOf("s-1"))
      assert.notStrictEqual(two.keyOf("s-1"), one.keyOf("s-2"))
      for (const { close } of ears) await close()
    })

    it("every other node hears where the caches of prompts are, too, and its teller does not", async () => {
      const node = await open()
      const [one, two] = [node("one"), node("two")]
      const scope = Scope.makeUnsafe()
      const heard: Array<readonly [string, string, CachePlace]> = []
      for (const [name, ear] of [["one", one], ["two", two]] as const) {
        await Effect.runPromise(Scope.provide(ear.cachePlaces?.hear((key, at) => heard.push([name, key, at])) ?? Effect.void, scope))
      }
      const at = { executionKey: "step>other", until: 1_700_000_000_000 }
      one.cachePlaces?.tell(one.keyOf("c-1"), at)
      await eventually(async () => heard.length, (length) => length > 0, "the place")
      assert.deepStrictEqual(heard, [["two", two.keyOf("c-1"), at]])
      await Effect.runPromise(Scope.close(scope, Exit.void))
    })
  })
}
