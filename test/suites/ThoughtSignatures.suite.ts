import { assert, describe, it } from "vitest"
import type { ThoughtSignatures } from "#src/inference/ports/pastCalls/ThoughtSignatures.ts"
import type { Signature } from "#schemas/wire/conversation.ts"

export type Node = ThoughtSignatures["Service"]

export const signature = (value: string): Signature => ({ family: "generateContent", value })

export const suite = (name: string, open: () => Promise<Node>): void => {
  describe(`ThoughtSignatures on ${name}`, () => {
    it("gives each scope its own at once, the newest of one id, and null for what it does not know", async () => {
      const node = await open()
      node.remember("k-1", "call_1", signature("one"))
      node.remember("k-2", "call_1", signature("two"))
      assert.deepStrictEqual([node.recall("k-1", "call_1"), node.recall("k-2", "call_1")], [signature("one"), signature("two")])
      assert.deepStrictEqual([node.recall("k-3", "call_1"), node.recall("k-1", "call_2")], [null, null])
      node.remember("k-1", "call_1", signature("newer"))
      assert.deepStrictEqual(node.recall("k-1", "call_1"), signature("newer"))
    })

    it("does not keep a signature of more than 64 kB", async () => {
      const node = await open()
      node.remember("k-1", "call_large", signature("x".repeat(64 * 1024 + 1)))
      node.remember("k-1", "call_largest", signature("x".repeat(64 * 1024)))
      assert.isNull(node.recall("k-1", "call_large"))
      assert.isNotNull(node.recall("k-1", "call_largest"))
    })

    it("keeps the newest 10,000", async () => {
      const node = await open()
      for (let i = 0; i <= 10_000; i++) node.remember("k-1", `call_${i}`, signature("s"))
      assert.deepStrictEqual([node.recall("k-1", "call_0"), node.recall("k-1", "call_1"), node.recall("k-1", "call_10000")], [null, signature("s"), signature("s")])
    })
  })
}
