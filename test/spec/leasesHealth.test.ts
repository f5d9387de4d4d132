/** Leases and the health of connections: the lease 429 means held connections only; a cooldown keeps its ordinary reply. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import { codeOf, credentialsOf, hashOf, managedKey, seen, Session } from "#test/features/leases/support.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())

let pools = 0
const pool = async (size: number) => {
  const prefix = `health${++pools}`
  const credentials = Array.from({ length: size }, (_, i) => `credential_${prefix}_${i}`)
  const connections = await lab.pool(prefix, credentials)
  const key = await managedKey(lab.gateway, prefix, connections)
  const plain = await lab.gateway.operator.createKey(`plain ${prefix}`, { allowedConnections: connections })
  return {
    prefix, credentials: credentials.map(seen), connections, key,
    session: () => new Session(lab.gateway, key.key),
    /** An ordinary call to the first connection that has this status and asks to be left alone for so long. */
    fails: async (model: string, status: number, retryAfter: number) => {
      await lab.sim.rule({ match: { model }, times: 1, script: { status, headers: { "retry-after": String(retryAfter) } } })
      return await lab.chat({ model: `${prefix}/${model}` }, { authorization: `Bearer ${plain.key}` })
    },
    plain: { authorization: `Bearer ${plain.key}` }
  }
}

describe("acquiring while connections rest", () => {
  it("takes the one that does not; when all do, cooldown keeps its ordinary reply, with its own Retry-After", async () => {
    const { fails, prefix, session } = await pool(2)
    await fails("rest-1", 429, 90)
    const client = session()
    await client.acquire(`${prefix}/rest-1`)
    expect(JSON.parse((await client.status(1)).text)).toMatchObject({ connection: { displayName: `${prefix}-1` } })
    const another = await session().ask({ action: "acquire", model: `${prefix}/rest-1` })
    expect([another.status, JSON.parse(another.text)]).toMatchObject([429, { error: { code: "LEASE_CAPACITY_UNAVAILABLE" }, eligibleCount: 1 }])

    const alone = await pool(1)
    await alone.fails("rest-2", 429, 90)
    const cooling = await alone.session().ask({ action: "acquire", model: `${alone.prefix}/rest-2` })
    expect([cooling.status, codeOf(cooling)]).toEqual([429, "model_cooldown"])
    expect(Number(cooling.headers["retry-after"])).toBeGreaterThan(80)
  })

  it("the owner's own lease is renewed while its connection rests", async () => {
    const { fails, prefix, session } = await pool(1)
    const client = session()
    await client.acquire(`${prefix}/own-1`)
    await fails("own-1", 429, 60)
    expect((await client.acquire(`${prefix}/own-1`)).generation).toBe(1)
  })

  it("a connection that is only busy is LEASE_ELIGIBILITY_UNAVAILABLE, without Retry-After", async () => {
    const { connections, plain, prefix, session } = await pool(1)
    await lab.gateway.operator.changeConnection(connections[0] ?? "", { maxConcurrent: 1 })
    await lab.sim.rule({ match: { model: "busy-1" }, script: { neverHead: true } })
    const { request } = Http.open(lab.gateway.url, lab.call({ model: `${prefix}/busy-1` }, plain))
    await eventually(() => credentialsOf(lab, "busy-1"), (calls) => calls.length === 1, "the call")
    const reply = await session().ask({ action: "acquire", model: `${prefix}/busy-1` })
    request.destroy()
    expect([reply.status, codeOf(reply), reply.headers["retry-after"]]).toEqual([429, "LEASE_ELIGIBILITY_UNAVAILABLE", undefined])
  })

  it("a key whose connections are all gone is LEASE_NO_ELIGIBLE_CONNECTION", async () => {
    const { connections, prefix, session } = await pool(1)
    await lab.gateway.operator.removeConnection(connections[0] ?? "")
    const reply = await session().ask({ action: "acquire", model: `${prefix}/gone-1` })
    expect([reply.status, codeOf(reply)]).toEqual([503, "LEASE_NO_ELIGIBLE_CONNECTION"])
  })
})

describe("a lease whose connection rests", () => {
  it("moves to a free one before the call, under the same generation", async () => {
    const { credentials, fails, prefix, session } = await pool(2)
    const client = session()
    await client.acquire(`${prefix}/moves-1`)
    await fails("moves-1", 429, 90)
    expect((await client.chat(lab, `${prefix}/moves-1`, 1)).status).toBe(200)
    expect((await credentialsOf(lab, "moves-1")).at(-1)).toBe(credentials[1])
    expect(JSON.parse((await client.status(1)).text)).toMatchObject({ generation: 1, connection: { displayName: `${prefix}-1` } })
  })

  it("stays when the others are held and the rest is shorter than the lease; the reply says when", async () => {
    const { fails, prefix, session } = await pool(2)
    const [one, two] = [session(), session()]
    await one.acquire(`${prefix}/stays-1`)
    await two.acquire(`${prefix}/stays-1`)
    await fails("stays-1", 429, 30)
    const reply = await one.chat(lab, `${prefix}/stays-1`, 1)
    expect([reply.status, codeOf(reply)]).toEqual([429, "model_cooldown"])
    expect(Number(reply.headers["retry-after"])).toBeGreaterThan(20)
    expect((await one.status(1)).status).toBe(200)
  })

  it("ends as HEALTH_OR_COOLDOWN when the others are held and it would not see its connection back", async () => {
    const { fails, prefix, session } = await pool(2)
    const [one, two] = [session(), session()]
    await one.acquire(`${prefix}/ends-1`)
    await two.acquire(`${prefix}/ends-1`)
    await fails("ends-1", 429, 600)
    expect((await one.chat(lab, `${prefix}/ends-1`, 1)).status).toBe(429)
    const changes = await eventually(
      () => Effect.runPromise(Context.get(lab.gateway.services(), LeaseRecords).changes({ owner: hashOf(one.owner), limit: 10 })),
      ([last]) => last?.kind === "INVALIDATED", "the end of the lease"
    )
    expect(changes[0]?.reason).toBe("HEALTH_OR_COOLDOWN")
    expect((await one.status(1)).status).toBe(409)
    expect((await two.status(1)).status).toBe(200)
  })
})

it("the metrics count active leases", async () => {
  const { prefix, session } = await pool(1)
  const count = async () => Number(/^gateway_leases_active (\d+)$/m.exec((await Http.send(lab.gateway.url, { path: "/metrics" })).text)?.[1])
  const before = await count()
  const client = session()
  await client.acquire(`${prefix}/count-1`)
  expect(await count()).toBe(before + 1)
  await client.ask({ action: "release", generation: 1 })
  expect(await count()).toBe(before)
})

describe("a leased connection that cannot be told the request", () => {
  it("gives the lease to the next one: nothing was called there, and it is free for others", async () => {
    const { connections: [chat = ""], credentials, prefix } = await pool(1)
    const { operator } = lab.gateway
    const provider = await operator.createNode({ prefix: `${prefix}m`, type: "anthropic-compatible", baseUrl: `${lab.sim.url}/v1` })
    const other = await operator.createConnection({ provider, apiKey: `credential_${prefix}m`, name: "other" })
    await operator.call("POST", "/api/combos", { name: prefix, strategy: "priority", models: [`${prefix}/untold-1`, `${prefix}m/told-1`] })
    const client = new Session(lab.gateway, (await managedKey(lab.gateway, prefix, [chat, other])).key)
    await client.acquire(prefix)
    // The chat format takes four stop sequences.
    const reply = await Http.send(lab.gateway.url, {
      path: "/v1/messages", headers: client.headers(1),
      body: { model: prefix, max_tokens: 10, stop_sequences: ["a", "b", "c", "d", "e"], messages: [{ role: "user", content: "hello" }] }
    })
    expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""])
    expect((await lab.sim.entries()).filter(({ model }) => model === "untold-1" || model === "told-1").map(({ model }) => model)).toEqual(["told-1"])
    expect(JSON.parse((await client.status(1)).text)).toMatchObject({ connection: { displayName: "other" } })
    const next = new Session(lab.gateway, (await managedKey(lab.gateway, `${prefix}n`, [chat])).key)
    await next.acquire(`${prefix}/untold-1`)
    expect((await next.chat(lab, `${prefix}/untold-1`, 1)).status).toBe(200)
    expect(await credentialsOf(lab, "untold-1")).toEqual(credentials)
  })
})
