import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as ApiKeySecret from "#src/platform/secrets/apiKeySecret.ts"

describe("ApiKeySecret", () => {
  it("an API key is sk- and 32 random characters; what is stored does not give it away", () => {
    const made = ApiKeySecret.generateApiKey()
    const secret = Redacted.value(made.secret)
    assert.match(secret, /^sk-[\w-]{32}$/)
    assert.deepStrictEqual([made.prefix, made.suffix], [secret.slice(0, 8), secret.slice(-4)])
    assert.strictEqual(made.hash, ApiKeySecret.hash(secret))
    assert.match(made.hash, /^[0-9a-f]{64}$/)
    assert.notInclude(JSON.stringify(made), secret)
  })

  it("an access token is gwa_live_ and 32 random characters", () => {
    const made = ApiKeySecret.generateAccessToken()
    assert.match(Redacted.value(made.secret), /^gwa_live_[\w-]{32}$/)
    assert.match(made.prefix, /^gwa_live_[\w-]{3}$/)
  })

  it("no two are the same", () => {
    const secrets = Array.from({ length: 1_000 }, () => Redacted.value(ApiKeySecret.generateApiKey().secret))
    assert.strictEqual(new Set(secrets).size, 1_000)
  })
})
