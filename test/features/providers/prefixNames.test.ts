/** Names of a node's prefix in stored values: which are renamed, and which only look alike. Pure. */
import { describe, expect, it } from "vitest"
import * as PrefixNames from "#src/features/providers/nodes/prefixNames.ts"

const renaming = { from: "cellar", to: "attic" }

describe("a name of a prefix", () => {
  it.each([
    ["cellar/m", "attic/m"], ["cellar/vendor/m", "attic/vendor/m"], ["no-think/cellar/m", "no-think/attic/m"],
    ["claude-3-gateway-no-thinking/cellar/m", "claude-3-gateway-no-thinking/attic/m"], ["qtSd/team/cellar/m", "qtSd/team/attic/m"],
    ["no-think/qtSd/team/cellar/m", "no-think/qtSd/team/attic/m"],
    // None of these is one.
    ["cellar", "cellar"], ["cellars/m", "cellars/m"], ["other/cellar/m", "other/cellar/m"], ["qtSd/cellar/openai/m", "qtSd/cellar/openai/m"], ["Cellar/m", "Cellar/m"], ["", ""]
  ])("in the model id '%s' becomes '%s'", (id, renamed) => {
    expect(PrefixNames.model(renaming, id)).toBe(renamed)
  })

  it.each([["cellar/*", "attic/*"], ["CELLAR/m?", "attic/m?"], ["cel*/m", "cel*/m"], ["*", "*"]])("in the pattern '%s' becomes '%s'", (pattern, renamed) => {
    expect(PrefixNames.pattern(renaming, pattern)).toBe(renamed)
  })

  it("is renamed among the names of members, too; a value without it is the same value", () => {
    const stored = { degradationMap: { "cellar/a": "cellar/b", "other/a": "other/b" }, detectionPatterns: ["cellar/x"] }
    expect(PrefixNames.document(renaming, "setting", "backgroundDegradation", stored))
      .toEqual({ degradationMap: { "attic/a": "attic/b", "other/a": "other/b" }, detectionPatterns: ["cellar/x"] })
    const hostile: unknown = JSON.parse("{\"degradationMap\":{\"__proto__\":\"other/a\",\"cellar/a\":\"other/b\"}}")
    const made = PrefixNames.document(renaming, "setting", "backgroundDegradation", hostile) as { degradationMap: object }
    expect(Object.entries(made.degradationMap)).toEqual([["__proto__", "other/a"], ["attic/a", "other/b"]])
    for (const value of [{ degradationMap: { "a/b": "c/d" } }, null, 7, "cellar/m", [], { degradationMap: null }]) {
      expect(PrefixNames.document(renaming, "setting", "backgroundDegradation", value)).toBe(value)
    }
    expect(PrefixNames.document(renaming, "setting", "systemPrompt", { prompt: "cellar/m" })).toEqual({ prompt: "cellar/m" })
  })
})
