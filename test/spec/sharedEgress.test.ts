/** Accounts behind one way out: where one makes no connection, its siblings are not asked by the same request. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const PROXIES = "/api/v1/management/proxies"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
let made = 0
/** A node whose address nothing listens on, with two accounts. */
const unreachable = async () => {
  const prefix = `gone${++made}`
  const port = await ScriptedServer.unusedPort()
  const provider = await lab.gateway.operator.createNode({ prefix, baseUrl: `http://127.0.0.1:${port}/v1` })
  const accounts: Array<string> = []
  for (const priority of [1, 2]) accounts.push(await lab.gateway.operator.createConnection({ provider, apiKey: `credential-${prefix}-${priority}`, name: `${prefix}-${priority}`, priority }))
  const [first = "", second = ""] = accounts
  return { prefix, model: `${prefix}/echo`, first, second }
}
const asked = async (reply: Awaited<ReturnType<Lab["chat"]>>) => (await lab.rows(reply)).map(({ connectionId, errorCode }) => [connectionId, errorCode])
const REFUSED = "upstream_connect_error"

describe("after a call that made no connection", () => {
  it("no other account of the provider is asked at the same address, and both are while the flag is off", async () => {
    const { first, model, second } = await unreachable()
    const reply = await lab.chat({ model })
    expect([reply.status, errorIn(reply)["code"], await asked(reply)]).toEqual([502, REFUSED, [[first, REFUSED]]])
    await lab.gateway.operator.setFlag("NETWORK_ROTATION_SHARED_EGRESS_GUARD", "false")
    expect(await asked(await lab.chat({ model }))).toEqual([[first, REFUSED], [second, REFUSED]])
    await lab.gateway.operator.clearFlags()
  })

  it("a combo goes on to another provider, and to an account with a proxy of its own", async () => {
    const { first, model, second } = await unreachable()
    const name = `c-${made}`
    await call("POST", "/api/combos", { name, models: [model, "lab/echo"], strategy: "priority" })
    const reply = await lab.chat({ model: `combo/${name}` })
    expect([reply.status, await asked(reply)]).toEqual([200, [[first, REFUSED], [lab.connection, null]]])
    await using proxy = await Proxies.http({ to: { host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) } })
    const { id } = await call<{ readonly id: string }>("POST", PROXIES, { name: "own", host: "127.0.0.1", port: proxy.port })
    await call("PUT", `${PROXIES}/assignments`, { scope: "account", scopeId: second, proxyId: id })
    const byProxy = await lab.chat({ model })
    expect([byProxy.status, await asked(byProxy)]).toEqual([200, [[first, REFUSED], [second, null]]])
  })

  it("other accounts are asked after a failure of another kind", async () => {
    const prefix = `broken${++made}`
    const [first, second] = await lab.pool(prefix, ["first-credential-0", "second-credential-1"])
    await lab.sim.rule({ match: { model: "cut" }, script: { resetAfter: "request" } })
    const reply = await lab.chat({ model: `${prefix}/cut` })
    expect([reply.status, await asked(reply)]).toEqual([502, [[first, "upstream_reset"], [second, "upstream_reset"]]])
  })
})
