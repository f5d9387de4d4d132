import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { defaultBounds, SignatureMemory } from "#src/features/signatures/SignatureMemory.ts"
import * as MemoryThoughtSignatures from "#src/features/signatures/MemoryThoughtSignatures.ts"
import { signature, suite } from "#test/suites/ThoughtSignatures.suite.ts"

suite("memory", () => Effect.runPromise(MemoryThoughtSignatures.make))

it("a signature is forgotten when its time is over, and when newer ones need its bytes", () => {
  let now = 0
  const memory = new SignatureMemory(() => now, { ...defaultBounds, bytes: 100, ttlMs: 1_000 })
  memory.put("a", signature("x".repeat(60)))
  memory.put("b", signature("x".repeat(40)))
  expect([memory.get("a"), memory.get("b")].includes(null)).toBe(false)
  memory.put("c", signature("x"))
  expect([memory.get("a"), memory.get("b") === null, memory.get("c") === null]).toEqual([null, false, false])
  // What is replaced gives its bytes back.
  for (let i = 0; i < 10; i++) memory.put("c", signature("x".repeat(50)))
  expect([memory.get("b") === null, memory.get("c") === null]).toEqual([false, false])
  now = 1_000
  expect([memory.get("b"), memory.get("c")]).toEqual([null, null])
})
