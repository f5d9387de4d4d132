/** The pure parts of single sign-on: where a browser goes afterwards, what the settings allow, what an issuer says, and the sealed sign-in. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Issuer from "#schemas/api/issuer.ts"
import * as Metadata from "#src/features/oidc/metadata.ts"
import * as Pending from "#src/features/oidc/pending.ts"
import * as ReturnPath from "#src/features/oidc/returnPath.ts"
import * as SingleSignOn from "#src/management/authentication/singleSignOn.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"

describe("the place after a sign-in", () => {
  const callback = "https://gateway.example/a/b/api/auth/oidc/callback"
  const Part = Schema.Literals(["/", "\\", "..", ".", "%2e%2e", "%2f", "dashboard", "/dashboard", "//", "evil.example", "https:", "@", "?", "#", "\t", "\n", "\0", ":", "é", "keys"])
  const asked = { begin: Arbitrary.schema(Schema.Literals(["", "/", "/dashboard", "/dashboard/"])), parts: Arbitrary.schema(Schema.Array(Schema.Union([Part, Schema.String])).check(Schema.isMaxLength(8))) }

  it.prop("is in the dashboard of this gateway, whatever is asked for", asked, ({ begin, parts }) => {
    const place = ReturnPath.read(begin + parts.join(""))
    if (place === null) return
    const url = new URL(ReturnPath.locationOf(place), callback)
    assert.strictEqual(url.origin, "https://gateway.example")
    assert.match(url.pathname, /^\/a\/b\/dashboard(?:\/|$)/)
    assert.match(place, /^[\x21-\x7e]+$/)
  }, { arbitrary: { runs: 5_000 } })

  it("keeps path and query of every place of the dashboard", () => {
    for (const place of ["/dashboard", "/dashboard/", "/dashboard/keys", "/dashboard/requests/r-1?model=a%2Fb&from=2"]) assert.strictEqual(ReturnPath.read(place), place)
    assert.isNull(ReturnPath.read(`/dashboard/${"x".repeat(500)}`))
  })
})

describe("the settings", () => {
  const whole = { oidcEnabled: true, oidcIssuer: "https://login.example", oidcClientId: "gateway", oidcAllowedSubjects: ["a"], [SingleSignOn.PROOF]: { issuer: "https://login.example", clientId: "gateway" } }
  const opt = Schema.optionalKey
  const Stored = Schema.Struct({
    oidcEnabled: opt(Schema.Boolean), oidcIssuer: opt(Schema.NullOr(Schema.Literals(["https://login.example", "https://other.example", ""]))),
    oidcClientId: opt(Schema.NullOr(Schema.Literals(["gateway", "other", ""]))), oidcAllowedSubjects: opt(Schema.NullOr(Schema.Array(Schema.Literals(["a", "b"])).check(Schema.isMaxLength(2)))),
    [SingleSignOn.PROOF]: opt(Schema.NullOr(Schema.Struct({ issuer: Schema.Literals(["https://login.example", "https://other.example"]), clientId: Schema.Literals(["gateway", "other"]) })))
  })
  const stored = Arbitrary.schema(Stored)
  const of = (record: object): ReadonlyMap<string, unknown> => new Map(Object.entries(record))

  it("are whole", () => {
    assert.isTrue(SingleSignOn.admits(of(whole), { issuer: "https://login.example", subject: "a" }))
    assert.deepStrictEqual([true, false].map((isFlagOn) => SingleSignOn.isPasswordOff(of(whole), isFlagOn)), [true, false])
  })

  it.prop("admit by the issuer's exact name and the exact subject alone, and no one by an empty list", { record: stored, subject: Arbitrary.schema(Schema.Literals(["a", "b", "A", "", "a "])) }, ({ record, subject }) => {
    const admitted = SingleSignOn.admits(of(record), { issuer: "https://login.example", subject })
    const named: ReadonlyArray<string> = record.oidcAllowedSubjects ?? []
    const right = record.oidcEnabled === true && record.oidcIssuer === "https://login.example" && (record.oidcClientId ?? "") !== "" && named.includes(subject)
    assert.strictEqual(admitted, right)
  }, { arbitrary: { runs: 1_000 } })

  it.prop("never leave a gateway without a way in: the password is off only where single sign-on has worked, and no change then breaks it", { loose: stored, change: stored, isWhole: Arbitrary.schema(Schema.Boolean) }, ({ change, isWhole, loose }) => {
    const before: typeof Stored.Type = isWhole ? whole as typeof Stored.Type : loose
    const off = SingleSignOn.isPasswordOff(of(before), true)
    if (off) assert.deepStrictEqual(SingleSignOn.proofOf(SingleSignOn.clientIn(of(before))!), before[SingleSignOn.PROOF])
    const { [SingleSignOn.PROOF]: _proof, ...given } = change
    const after = of({ ...before, ...given })
    if (off && SingleSignOn.issuesOf(of(before), after, Object.keys(given), true).length === 0) assert.isTrue(SingleSignOn.isPasswordOff(after, true))
  }, { arbitrary: { runs: 2_000 } })
})

describe("an issuer's description", () => {
  const issuer = "https://login.example/realms/main"
  const right = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` }

  it("is found below the issuer's path, with or without a slash at its end", () => {
    for (const name of [issuer, `${issuer}/`]) assert.strictEqual(Issuer.discoveryOf(name), `${issuer}/.well-known/openid-configuration`)
  })

  it("is read, and says how the client's secret travels", () => {
    const read = { issuer, authorizationEndpoint: `${issuer}/auth`, tokenEndpoint: `${issuer}/token`, jwksUri: `${issuer}/keys` }
    assert.deepStrictEqual(Metadata.read(right, issuer), { ...read, secretIn: "basic" })
    const withMethods = (...methods: ReadonlyArray<string>) => Metadata.read({ ...right, token_endpoint_auth_methods_supported: methods }, issuer)
    assert.deepStrictEqual(withMethods("client_secret_post", "client_secret_basic"), { ...read, secretIn: "basic" })
    assert.deepStrictEqual(withMethods("client_secret_post", "private_key_jwt"), { ...read, secretIn: "form" })
  })

  it("of an issuer with TLS names no endpoint without it, not even on this machine", () => {
    for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"]) {
      for (const value of ["http://127.0.0.1/x", "http://login.example/x", "/x", "", undefined, 1, "https://user:word@login.example/"]) {
        assert.strictEqual(Metadata.read({ ...right, [name]: value }, issuer), `names no https ${name}`)
      }
    }
  })
})

describe("a sign-in in the browser's cookie", () => {
  const secrets = Sealer.make({ current: Redacted.make("test master secret 0123456789"), previous: [] })
  const pending: Pending.Pending = { state: "s", nonce: "n", verifier: "v", issuer: "https://login.example", clientId: "c", returnTo: "/dashboard", expiresAt: 1_000 }

  it("is opened by each node with the same master key, until its time is over", () => {
    const sealed = Pending.seal(secrets, pending)
    const other = Sealer.make({ current: Redacted.make("test master secret 0123456789"), previous: [] })
    assert.deepStrictEqual(Pending.open(other, sealed, 999), pending)
    assert.isNull(Pending.open(other, sealed, 1_000))
    assert.isNull(Pending.open(Sealer.make({ current: Redacted.make("another master secret 012345"), previous: [] }), sealed, 999))
    for (const secret of ["\"s\"", "\"n\"", "\"v\""]) assert.notInclude(Buffer.from(sealed, "base64url").toString("latin1"), secret)
  })

  it("is nothing that was sealed for another purpose, or altered anywhere", () => {
    const sealed = Pending.seal(secrets, pending)
    assert.isNull(Pending.open(secrets, secrets.seal(Redacted.make(JSON.stringify(pending)), "webhook:1:url"), 999))
    assert.isNull(Pending.open(secrets, undefined, 999))
    assert.isNull(Pending.open(secrets, "x".repeat(10_000), 999))
    for (let at = 0; at < sealed.length; at++) {
      for (const letter of ["A", "B", ".", "_"]) {
        const altered = sealed.slice(0, at) + letter + sealed.slice(at + 1)
        // The last letter of a part may have unused bits.
        if (altered !== sealed && Pending.open(secrets, altered, 999) !== null) assert.include([".", undefined], sealed[at + 1])
      }
    }
  })

  it("fits a cookie with the longest issuer, client and place", () => {
    const longest = { ...pending, state: "s".repeat(43), nonce: "n".repeat(43), verifier: "v".repeat(43), issuer: "i".repeat(500), clientId: "c".repeat(500), returnTo: "r".repeat(500) }
    assert.isBelow(Pending.seal(secrets, longest).length, 4_000)
  })
})
