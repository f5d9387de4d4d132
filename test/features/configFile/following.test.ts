/** What a gateway takes of another gateway's declarations. */
import { assert, describe, it } from "@effect/vitest"
import { follow } from "#src/features/configFile/following.ts"

describe("what is taken of another gateway", () => {
  const environment = { GATEWAY_SYNC_MAIN: "sk-main", GATEWAY_SYNC_EMPTY: "", INITIAL_PASSWORD: "hunter2", GATEWAY_SECRET: "s" }

  it("reads variables of its own prefix, and no other", () => {
    const { content, environment: open, waiting } = follow({
      providers: {
        main: { provider: "openai", apiKey: "${MAIN}" }, thief: { provider: "openai", apiKey: "${INITIAL_PASSWORD}" },
        deep: { provider: "openai", apiKey: "x", providerSpecificData: { baseUrl: "https://x.test/${GATEWAY_SECRET}" } },
        empty: { provider: "openai", apiKey: "${EMPTY}" }, built: { provider: "openai", apiKey: "${constructor}" }, plain: { provider: "openai", apiKey: "$${MAIN}" }
      }
    }, environment)
    assert.deepStrictEqual({ ...open }, { MAIN: "sk-main" })
    assert.isUndefined(open["constructor"])
    assert.deepStrictEqual(Object.keys(content["providers"] ?? {}), ["main", "plain"])
    assert.deepStrictEqual(waiting, [
      { kind: "connection", name: "thief", message: "Set GATEWAY_SYNC_INITIAL_PASSWORD here" }, { kind: "connection", name: "deep", message: "Set GATEWAY_SYNC_GATEWAY_SECRET here" },
      { kind: "connection", name: "empty", message: "Set GATEWAY_SYNC_EMPTY here" }, { kind: "connection", name: "built", message: "Set GATEWAY_SYNC_constructor here" }
    ])
  })

  it("is no flag, no key whose value the other one chose, and no key that manages", () => {
    const { content, waiting } = follow({
      flags: { REQUIRE_API_KEY: false },
      keys: {
        ours: { key: "${MAIN}", scopes: ["self:usage"] }, chosen: { key: "sk-that-the-other-one-knows" }, half: { key: "sk-${MAIN}" }, none: {},
        admin: { key: "${MAIN}", scopes: ["admin"] }, manager: { key: "${MAIN}", scopes: ["manage"] }
      }
    }, environment)
    assert.deepStrictEqual(content, { keys: { ours: { key: "${MAIN}", scopes: ["self:usage"] } } })
    assert.deepStrictEqual(waiting.map(({ message, name }) => [name, message]), [
      ["chosen", "A key of another gateway needs its value in a variable"], ["half", "A key of another gateway needs its value in a variable"],
      ["none", "A key of another gateway needs its value in a variable"], ["admin", "A key that manages is not taken from another gateway"],
      ["manager", "A key that manages is not taken from another gateway"]
    ])
  })
})
