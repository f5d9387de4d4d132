import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import { ComboConfig } from "#schemas/records/Combo.ts"
import { builtIn, makeConfigs, readLayer } from "#src/routing/combos/config.ts"
import { combo } from "#test/suites/records.ts"

const openai = { provider: "openai", providerAlias: "oa" }
const configs = (settings: Readonly<Record<string, unknown>>) => makeConfigs(new Map(Object.entries(settings)))

describe("the cascade of configurations", () => {
  it("is built-in, comboDefaults, provider override, combo: the last that speaks wins", () => {
    const configOf = configs({
      comboDefaults: { maxRetries: 2, retryDelayMs: 2, fallbackDelayMs: 2 },
      providerOverrides: { oa: { retryDelayMs: 3, fallbackDelayMs: 3 }, other: { maxRetries: 9 } }
    })
    const own = combo({ config: { fallbackDelayMs: 4 } })
    assert.deepInclude(configOf(own, openai), { maxRetries: 2, retryDelayMs: 3, fallbackDelayMs: 4, setRetryDelayMs: 2_000 })
    assert.deepInclude(configOf(own), { maxRetries: 2, retryDelayMs: 2, fallbackDelayMs: 4 })
  })

  it("throttles nothing by itself", () => {
    assert.strictEqual(configs({})(combo()).concurrencyPerModel, 0)
  })

  it("lays grouped keys member by member", () => {
    const config = configs({ comboDefaults: { fusionTuning: { minPanel: 3 } } })(combo({ config: { fusionTuning: { stragglerGraceMs: 1 } } }))
    assert.deepStrictEqual(config.fusionTuning, { minPanel: 3, stragglerGraceMs: 1, panelHardTimeoutMs: 90_000 })
  })

  it("takes the sticky limit of the settings, and reads 0 as 1", () => {
    assert.strictEqual(configs({})(combo()).stickyRoundRobinLimit, 3)
    assert.strictEqual(configs({ stickyRoundRobinLimit: 8 })(combo()).stickyRoundRobinLimit, 8)
    assert.strictEqual(configs({ stickyRoundRobinLimit: 8 })(combo({ config: { stickyRoundRobinLimit: 0 } })).stickyRoundRobinLimit, 1)
  })

  it("switches the latency optimizations on for whoever sets one, unless it is said otherwise", () => {
    const of = (config: ComboConfig) => configs({})(combo({ config })).zeroLatencyOptimizationsEnabled
    assert.deepStrictEqual([of({}), of({ hedging: true }), of({ predictiveTtftMs: 1 }), of({ fallbackCompressionMode: "lite" })], [false, true, true, true])
    assert.isFalse(of({ hedging: true, zeroLatencyOptimizationsEnabled: false }))
  })

  it("drops a stored key that is not legal and keeps the others", () => {
    assert.deepStrictEqual(readLayer({ maxRetries: 99, retryDelayMs: 5, nobody: 1, hedging: "yes" }), { retryDelayMs: 5 })
    for (const layer of [null, 1, "x", [], undefined]) assert.deepStrictEqual(readLayer(layer), {})
  })

  it.prop("any legal layer is read as it is, and every default stands where nothing was said", { layer: Arbitrary.schema(ComboConfig) }, ({ layer }) => {
    assert.deepStrictEqual(readLayer(layer), layer)
    const config = configs({ comboDefaults: layer })(combo())
    for (const key of Object.keys(builtIn)) assert.isDefined(Reflect.get(config, key), key)
    for (const [key, value] of Object.entries(builtIn)) {
      if (!Object.hasOwn(layer, key) && key !== "zeroLatencyOptimizationsEnabled") assert.deepStrictEqual(Reflect.get(config, key), value)
    }
  })
})
