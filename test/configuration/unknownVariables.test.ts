import { describe as group, expect, it } from "vitest"
import { describe, unknownVariables } from "#src/bootstrap/unknownVariables.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"

const found = (...names: ReadonlyArray<string>) =>
  unknownVariables(Object.fromEntries(names.map((name) => [name, "1"])), builtin.all, new Set()).map(({ meant, name }) => [name, meant])

group("variables that nothing reads", () => {
  it.each([
    ["GATEWAY_MAX_ATTEMPT", "GATEWAY_MAX_ATTEMPTS"],
    ["GATEWAY_WORKERS_", "GATEWAY_WORKERS"],
    ["gateway_workers", "GATEWAY_WORKERS"],
    ["REQUIRE_APIKEY", "REQUIRE_API_KEY"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["OPENAI_APIKEY", "OPENAI_API_KEY"],
    // Both slips stand before all that is right.
    ["XXQUIRE_API_KEY", "REQUIRE_API_KEY"],
    ["TABASE_URL", "DATABASE_URL"],
    ["STREAM_IDLE_TIMEOUT", "STREAM_IDLE_TIMEOUT_MS"]
  ])("%s was meant as %s", (name, meant) => {
    expect(found(name)).toEqual([[name, meant]])
  })

  it("names what begins like ours and resembles nothing", () => {
    expect(found("GATEWAY_FLUX_CAPACITOR")).toEqual([["GATEWAY_FLUX_CAPACITOR", null]])
    expect(describe({ name: "GATEWAY_FLUX_CAPACITOR", meant: null })).toContain("docs/settings.md")
  })

  it("leaves alone what it knows, and what other programs read", () => {
    expect(found(...Settings.names, "GATEWAY_TEST_SEED")).toEqual([])
    expect(found("PATH", "HOME", "HOSTNAME", "SHELL", "LANG", "TERM", "NODE_OPTIONS", "NODE_ENV", "npm_config_cache", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK",
      "PGHOST", "POSTGRES_PASSWORD", "LOG_FILE", "HTTP_PROXY", "KUBERNETES_SERVICE_HOST", "INVOCATION_ID")).toEqual([])
  })
})
