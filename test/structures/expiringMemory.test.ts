import { expect, it } from "vitest"
import { ExpiringMemory } from "#src/platform/structures/ExpiringMemory.ts"

it("a value is forgotten when its time is over, and when newer ones need its room", () => {
  let now = 0
  const memory = new ExpiringMemory<string>(() => now, { entries: 3, size: 100, each: 90, ttlMs: 1_000 }, (value) => value.length)
  const [sixty, forty, fifty] = [60, 40, 50].map((size) => "x".repeat(size)) as [string, string, string]
  expect([memory.put("a", sixty), memory.put("b", forty), memory.get("a"), memory.get("b")]).toEqual([true, true, sixty, forty])
  memory.put("c", "x")
  expect([memory.get("a"), memory.get("b"), memory.get("c")]).toEqual([null, forty, "x"])
  // What is replaced gives its room back.
  for (let i = 0; i < 10; i++) memory.put("c", fifty)
  expect([memory.get("b"), memory.get("c")]).toEqual([forty, fifty])
  expect([memory.put("d", "x".repeat(91)), memory.get("d"), memory.get("b")]).toEqual([false, null, forty])
  for (const key of ["d", "e"]) memory.put(key, "x")
  expect([memory.get("b"), memory.get("c"), memory.get("e")]).toEqual([null, fifty, "x"])
  now = 1_000
  expect([memory.get("c"), memory.get("e")]).toEqual([null, null])
})

it("lists the newest first, and gives back the room of what is forgotten", () => {
  let now = 0
  const memory = new ExpiringMemory<string>(() => now, { entries: 9, size: 10, each: 9, ttlMs: 1_000 }, (value) => value.length)
  memory.put("a", "old")
  now = 500
  memory.put("b", "one")
  memory.put("c", "two")
  expect(memory.list()).toEqual([{ value: "two", until: 1_500 }, { value: "one", until: 1_500 }, { value: "old", until: 1_000 }])
  now = 1_000
  expect(memory.list().map(({ value }) => value)).toEqual(["two", "one"])
  expect([memory.forget((value) => value !== "one"), memory.get("b"), memory.get("c")]).toEqual([2, "one", null])
  memory.put("d", "sevenxx")
  expect([memory.get("b"), memory.get("d")]).toEqual(["one", "sevenxx"])
})
