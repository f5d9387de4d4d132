import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SealBroken } from "#actors/ports/Secrets.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"

const sealer = (current: string, ...previous: ReadonlyArray<string>) =>
  Sealer.make({ current: Redacted.make(current), previous: previous.map((secret) => Redacted.make(secret)) })

const [old, fresh] = ["the old master secret", "the new master secret"]

/** The SealBroken that opening throws. */
const breaking = (secrets: ReturnType<typeof sealer>, sealed: string, context: string): SealBroken => {
  try {
    secrets.openUnsafe(sealed, context)
  } catch (error) {
    if (error instanceof SealBroken) return error
    throw error
  }
  throw new Error("it opened")
}

describe("Sealer", () => {
  it.prop("what is sealed is opened, in its context only", [Schema.String, Schema.String], ([value, context]) => {
    const secrets = sealer(fresh)
    const sealed = secrets.seal(Redacted.make(value), context)
    assert.match(sealed, /^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]*$/)
    assert.strictEqual(Redacted.value(secrets.openUnsafe(sealed, context)), value.toWellFormed())
    breaking(secrets, sealed, `${context}x`)
  })

  it("every sealing is different, and any altered character breaks it", () => {
    const secrets = sealer(fresh)
    const sealed = secrets.seal(Redacted.make("value"), "c")
    assert.notStrictEqual(secrets.seal(Redacted.make("value"), "c"), sealed)
    for (let index = 0; index < sealed.length; index++) {
      const swapped = sealed[index] === "A" ? "B" : "A"
      const altered = sealed.slice(0, index) + swapped + sealed.slice(index + 1)
      // The last character of a base64url part may carry unused bits: then the bytes are the same.
      const parts = (text: string) => text.split(".").map((part, at) => at < 2 ? part : Buffer.from(part, "base64url").toString("hex")).join(".")
      if (parts(altered) !== parts(sealed)) breaking(secrets, altered, "c")
    }
    for (const wrong of ["", "v1", "v2" + sealed.slice(2), `${sealed}.x`, "v1....", sealed.slice(0, -1)]) breaking(secrets, wrong, "c")
  })

  it("a previous key opens and never seals; a stale value is told from a current one", () => {
    const [before, after] = [sealer(old), sealer(fresh, old)]
    const sealed = before.seal(Redacted.make("value"), "c")
    assert.notStrictEqual(before.currentKeyId, after.currentKeyId)
    assert.strictEqual(Redacted.value(after.openUnsafe(sealed, "c")), "value")
    assert.deepStrictEqual([before.isStale(sealed), after.isStale(sealed)], [false, true])
    assert.isFalse(after.isStale(after.seal(Redacted.make("value"), "c")))
  })

  it("a value of an unknown key names the key and the knob, never the value or a secret", () => {
    const sealed = sealer(old).seal(Redacted.make("canary"), "connection:1:apiKey")
    const error = breaking(sealer(fresh), sealed, "connection:1:apiKey")
    assert.strictEqual(error.keyId, sealer(old).currentKeyId)
    for (const part of [error.keyId, "connection:1:apiKey", "GATEWAY_SECRET_PREVIOUS"]) assert.include(error.message, part)
    for (const part of ["canary", old, fresh, sealed]) assert.notInclude(error.message, part)
  })

  it("macs differ by purpose, value and master secret, and are stable", () => {
    const secrets = sealer(fresh)
    assert.strictEqual(secrets.mac("lease", "a"), sealer(fresh, old).mac("lease", "a"))
    const all = [secrets.mac("lease", "a"), secrets.mac("lease", "b"), secrets.mac("cookie", "a"), sealer(old).mac("lease", "a")]
    assert.strictEqual(new Set(all).size, 4)
    assert.match(all[0] ?? "", /^[0-9a-f]{64}$/)
  })
})
