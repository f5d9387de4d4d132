/** Single sign-on by OpenID Connect, over HTTP with an issuer of its own: the whole flow, what is forged, and the password beside it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { errorIn } from "#test/support/lab.ts"
import * as OidcProvider from "#test/support/oidcProvider.ts"
import { PASSWORD } from "#test/support/operator.ts"

const FLAG = "GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN"
let gateway: InProcess
let issuer: OidcProvider.OidcProvider
/** A test's sign-ins come from an address of its own: five failures lock one. */
let address = 0

const redirectUri = () => `http://localhost:${new URL(gateway.url).port}/api/auth/oidc/callback`
const settings = (change: Readonly<Record<string, unknown>>) => gateway.operator.raw("PATCH", "/api/settings", change)

beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_TRUSTED_PROXIES: "127.0.0.1" } })
  issuer = await OidcProvider.start(redirectUri)
})
afterAll(async () => {
  await gateway.close()
  await issuer.close()
})
beforeEach(async () => {
  address++
  Object.assign(issuer, { forgery: {}, description: {}, subject: "person-1" })
  issuer.instead.clear()
  await gateway.operator.raw("PUT", "/api/settings/feature-flags", { key: FLAG })
  const changed = await settings({
    oidcEnabled: true, oidcIssuer: issuer.issuer, oidcClientId: OidcProvider.CLIENT_ID, oidcClientSecret: OidcProvider.CLIENT_SECRET, oidcAllowedSubjects: ["person-1"]
  })
  expect(changed.status, changed.text).toBe(200)
})

const from = () => ({ "x-forwarded-for": `198.51.100.${address}` })
const get = (path: string, headers: Readonly<Record<string, string>> = {}) => Http.send(gateway.url, { path, headers: { ...from(), ...headers } })
const cookieIn = (reply: Http.Reply, name: string): string | null => new RegExp(`(?:^|, )${name}=([^;]*)`).exec(reply.headers["set-cookie"] ?? "")?.[1] ?? null

interface Begun {
  readonly page: string
  readonly cookie: string
}
const begin = async (query = ""): Promise<Begun> => {
  const reply = await get(`/api/auth/oidc/login${query}`)
  expect(reply.status, reply.text).toBe(302)
  return { page: reply.headers["location"] ?? "", cookie: cookieIn(reply, "oidc_state") ?? "" }
}
const comeBack = (url: URL, cookie: string, headers: Readonly<Record<string, string>> = {}) =>
  get(url.pathname + url.search, { cookie: `oidc_state=${cookie}`, ...headers })
const signIn = async (query = ""): Promise<Http.Reply> => {
  const { cookie, page } = await begin(query)
  return comeBack(issuer.consent(page), cookie)
}
const codeOf = (reply: Http.Reply) => [reply.status, errorIn(reply)["code"]]
const statusWith = async (session: string | null) => JSON.parse((await get("/api/auth/status", session === null ? {} : { cookie: `auth_token=${session}` })).text) as Record<string, unknown>
const audit = async (action: string) => (await gateway.operator.call<ReadonlyArray<{ readonly actor: string; readonly details: Readonly<Record<string, unknown>>; readonly ip_address: string }>>(
  "GET", `/api/compliance/audit-log?action=${action}&limit=1`
))[0]
const passwordLogin = () => Http.send(gateway.url, { path: "/api/auth/login", headers: from(), body: { password: PASSWORD } })
const setFlag = (value: string) => gateway.operator.raw("PUT", "/api/settings/feature-flags", { key: FLAG, value })

describe("the flow", () => {
  it("sends the browser to the issuer and back to the dashboard with a session as the password makes it", async () => {
    const begun = await get("/api/auth/oidc/login")
    expect(begun.headers["set-cookie"]).toMatch(/^oidc_state=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
    const page = new URL(begun.headers["location"] ?? "")
    expect([...page.searchParams.keys()].toSorted()).toEqual(["client_id", "code_challenge", "code_challenge_method", "nonce", "redirect_uri", "response_type", "scope", "state"])
    const reply = await comeBack(issuer.consent(page.href), cookieIn(begun, "oidc_state") ?? "")
    expect([reply.status, reply.headers["location"], reply.headers["cache-control"]], reply.text).toEqual([302, "../../../dashboard", "no-store"])
    expect(reply.headers["set-cookie"]).toMatch(/auth_token=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax/)
    expect(cookieIn(reply, "oidc_state")).toBe("")
    const session = cookieIn(reply, "auth_token")
    expect(await statusWith(session)).toEqual({
      authenticated: true, method: "session", singleSignOn: true, passwordLogin: true, requireLogin: true, hasPassword: true, setupComplete: true
    })
    expect(await audit("auth.login.success")).toMatchObject({ details: { method: "oidc", subject: "person-1" }, ip_address: `198.51.100.${address}` })
    // Signing out ends it on the server.
    const cookie = `auth_token=${session}`
    expect((await get("/api/keys", { cookie })).status).toBe(200)
    expect((await Http.send(gateway.url, { path: "/api/auth/logout", method: "POST", headers: { cookie } })).status).toBe(200)
    expect((await get("/api/keys", { cookie })).status).toBe(401)
  })

  it("proves the client by a header, by the form where the issuer takes nothing else, and without a secret by PKCE alone", async () => {
    expect((await signIn()).status).toBe(302)
    const basic = issuer.tokenRequests.at(-1)
    expect([basic?.authorization?.startsWith("Basic "), basic?.form["client_secret"], basic?.form["client_id"]]).toEqual([true, undefined, undefined])
    // Another path: what an issuer says of itself is remembered.
    const other = await OidcProvider.start(redirectUri)
    try {
      other.description = { token_endpoint_auth_methods_supported: ["client_secret_post"] }
      await settings({ oidcIssuer: other.issuer })
      const { cookie, page } = await begin()
      expect((await comeBack(other.consent(page), cookie)).status).toBe(302)
      expect([other.tokenRequests[0]?.authorization, other.tokenRequests[0]?.form["client_secret"]]).toEqual([null, OidcProvider.CLIENT_SECRET])
      await settings({ oidcClientSecret: null })
      const second = await begin()
      expect(codeOf(await comeBack(other.consent(second.page), second.cookie))).toEqual([400, "oidc_refused"])
      expect(Object.keys(other.tokenRequests[1]?.form ?? {}).toSorted()).toEqual(["client_id", "code", "code_verifier", "grant_type", "redirect_uri"])
    } finally {
      await other.close()
    }
  })

  it("behind https the cookie of the sign-in is Secure", async () => {
    const reply = await get("/api/auth/oidc/login", { "x-forwarded-proto": "https" })
    expect(reply.headers["set-cookie"]).toMatch(/; Secure/)
  })

  it("goes back to the place in the dashboard that was asked for, and never out of it", async () => {
    expect((await signIn(`?returnTo=${encodeURIComponent("/dashboard/requests?model=a%2Fb")}`)).headers["location"]).toBe("../../../dashboard/requests?model=a%2Fb")
    for (const out of ["https://evil.example/dashboard", "//evil.example/dashboard", "/\\evil.example/dashboard", "/dashboard/../api/keys", "/dashboards", "dashboard", "/", "javascript:alert(1)"]) {
      const reply = await get(`/api/auth/oidc/login?returnTo=${encodeURIComponent(out)}`)
      expect([out, reply.status, reply.headers["location"], reply.headers["set-cookie"]]).toEqual([out, 400, undefined, undefined])
    }
  })

  it("knows keys that the issuer has just published, and none that it has taken back", async () => {
    const former = issuer.signing
    expect((await signIn()).status).toBe(302)
    await issuer.rotate()
    expect((await signIn()).status).toBe(302)
    issuer.forgery = { key: former }
    expect(codeOf(await signIn())).toEqual([401, "oidc_token_invalid"])
    // Both are published while a rotation lasts, with key ids or without.
    issuer.published = [former, issuer.signing]
    expect((await signIn()).status).toBe(302)
    issuer.forgery = { key: former, withoutKid: true }
    expect((await signIn()).status).toBe(302)
    for (const alg of ["ES256", "PS256", "EdDSA"]) {
      const key = await OidcProvider.makeKey(alg)
      issuer.published = [key]
      issuer.forgery = { key }
      expect([alg, (await signIn()).status]).toEqual([alg, 302])
    }
    await issuer.rotate()
  })

  it("is not offered while it is off, or its issuer or client is missing", async () => {
    await settings({ oidcEnabled: false })
    expect(codeOf(await get("/api/auth/oidc/login"))).toEqual([400, "oidc_off"])
    expect(codeOf(await get("/api/auth/oidc/callback?code=a&state=b"))).toEqual([400, "oidc_off"])
    expect((await statusWith(null))["singleSignOn"]).toBe(false)
    const fieldsOf = async (change: Readonly<Record<string, unknown>>) => {
      const reply = await settings(change)
      return [reply.status, ...(errorIn(reply)["details"] as ReadonlyArray<{ readonly field: string }>).map(({ field }) => field)]
    }
    expect(await fieldsOf({ oidcEnabled: true, oidcIssuer: null, oidcClientId: "" })).toEqual([400, "oidcIssuer", "oidcClientId"])
    for (const wrong of ["login.example.com", "http://login.example.com", "https://user:pass@login.example.com", "https://login.example.com?a=b", "ftp://login.example.com"]) {
      expect([wrong, ...await fieldsOf({ oidcIssuer: wrong })]).toEqual([wrong, 400, "oidcIssuer"])
    }
  })
})

describe("what is forged or replayed is refused, without a session", () => {
  const refused = async (reply: Http.Reply, status: number, code: string) => {
    expect([...codeOf(reply), cookieIn(reply, "auth_token")], reply.text).toEqual([status, code, null])
    expect(reply.text).not.toMatch(/canary/)
  }

  it("a state that this browser did not begin: none, another one, another browser's, a forged cookie", async () => {
    const mine = await begin()
    const other = await begin()
    const back = issuer.consent(mine.page)
    await refused(await get(back.pathname + back.search), 400, "oidc_state_invalid")
    await refused(await comeBack(back, other.cookie), 400, "oidc_state_invalid")
    await refused(await comeBack(back, `${mine.cookie.slice(0, -4)}AAAA`), 400, "oidc_state_invalid")
    await refused(await comeBack(back, "v1.x.y"), 400, "oidc_state_invalid")
    const without = new URL(back)
    without.searchParams.delete("state")
    await refused(await comeBack(without, mine.cookie), 400, "oidc_state_invalid")
    // None of them counted as an attempt, and the sign-in of this browser still stands.
    expect((await comeBack(back, mine.cookie)).status).toBe(302)
  })

  it("a code that was used", async () => {
    const { cookie, page } = await begin()
    const back = issuer.consent(page)
    expect((await comeBack(back, cookie)).status).toBe(302)
    await refused(await comeBack(back, cookie), 400, "oidc_refused")
  })

  it("a code of another sign-in: its PKCE verifier is another one", async () => {
    const mine = await begin()
    const victims = issuer.consent((await begin()).page)
    const mixed = issuer.consent(mine.page)
    mixed.searchParams.set("code", victims.searchParams.get("code") ?? "")
    await refused(await comeBack(mixed, mine.cookie), 400, "oidc_refused")
  })

  const now = () => Math.floor(Date.now() / 1000)
  const forgeries: ReadonlyArray<readonly [string, () => OidcProvider.Forgery]> = [
    ["another nonce", () => ({ claims: { nonce: "x".repeat(43) } })],
    ["no nonce", () => ({ claims: { nonce: undefined } })],
    ["another audience", () => ({ claims: { aud: "another client" } })],
    ["several audiences, made for another", () => ({ claims: { aud: [OidcProvider.CLIENT_ID, "another"], azp: "another" } })],
    ["several audiences, made for no one", () => ({ claims: { aud: [OidcProvider.CLIENT_ID, "another"] } })],
    ["another issuer", () => ({ claims: { iss: "https://evil.example" } })],
    ["expired", () => ({ claims: { exp: now() - 61 } })],
    ["no end", () => ({ claims: { exp: undefined } })],
    ["not valid yet", () => ({ claims: { nbf: now() + 120 } })],
    ["no subject", () => ({ claims: { sub: undefined } })],
    ["an empty subject", () => ({ claims: { sub: "" } })],
    ["alg none", () => ({ alg: "none" })],
    ["alg HS256 with the public key", () => ({ alg: "HS256" })]
  ]
  it.each(forgeries)("an identity token with %s", async (_name, forgery) => {
    issuer.forgery = forgery()
    await refused(await signIn(), 401, "oidc_token_invalid")
    expect(await audit("auth.login.failed")).toMatchObject({ details: { method: "oidc", reason: "token" } })
  })

  it("an identity token of a foreign key, with and without the key id of the issuer's", async () => {
    const foreign = await OidcProvider.makeKey()
    for (const key of [foreign, { ...foreign, kid: issuer.signing.kid }]) {
      issuer.forgery = { key }
      await refused(await signIn(), 401, "oidc_token_invalid")
    }
  })

  it("is not: a token that ended within the leeway, and one whose further audience is said to be ours", async () => {
    issuer.forgery = { claims: { exp: now() - 5 } }
    expect((await signIn()).status).toBe(302)
    issuer.forgery = { claims: { aud: [OidcProvider.CLIENT_ID, "another"], azp: OidcProvider.CLIENT_ID } }
    expect((await signIn()).status).toBe(302)
  })

  it("a person who is not in the list, and anyone while the list is empty", async () => {
    issuer.subject = "person-2"
    const reply = await signIn()
    await refused(reply, 403, "oidc_subject_not_allowed")
    expect(reply.text).toContain("you are 'person-2'")
    expect(await audit("auth.login.failed")).toMatchObject({ details: { method: "oidc", reason: "subject", subject: "person-2" } })
    issuer.subject = "PERSON-1"
    await refused(await signIn(), 403, "oidc_subject_not_allowed")
    issuer.subject = "person-1"
    await settings({ oidcAllowedSubjects: [] })
    await refused(await signIn(), 403, "oidc_subject_not_allowed")
  })

  it("an answer that names another issuer, and one that is an error", async () => {
    const { cookie, page } = await begin()
    const mixed = issuer.consent(page)
    mixed.searchParams.set("iss", "https://evil.example")
    await refused(await comeBack(mixed, cookie), 400, "oidc_state_invalid")
    const denied = issuer.consent(page)
    denied.searchParams.delete("code")
    denied.searchParams.set("error", "access_denied")
    denied.searchParams.set("error_description", "<b>no</b>")
    const reply = await comeBack(denied, cookie)
    await refused(reply, 403, "oidc_denied")
    expect(errorIn(reply)["message"]).toBe("The issuer did not sign you in (access_denied: <b>no</b>)")
  })

  it("a sign-in whose client was changed meanwhile", async () => {
    const { cookie, page } = await begin()
    const back = issuer.consent(page)
    await settings({ oidcClientId: "another client" })
    await refused(await comeBack(back, cookie), 400, "oidc_state_invalid")
  })

  it("five failures lock the address, for the password too, as wrong passwords do", async () => {
    issuer.subject = "person-2"
    for (let i = 0; i < 5; i++) await refused(await signIn(), 403, "oidc_subject_not_allowed")
    issuer.subject = "person-1"
    const locked = await signIn()
    await refused(locked, 429, "login_locked")
    expect(locked.headers["retry-after"]).toBe("900")
    expect((await passwordLogin()).status).toBe(429)
    expect(await audit("auth.login.locked")).toMatchObject({ details: { minutes: 15 }, ip_address: `198.51.100.${address}` })
  })

  it("a browser is told so by a page, which runs nothing", async () => {
    const { cookie, page } = await begin()
    const denied = issuer.consent(page)
    denied.searchParams.delete("code")
    denied.searchParams.set("error", "<script>alert(1)</script>")
    const reply = await comeBack(denied, cookie, { accept: "text/html,*/*" })
    expect([reply.status, reply.headers["content-type"]]).toEqual([403, "text/html; charset=utf-8"])
    expect(reply.headers["content-security-policy"]).toBe("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
    expect(reply.text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;")
    expect(reply.text).not.toContain("<script")
    expect(reply.text).toContain("href=\"../../../dashboard/\"")
  })
})

describe("an issuer that cannot be used", () => {
  /** What an issuer says is remembered by its name, so each of these has a name of its own. */
  const other = async (script: (provider: OidcProvider.OidcProvider) => void) => {
    const provider = await OidcProvider.start(redirectUri)
    try {
      script(provider)
      await settings({ oidcIssuer: provider.issuer })
      const reply = await get("/api/auth/oidc/login")
      return [...codeOf(reply), errorIn(reply)["message"]]
    } finally {
      await provider.close()
    }
  }
  const discovery = "/main/.well-known/openid-configuration"

  it("calls itself something else, names an endpoint without TLS, is no JSON, is too large, or redirects", async () => {
    expect(await other((provider) => { provider.description = { issuer: `${provider.issuer}/` } })).toMatchObject([502, "oidc_issuer_unusable", expect.stringMatching(/calls itself '.*\/main\/', and oidcIssuer is/)])
    expect(await other((provider) => { provider.description = { token_endpoint: "http://login.example.com/token" } })).toEqual([502, "oidc_issuer_unusable", "The issuer names no https token_endpoint"])
    expect(await other((provider) => { provider.description = { authorization_endpoint: "javascript:alert(1)" } })).toEqual([502, "oidc_issuer_unusable", "The issuer names no https authorization_endpoint"])
    expect(await other((provider) => { provider.instead.set(discovery, { status: 200, body: "<html>" }) })).toEqual([502, "oidc_issuer_unusable", "The issuer answered for its openid-configuration with status 200 and no JSON object"])
    expect(await other((provider) => { provider.instead.set(discovery, { status: 200, body: `{"a":"${"x".repeat(300_000)}"}` }) })).toMatchObject([502, "oidc_issuer_unusable", expect.stringContaining("larger than 262144 bytes")])
    expect(await other((provider) => { provider.instead.set(discovery, { status: 302, body: "", headers: { location: `${provider.issuer}/else` } }) })).toEqual([502, "oidc_issuer_unusable", "The issuer answered for its openid-configuration with status 302 and no JSON object"])
    expect(await other((provider) => { provider.instead.set(discovery, { status: 503, body: "{}" }) })).toEqual([502, "oidc_issuer_unreachable", "The issuer answered for its openid-configuration with status 503"])
  })

  it("is asked once, however many sign-ins begin", async () => {
    const provider = await OidcProvider.start(redirectUri)
    try {
      await settings({ oidcIssuer: provider.issuer })
      await Promise.all(Array.from({ length: 20 }, () => begin()))
      expect(provider.asked).toEqual([discovery])
    } finally {
      await provider.close()
    }
  })

  it("is not called at an address that the flags of provider URLs close", async () => {
    await gateway.operator.setFlag("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "false")
    try {
      const reply = await (async () => {
        await settings({ oidcIssuer: "http://127.0.0.1:9/closed" })
        return get("/api/auth/oidc/login")
      })()
      expect(codeOf(reply)).toEqual([400, "url_blocked"])
      expect(errorIn(reply)["message"]).toMatch(/as a oidc URL \(loopback\): .* single sign-on when GATEWAY_ALLOW_LOCAL_PROVIDER_URLS is on/)
    } finally {
      await gateway.operator.raw("PUT", "/api/settings/feature-flags", { key: "GATEWAY_ALLOW_LOCAL_PROVIDER_URLS" })
    }
  })
})

describe("a session by single sign-on", () => {
  const session = async () => ({ cookie: `auth_token=${cookieIn(await signIn(), "auth_token")}` })

  it("ends at once when its person leaves the list, single sign-on is switched off, or the issuer is another one", async () => {
    await settings({ oidcAllowedSubjects: ["person-1", "person-2"] })
    const first = await session()
    issuer.subject = "person-2"
    const second = await session()
    const seen = async () => [(await get("/api/keys", first)).status, (await get("/api/keys", second)).status]
    expect(await seen()).toEqual([200, 200])
    await settings({ oidcAllowedSubjects: ["person-2"] })
    expect(await seen()).toEqual([401, 200])
    await settings({ oidcEnabled: false })
    expect(await seen()).toEqual([401, 401])
    await settings({ oidcEnabled: true, oidcIssuer: "https://login.example.com" })
    expect(await seen()).toEqual([401, 401])
    // The password's sessions are none of its business.
    expect((await gateway.operator.raw("GET", "/api/keys")).status).toBe(200)
  })

  it("is the actor of what it changes", async () => {
    const headers = { ...await session(), ...from() }
    const reply = await Http.send(gateway.url, { method: "PATCH", path: "/api/settings", headers, body: { requestRetry: 3 } })
    expect(reply.status, reply.text).toBe(200)
    expect(await audit("settings.updated")).toMatchObject({ actor: "oidc:person-1" })
  })

  it("ends when the password is changed, as all other sessions do", async () => {
    const cookie = await session()
    const changed = await settings({ newPassword: "another long password", currentPassword: PASSWORD })
    expect(changed.status, changed.text).toBe(200)
    expect((await get("/api/keys", cookie)).status).toBe(401)
    expect((await settings({ newPassword: PASSWORD, currentPassword: "another long password" })).status).toBe(200)
  })
})

describe("the password", () => {
  it("is switched off only while single sign-on is configured and has signed somebody in with this issuer and client", async () => {
    const fresh = await OidcProvider.start(redirectUri)
    try {
      const refusal = async () => {
        const reply = await setFlag("true")
        return [reply.status, (errorIn(reply)["details"] as ReadonlyArray<{ readonly message: string }>)[0]?.message]
      }
      await settings({ oidcEnabled: false })
      expect(await refusal()).toEqual([400, `${FLAG} would leave no way in. Single sign-on is not configured: set oidcEnabled, oidcIssuer and oidcClientId`])
      await settings({ oidcEnabled: true, oidcAllowedSubjects: [] })
      expect(await refusal()).toEqual([400, `${FLAG} would leave no way in. oidcAllowedSubjects is empty, so single sign-on admits no one`])
      await settings({ oidcIssuer: fresh.issuer, oidcAllowedSubjects: ["person-1"] })
      expect(await refusal()).toEqual([400, `${FLAG} would leave no way in. Single sign-on has signed no one in yet with this issuer and client: sign in by it once`])
      const { cookie, page } = await begin()
      expect((await comeBack(fresh.consent(page), cookie)).status).toBe(302)
      expect((await setFlag("true")).status).toBe(200)
      expect(codeOf(await passwordLogin())).toEqual([403, "password_login_disabled"])
      const connect = await Http.send(gateway.url, { path: "/api/cli/connect", headers: from(), body: { password: PASSWORD } })
      expect(codeOf(connect)).toEqual([403, "password_login_disabled"])
      expect(await statusWith(null)).toMatchObject({ singleSignOn: true, passwordLogin: false })
      // While it is off nothing may take the other way in away.
      for (const change of [{ oidcEnabled: false }, { oidcIssuer: "https://login.example.com" }, { oidcClientId: "another" }, { oidcAllowedSubjects: [] }]) {
        const reply = await settings(change)
        expect([change, reply.status], reply.text).toEqual([change, 400])
        expect((errorIn(reply)["details"] as ReadonlyArray<{ readonly field: string }>)[0]?.field).toBe(Object.keys(change)[0])
      }
      const again = await begin()
      expect((await comeBack(fresh.consent(again.page), again.cookie)).status).toBe(302)
      expect((await setFlag("false")).status).toBe(200)
      expect((await passwordLogin()).status).toBe(200)
    } finally {
      await setFlag("false")
      await fresh.close()
    }
  })

  it("stays on while the flag is a variable and single sign-on cannot work yet", async () => {
    const own = await inProcess({ environment: { [FLAG]: "true" } })
    try {
      expect((await Http.send(own.url, { path: "/api/auth/login", body: { password: PASSWORD } })).status).toBe(200)
      expect(own.output()).toContain(`${FLAG} has no effect yet: Single sign-on is not configured`)
      // Nothing is off yet, so it may be configured.
      expect((await own.operator.raw("PATCH", "/api/settings", { oidcEnabled: true, oidcIssuer: issuer.issuer, oidcClientId: OidcProvider.CLIENT_ID })).status).toBe(200)
    } finally {
      await own.close()
    }
  })
})

describe("the client's secret", () => {
  it("is sealed, and neither replies nor the audit nor the log show it", async () => {
    const seen = await gateway.operator.call<Record<string, unknown>>("GET", "/api/settings")
    expect([seen["oidcClientSecretSet"], seen["oidcClientSecret"], seen["oidcProof"], seen["oidcIssuer"]]).toEqual([true, undefined, undefined, issuer.issuer])
    const entries = await gateway.operator.raw("GET", "/api/compliance/audit-log?limit=500")
    for (const text of [JSON.stringify(seen), entries.text, gateway.output()]) expect(text).not.toMatch(/canary/)
  })
})
