/** Banned accounts (PUT /api/settings/auto-disable-accounts, customBannedSignals) over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())
afterEach(async () => {
  await put({ enabled: false, threshold: 3 })
  await lab.gateway.operator.call("PATCH", "/api/settings", { customBannedSignals: [] })
})

const path = "/api/settings/auto-disable-accounts"
const put = (change: Record<string, unknown>) => lab.gateway.operator.call<Record<string, unknown>>("PUT", path, change)
interface Record_ { testStatus: string; bannedSignals: number; lastError: string | null; lastErrorType: string | null; errorCode: string | null }
const recordOf = async (id: string) => (await lab.gateway.operator.call<{ connection: Record_ }>("GET", `/api/providers/${id}`)).connection
const deactivated = { status: 401, error: { message: "The OpenAI account associated with this API key has been deactivated.", code: "account_deactivated" } }

let made = 0
/** A provider with one account, whose upstream answers the model so. */
const account = async (script: Record<string, unknown>, times?: number) => {
  const name = `acc${++made}`
  const [id = ""] = await lab.pool(name, [`${name}-credential-number-0`])
  const rule = await lab.sim.rule({ id: name, match: { model: `m-${name}` }, script, ...(times === undefined ? {} : { times }) })
  return { id, rule, model: `${name}/m-${name}`, ask: () => lab.chat({ model: `${name}/m-${name}` }) }
}
const counted = (id: string, count: number) => eventually(() => recordOf(id), ({ bannedSignals }) => bannedSignals === count, `a count of ${count}`)

describe("a banned account", () => {
  it("stays in use while the setting is off", async () => {
    expect(await lab.gateway.operator.call("GET", path)).toEqual({ enabled: false, threshold: 3 })
    const one = await account(deactivated)
    for (let i = 0; i < 4; i++) expect((await one.ask()).status).toBe(401)
    expect(await eventually(() => recordOf(one.id), ({ testStatus }) => testStatus === "error", "the mark")).toMatchObject({ bannedSignals: 0, lastErrorType: "auth_error" })
  })

  it("is counted on its record, and taken out of use at the threshold, with a reason and an audit entry", async () => {
    expect(await put({ enabled: true, threshold: 2 })).toEqual({ enabled: true, threshold: 2 })
    const one = await account(deactivated)
    expect((await one.ask()).status).toBe(401)
    expect(await counted(one.id, 1)).toMatchObject({ testStatus: "error", lastErrorType: "account_banned", errorCode: "401" })
    // What fails while a count is written is no further evidence.
    const again = async () => {
      await one.ask()
      return await recordOf(one.id)
    }
    expect(await eventually(again, ({ bannedSignals }) => bannedSignals === 2, "a count of 2")).toMatchObject({ testStatus: "banned", lastError: deactivated.error.message })
    const audit = () => lab.gateway.operator.call<ReadonlyArray<{ target: string; actor: string; details: unknown }>>("GET", "/api/compliance/audit-log?action=connection.banned&limit=5")
    expect(await eventually(audit, (entries) => entries.length > 0, "the audit entry")).toMatchObject([
      { target: one.id, actor: "gateway", details: { provider: one.model.split("/")[0], signal: expect.any(String), count: 2 } }
    ])
    // It is out of use.
    const calls = (await lab.sim.entries({ model: one.model.split("/")[1] ?? "" })).length
    expect([(await one.ask()).status, (await lab.sim.entries({ model: one.model.split("/")[1] ?? "" })).length]).toEqual([503, calls])
    // An operator's word begins the count anew.
    await lab.gateway.operator.changeConnection(one.id, { testStatus: "active" })
    expect(await recordOf(one.id)).toMatchObject({ testStatus: "active", bannedSignals: 0 })
  })

  it("has its count forgotten by an answer", async () => {
    await put({ enabled: true, threshold: 2 })
    const one = await account(deactivated, 1)
    await one.ask()
    await counted(one.id, 1)
    expect((await one.ask()).status).toBe(200)
    expect(await counted(one.id, 0)).toMatchObject({ testStatus: "active", lastErrorType: null })
  })

  it("is found by the operator's own words, too", async () => {
    await put({ enabled: true, threshold: 1 })
    await lab.gateway.operator.call("PATCH", "/api/settings", { customBannedSignals: ["Closed By Our Fraud Team"] })
    const one = await account({ status: 403, error: { message: "This seat was closed by our fraud team." } })
    await one.ask()
    expect((await counted(one.id, 1)).testStatus).toBe("banned")
    const short = await lab.gateway.operator.raw("PATCH", "/api/settings", { customBannedSignals: ["no"] })
    expect(short.status).toBe(400)
  })

  it("is none by other failures, or by words of a client", async () => {
    await put({ enabled: true, threshold: 1 })
    const name = "x-has been suspended"
    const [id = ""] = await lab.pool("named", ["named-credential-number-0"])
    await lab.sim.rule({ id: "named", match: { model: name }, script: { status: 403, error: { message: `You may not use '${name}'.` } } })
    expect((await lab.chat({ model: `named/${name}` })).status).toBe(403)
    const others = await Promise.all([
      account({ status: 400, error: { message: "Bad prompt: 'your organization has been disabled'" } }),
      account({ status: 429, error: { message: "Your key has been suspended for a minute" } }),
      account({ status: 401, error: { message: "Incorrect API key provided" } }),
      account({ status: 500, error: { message: "The account has been suspended" } })
    ])
    for (const one of others) await one.ask()
    // A further account, which is banned: what was said before has been heard by then.
    const last = await account(deactivated)
    await last.ask()
    expect((await counted(last.id, 1)).testStatus).toBe("banned")
    const counts = await Promise.all([id, ...others.map((one) => one.id)].map(async (one) => (await recordOf(one)).bannedSignals))
    expect(counts).toEqual([0, 0, 0, 0, 0])
  })
})

describe("an unclear 401", () => {
  afterEach(() => lab.gateway.operator.clearFlags())

  interface Rest { readonly testStatus: string; readonly rateLimitedUntil: string | null }
  const restOf = async (id: string) => (await lab.gateway.operator.call<{ connection: Rest }>("GET", `/api/providers/${id}`)).connection
  /** A provider of two accounts; the upstream refuses the first one. */
  const pair = async (message: string) => {
    const name = `pair${++made}`
    const [id = ""] = await lab.pool(name, [`${name}-credential-number-0`, `${name}-credential-number-1`])
    await lab.sim.rule({ id: name, match: { model: `m-${name}`, key: `${name}-credential-number-0` }, script: { status: 401, error: { message, code: "unauthorized" } } })
    const asked = async () => (await lab.sim.entries({ model: `m-${name}` })).map(({ key }) => key?.last4)
    return { id, asked, ask: () => lab.chat({ model: `${name}/m-${name}` }) }
  }

  it("with the flag rests the connection for minutes, which its record says; other accounts serve meanwhile", async () => {
    await lab.gateway.operator.setFlag("AMBIGUOUS_401_SOFT_LOCKOUT", "true")
    const one = await pair("Unauthorized")
    for (let i = 0; i < 3; i++) expect((await one.ask()).status).toBe(200)
    expect(await one.asked()).toEqual(["er-0", "er-1", "er-1", "er-1"])
    const rest = await eventually(() => restOf(one.id), ({ rateLimitedUntil }) => rateLimitedUntil !== null, "the rest on the record")
    const left = Date.parse(rest.rateLimitedUntil ?? "") - Date.now()
    expect([left > 240_000, left <= 300_000]).toEqual([true, true])
    const clear = await pair("Incorrect API key provided")
    for (let i = 0; i < 2; i++) expect((await clear.ask()).status).toBe(200)
    expect(await clear.asked()).toEqual(["er-0", "er-1", "er-0", "er-1"])
  })

  it("with the flag reaches the client of a single account as it is, and an answer ends the rest", async () => {
    await lab.gateway.operator.setFlag("AMBIGUOUS_401_SOFT_LOCKOUT", "true")
    const one = await account({ status: 401, error: { message: "Unauthorized", code: "unauthorized" } }, 1)
    expect((await one.ask()).status).toBe(401)
    await eventually(() => restOf(one.id), ({ rateLimitedUntil }) => rateLimitedUntil !== null, "the rest on the record")
    expect((await one.ask()).status).toBe(200)
    await eventually(() => restOf(one.id), ({ rateLimitedUntil }) => rateLimitedUntil === null, "the end of the rest")
  })

  it("is any other 401 without the flag", async () => {
    const one = await pair("Unauthorized")
    for (let i = 0; i < 2; i++) expect((await one.ask()).status).toBe(200)
    expect(await one.asked()).toEqual(["er-0", "er-1", "er-0", "er-1"])
  })
})
