import { assert, describe, it } from "@effect/vitest"
import { builtin } from "#src/providers/Registry.ts"
import { makeComboStep } from "#src/routing/combos/resolve.ts"
import { makeResolver } from "#src/routing/models/resolveModel.ts"
import { combo, comboMapping } from "#test/suites/records.ts"

const combos = [
  combo({ id: "1", name: "fast" }), combo({ id: "2", name: "gpt-4o" }), combo({ id: "3", name: "combo/odd" }), combo({ id: "4", name: "odd" }),
  combo({ id: "5", name: "off", isActive: false }), combo({ id: "6", name: "hidden", isHidden: true })
]
const mappings = [
  comboMapping({ id: "m0", pattern: "*", comboId: "1", enabled: false }), comboMapping({ id: "m1", pattern: "*", comboId: "5" }),
  comboMapping({ id: "m2", pattern: "Claude-?*", comboId: "1" }), comboMapping({ id: "m3", pattern: "claude-*", comboId: "6" }),
  comboMapping({ id: "m4", pattern: "combo/mapped", comboId: "6" })
]
const resolve = makeResolver({
  registry: builtin, nodes: [], aliases: new Map([["best", "fast"], ["claude-alias", "openai/gpt-4o"]]), wildcardAliases: [], customModels: [],
  activeProviders: new Set(["openai"]), simulatorCallable: true, noThinkingAliases: true
}, [makeComboStep(combos, mappings)])

const via = (id: string) => {
  const found = resolve(id)
  return found._tag === "Combo" ? `${found.combo.name} by ${found.via}` : found._tag === "Resolved" ? found.id : found.message
}

describe("combo names in resolution", () => {
  it("are exact name, then combo/<name>, then mappings, in front of aliases and models", () => {
    assert.strictEqual(via("fast"), "fast by name")
    assert.strictEqual(via("gpt-4o"), "gpt-4o by name")
    assert.strictEqual(via("openai/gpt-4o"), "openai/gpt-4o")
    assert.strictEqual(via("combo/fast"), "fast by prefix")
    assert.strictEqual(via("combo/odd"), "combo/odd by name")
    assert.strictEqual(via("combo/mapped"), "hidden by mapping")
    assert.strictEqual(via("claude-alias"), "fast by mapping")
    assert.strictEqual(via("best"), "fast by name")
    assert.strictEqual(via("Fast").includes("was not found"), true)
  })

  it("patterns match the whole id without regard to case, the first in order wins", () => {
    assert.strictEqual(via("CLAUDE-9"), "fast by mapping")
    assert.strictEqual(via("claude-"), "hidden by mapping")
    assert.isFalse(via("my-claude-9").includes("by mapping"))
  })

  it("inactive combos are none, hidden ones can be asked for", () => {
    assert.strictEqual(via("hidden"), "hidden by name")
    assert.isFalse(via("off").includes(" by "))
    assert.include(via("combo/off"), "Combo 'off' was not found or is inactive")
  })

  it("keep what a variant of the id asked for", () => {
    const found = resolve("no-think/fast")
    assert.isTrue(found._tag === "Combo" && found.noThinking)
  })
})
