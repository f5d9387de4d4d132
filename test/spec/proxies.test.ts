/** Behind a reverse proxy on the same machine: who the client is, for every rule that asks for an address. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"
import { PASSWORD } from "#test/support/operator.ts"

const NAME = "gateway.example.com"

let behind: Lab
let untrusting: Lab
beforeAll(async () => {
  [behind, untrusting] = await Promise.all([
    startLab({ environment: { GATEWAY_TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8", GATEWAY_ALLOWED_HOSTS: NAME } }),
    startLab()
  ])
})
afterAll(() => Promise.all([behind.close(), untrusting.close()]))

type Headers = Readonly<Record<string, string>>
const through = (list: string): Headers => ({ host: NAME, "x-forwarded-for": list })
const direct = (list: string): Headers => ({ "x-forwarded-for": list })

const login = (lab: Lab, headers: Headers, password: string) => Http.send(lab.gateway.url, { path: "/api/auth/login", headers, body: { password } })
const metrics = async (lab: Lab, headers: Headers) => (await Http.send(lab.gateway.url, { path: "/metrics", headers })).status
const allowedFrom = async (lab: Lab, ipAllowlist: ReadonlyArray<string>) => {
  const { key } = await lab.gateway.operator.createKey("bound", { ipAllowlist })
  return async (headers: Headers) => (await Http.send(lab.gateway.url, {
    path: "/v1/chat/completions", headers: { ...headers, authorization: `Bearer ${key}` }, body: { model: "lab/echo", messages }
  })).status
}
const lockedIn = async (lab: Lab) =>
  (await lab.gateway.operator.call<ReadonlyArray<{ ip_address: string | null }>>("GET", "/api/compliance/audit-log?action=auth.login.locked")).map((row) => row.ip_address)

describe("a trusted proxy", () => {
  it("names the client of a key's ipAllowlist; what the client itself claims counts for nothing", async () => {
    const call = await allowedFrom(behind, ["203.0.113.0/24"])
    expect(await call(through("203.0.113.9"))).toBe(200)
    expect(await call(through("198.51.100.7, 203.0.113.9, 10.1.1.1"))).toBe(200)
    expect(await call({ host: NAME, forwarded: 'for="203.0.113.9:4711"' })).toBe(200)
    for (const list of ["203.0.113.9, 198.51.100.7", "unknown", "203.0.113.9, nonsense"]) expect([list, await call(through(list))]).toEqual([list, 403])
    expect(await call({ host: NAME, forwarded: "for=203.0.113.9", "x-forwarded-for": "198.51.100.7" })).toBe(403)
    expect(await call({ host: NAME })).toBe(403)
  })

  it("is no way to the metrics", async () => {
    expect(await metrics(behind, {})).toBe(200)
    for (const headers of [through("203.0.113.9"), through("127.0.0.1"), { host: NAME }, { "x-real-ip": "127.0.0.1" }] as ReadonlyArray<Headers>) {
      expect(await metrics(behind, headers)).toBe(403)
    }
  })

  it("lets a guesser lock out its own address only, which hears for how long and is in the audit log at once", async () => {
    const guesser = through("203.0.113.66")
    for (let i = 0; i < 5; i++) expect((await login(behind, guesser, "wrong-guess")).status).toBe(401)
    expect(await lockedIn(behind)).toEqual(["203.0.113.66"])
    const locked = await login(behind, guesser, PASSWORD)
    expect(locked.status).toBe(429)
    expect(Number(locked.headers["retry-after"])).toBeGreaterThan(840)
    expect(locked.text).toContain("try again in 15 minutes")
    expect((await login(behind, through("203.0.113.66, 198.51.100.7"), PASSWORD)).status).toBe(200)
    expect((await login(behind, {}, PASSWORD)).status).toBe(200)
    expect(await lockedIn(behind)).toEqual(["203.0.113.66"])
  })

  it("must call the gateway by a name that is listed", async () => {
    expect((await Http.send(behind.gateway.url, { path: "/v1/models", headers: { host: "evil.example", "x-forwarded-for": "203.0.113.9" } })).status).toBe(421)
  })
})

describe("a proxy on this machine that is not trusted", () => {
  it("makes nobody local: neither for the metrics nor for a key's ipAllowlist", async () => {
    const call = await allowedFrom(untrusting, ["127.0.0.1"])
    expect([await call({}), await metrics(untrusting, {})]).toEqual([200, 200])
    for (const headers of [direct("127.0.0.1"), { forwarded: "for=127.0.0.1" }, { "x-real-ip": "127.0.0.1" }] as ReadonlyArray<Headers>) {
      expect([await call(headers), await metrics(untrusting, headers)]).toEqual([403, 403])
    }
  })

  it("cannot lock out the operator on the machine itself", async () => {
    for (let i = 0; i < 5; i++) expect((await login(untrusting, direct(`203.0.113.${i}`), "wrong-guess")).status).toBe(401)
    expect((await login(untrusting, direct("203.0.113.9"), PASSWORD)).status).toBe(429)
    expect((await login(untrusting, {}, PASSWORD)).status).toBe(200)
    expect(await lockedIn(untrusting)).toEqual([null])
  })
})
