/** GET, POST /api/policies: who is locked out, and their release. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { PASSWORD } from "#test/support/operator.ts"

const PATH = "/api/policies"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { GATEWAY_TRUSTED_PROXIES: "127.0.0.1" } })
})
afterAll(() => lab.close())

const locked = async () => (await lab.gateway.operator.call<{ lockedIdentifiers: ReadonlyArray<Record<string, unknown>> }>("GET", PATH)).lockedIdentifiers
const unlock = (identifier: string) => lab.gateway.operator.raw("POST", PATH, { action: "unlock", identifier })
const signIn = async (address: string, password: string) =>
  (await Http.send(lab.gateway.url, { path: "/api/auth/login", body: { password }, headers: { "x-forwarded-for": address } })).status
const lockOut = async (address: string) => {
  const statuses = new Array<number>()
  for (let attempt = 0; attempt < 6; attempt++) statuses.push(await signIn(address, "wrong"))
  return statuses
}
const audited = async (action: string) => await lab.gateway.operator.call<ReadonlyArray<Record<string, unknown>>>("GET", `/api/compliance/audit-log?action=${action}&limit=1`)

describe("locks", () => {
  it("of sign-ins are listed with their end, and an unlocked address signs in at once", async () => {
    expect(await locked()).toEqual([])
    const from = Date.now()
    expect(await lockOut("203.0.113.9")).toEqual([401, 401, 401, 401, 401, 429])
    expect(await lockOut("2001:db8:1:2::7")).toEqual([401, 401, 401, 401, 401, 429])
    const all = await locked()
    expect(all).toEqual([
      { identifier: "203.0.113.9", kind: "sign-in", name: null, lockedUntil: all[0]?.["lockedUntil"] },
      { identifier: "2001:db8:1:2", kind: "sign-in", name: null, lockedUntil: all[1]?.["lockedUntil"] }
    ])
    for (const { lockedUntil } of all) {
      const ends = Date.parse(String(lockedUntil))
      expect(ends >= from + 15 * 60_000 && ends <= Date.now() + 15 * 60_000).toBe(true)
    }
    expect(await signIn("203.0.113.9", PASSWORD)).toBe(429)
    const reply = await unlock("203.0.113.9")
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { success: true, action: "unlocked", identifier: "203.0.113.9" }])
    expect(await signIn("203.0.113.9", PASSWORD)).toBe(200)
    expect((await locked()).map(({ identifier }) => identifier)).toEqual(["2001:db8:1:2"])
    expect(await audited("lock.cleared")).toMatchObject([{ target: "203.0.113.9", resource_type: "session" }])
    expect((await unlock("2001:db8:1:2")).status).toBe(200)
    expect(await locked()).toEqual([])
  })

  it("of keys are their bans: one that is unlocked serves at once, and a revoked one is not listed", async () => {
    const { operator } = lab.gateway
    const { id, key } = await operator.createKey("banned", { isBanned: true })
    const ask = async () => (await lab.chat({ model: "echo" }, { authorization: `Bearer ${key}` })).status
    expect(await ask()).toBe(403)
    expect(await locked()).toEqual([{ identifier: id, kind: "key", name: "banned", lockedUntil: null }])
    expect((await unlock(id)).status).toBe(200)
    expect([await ask(), await locked()]).toEqual([200, []])
    expect(await audited("lock.cleared")).toMatchObject([{ target: id, resource_type: "apikey" }])
  })

  it("that are not there are told, as is another action", async () => {
    const { id } = await lab.gateway.operator.createKey("free")
    for (const identifier of ["203.0.113.1", id]) {
      const reply = await unlock(identifier)
      expect([reply.status, errorIn(reply)["message"]]).toEqual([404, "Nothing of this identifier is locked: GET /api/policies lists what is"])
    }
    const reply = await lab.gateway.operator.raw("POST", PATH, { action: "lock", identifier: "x" })
    expect([reply.status, errorIn(reply)["details"]]).toMatchObject([400, [{ field: "action" }]])
  })

  it("are ended by a session or an administrator only", async () => {
    const { key } = await lab.gateway.operator.createKey("manages", { scopes: ["manage"] })
    const post = async (headers: Readonly<Record<string, string>>) =>
      (await Http.send(lab.gateway.url, { path: PATH, body: { action: "unlock", identifier: "x" }, headers })).status
    await lab.gateway.operator.call("PATCH", "/api/settings", { requireLogin: false })
    try {
      expect([await post({}), await post({ authorization: `Bearer ${key}` })]).toEqual([401, 403])
    } finally {
      await lab.gateway.operator.call("PATCH", "/api/settings", { requireLogin: true })
    }
  })
})
