/** Leases over HTTP: two gateways on one Postgres and one Redis; one is killed, Redis is frozen, then emptied. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { codeOf, managedKey, Session } from "#test/features/leases/support.ts"
import { type InProcess, inProcess, type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { findServer, freshDatabase, withServer } from "#test/support/postgres.ts"
import { canStartRedis, type OwnRedis, ownRedis } from "#test/support/redis.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const TTL_MS = 4_000

const server = await findServer()
afterAll(server.stop)

describe.skipIf(!canStartRedis())("leases of two gateways", () => withServer(server, "with a Redis and a Postgres", (url) => {
  let redis: OwnRedis
  let sim: Sim
  let here: InProcess
  let there: Spawned
  let keyed: { readonly id: string; readonly key: string }
  const scope = Scope.makeUnsafe()

  beforeAll(async () => {
    redis = await ownRedis()
    sim = await startSim({ models: { "*": {} } })
    const environment = {
      DATABASE_URL: await Effect.runPromise(Scope.provide(freshDatabase(url), scope)), REDIS_URL: redis.url, GATEWAY_REDIS_TIMEOUT_MS: "250",
      GATEWAY_EXCLUSIVE_LEASE_TTL_MS: String(TTL_MS), GATEWAY_SECRET: "a secret that both nodes share"
    }
    here = await inProcess({ environment: { ...environment, GATEWAY_NODE_ID: "here" } })
    const node = await here.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    const connection = await here.operator.createConnection({ provider: node, apiKey: "credential_of_the_lab" })
    keyed = await managedKey(here, "sessions", [connection])
    there = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "there" } })
  }, 180_000)
  afterAll(async () => {
    redis.thaw()
    await there.close()
    await here.close()
    await sim.stop()
    await redis.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const chat = (gateway: { readonly url: string }, session: Session, model: string, generation: number) =>
    Http.send(gateway.url, { path: "/v1/chat/completions", headers: session.headers(generation), body: { model: `lab/${model}`, messages } })
  const arrived = (model: string) => eventually(() => sim.entries(), (entries) => entries.some((entry) => entry.model === model), `a call of ${model}`)

  it("kill -9 between the fence and the answer: the connection stays the old holder's until its time is over, on every node", async () => {
    const old = new Session(there, keyed.key)
    await old.acquire("lab/m")
    await sim.rule({ match: { model: "never-1" }, script: { neverHead: true } })
    const stuck = chat(there, old, "never-1", 1).catch(() => undefined)
    await arrived("never-1")
    const renewed = JSON.parse((await new Session(here, keyed.key, old.owner).ask({ action: "renew", generation: 1 })).text) as { expiresAt: string }
    await there.kill9()
    await stuck
    const next = new Session(here, keyed.key)
    const full = await next.ask({ action: "acquire", model: "lab/m" })
    expect([full.status, codeOf(full)]).toEqual([429, "LEASE_CAPACITY_UNAVAILABLE"])
    expect(Number(full.headers["retry-after"])).toBeLessThanOrEqual(TTL_MS / 1000)
    const granted = await eventually(() => next.ask({ action: "acquire", model: "lab/m" }), ({ status }) => status === 200, "the old lease's end")
    const lease = JSON.parse(granted.text) as { acquiredAt: string; generation: number }
    expect(Date.parse(lease.acquiredAt)).toBeGreaterThanOrEqual(Date.parse(renewed.expiresAt))
    expect(codeOf(await chat(here, new Session(here, keyed.key, old.owner), "m", 1))).toBe("LEASE_FENCE_STALE")
    expect((await chat(here, next, "m", lease.generation)).status).toBe(200)
    await next.ask({ action: "release", generation: lease.generation })
    await there.start()
  }, 180_000)

  it("the lease of one node is that of the other: reused, used, in the way of others and released there", async () => {
    const session = new Session(here, keyed.key)
    const { generation } = await session.acquire("lab/m")
    const same = new Session(there, keyed.key, session.owner)
    expect((await same.acquire("lab/m")).generation).toBe(generation)
    expect((await chat(there, same, "m", generation)).status).toBe(200)
    expect(codeOf(await new Session(there, keyed.key).ask({ action: "acquire", model: "lab/m" }))).toBe("LEASE_CAPACITY_UNAVAILABLE")
    expect((await same.ask({ action: "release", generation })).status).toBe(200)
    expect((await session.status(generation)).status).toBe(409)
  })

  it("while Redis does not answer nobody gets, renews or uses a lease (503), and nothing goes upstream; afterwards it stands", async () => {
    const session = new Session(here, keyed.key)
    const { generation } = await session.acquire("lab/m")
    redis.freeze()
    try {
      for (const reply of [
        await session.ask({ action: "acquire", model: "lab/m" }), await session.ask({ action: "renew", generation }),
        await session.status(generation), await session.ask({ action: "release", generation }), await chat(here, session, "frozen-1", generation)
      ]) expect([reply.status, codeOf(reply)]).toEqual([503, "LEASE_SERVICE_UNAVAILABLE"])
    } finally {
      redis.thaw()
    }
    expect((await sim.entries()).filter((entry) => entry.model === "frozen-1")).toEqual([])
    // What was asked of a frozen server may still be done by it, once.
    const after = await eventually(() => session.status(generation), ({ status }) => status !== 503, "Redis again")
    expect([200, 409]).toContain(after.status)
  })

  it("after Redis lost everything no old lease is good, and the generations of an owner go on", async () => {
    const session = new Session(here, keyed.key)
    const first = await eventually(() => session.ask({ action: "acquire", model: "lab/m" }), ({ status }) => status === 200, "a free connection")
    const { generation } = JSON.parse(first.text) as { generation: number }
    expect((await chat(here, session, "m", generation)).status).toBe(200)
    await redis.client().flushall()
    const replies = [await session.status(generation), await session.ask({ action: "renew", generation }), await chat(there, session, "lost-1", generation)]
    for (const reply of replies) expect([reply.status, codeOf(reply)]).toEqual([409, "LEASE_FENCE_STALE"])
    expect((await sim.entries()).filter((entry) => entry.model === "lost-1")).toEqual([])
    const again = await new Session(there, keyed.key, session.owner).acquire("lab/m")
    expect(again.generation).toBe(generation + 1)
    for (const gateway of [here, there]) expect((await chat(gateway, session, "m", generation)).status).toBe(409)
    expect((await chat(there, session, "m", again.generation)).status).toBe(200)
  })

  it("a connection that is switched off on one node ends its lease for both", async () => {
    const session = new Session(there, keyed.key)
    const reply = await eventually(() => session.ask({ action: "acquire", model: "lab/m" }), ({ status }) => status === 200, "a free connection")
    const { generation } = JSON.parse(reply.text) as { generation: number }
    const { connections } = await here.operator.call<{ connections: ReadonlyArray<{ id: string }> }>("GET", "/api/providers")
    await here.operator.changeConnection(connections[0]?.id ?? "", { isActive: false })
    await eventually(() => session.status(generation), ({ status }) => status === 409, "the end of the lease on the other node", 5_000)
    await here.operator.changeConnection(connections[0]?.id ?? "", { isActive: true })
    expect(await eventually(() => session.ask({ action: "acquire", model: "lab/m" }), ({ status }) => status === 200, "the connection again"))
      .toMatchObject({ status: 200 })
  })
}))
