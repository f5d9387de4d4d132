import { describe, expect, it } from "vitest"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Masking from "#actors/request/steps/masking.ts"
import { cpuMs } from "#test/support/late.ts"

const CREDENTIAL = "canary_Zk93mQ7xTt51"
const target = { path: "/", headers: [] as ReadonlyArray<string>, connection: null } as Target
const { text } = Masking.of(target, ["authorization", `Bearer ${CREDENTIAL}`])

describe("an upstream's text", () => {
  it.each([
    [`no ${CREDENTIAL} here`, "no [redacted] here"], ["wrong key sk-proj-abc123def456.", "wrong key [redacted]"], ["a sk-learn-pipeline of words", "a sk-learn-pipeline of words"],
    ["Incorrect API key provided: sk-ab***************wxyz", "Incorrect API key provided: [redacted]"], ["key ab12****9z!", "key [redacted]!"], ["a ** b", "a ** b"],
    ["got Bearer abc def", "got [redacted] def"], ["AIzaSyA-abcdefghijkl is no key", "[redacted] is no key"], ["part 93mQ7xTt of it", "part [redacted] of it"], ["a task-oriented flask-like word", "a task-oriented flask-like word"]
  ])("%j is told as %j", (said, told) => {
    expect(text(said)).toBe(told)
  })

  it.each([
    ["letters", "a".repeat(400_000)], ["hyphens", "-".repeat(400_000)], ["prefixes", "sk-".repeat(130_000)], ["prefixes with a break", "sk-a.".repeat(80_000)], ["pairs of stars", "a**".repeat(130_000)],
    ["spaces after a word", "Bearer ".repeat(20_000) + " ".repeat(200_000)], ["digits", "12345678".repeat(50_000)], ["vendor prefixes", "AIza".repeat(100_000)]
  ])("of %s is read in linear time", (_name, long) => {
    expect(cpuMs(() => text(long))).toBeLessThan(500)
  })
})

it("a long credential is looked for in a long text in linear time", () => {
  const long = Array.from({ length: 8_000 }, (_, i) => String.fromCharCode(97 + i % 26, 48 + i % 10)).join("")
  const masking = Masking.of(target, ["x-api-key", long])
  expect(cpuMs(() => masking.text("b1".repeat(130_000)))).toBeLessThan(500)
})
