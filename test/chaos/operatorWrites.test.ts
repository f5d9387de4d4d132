/** An operator's change waits longer for a slow Redis than a client's request and a sign-in. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { findServers, type Ground, ground } from "#test/support/cluster.ts"
import { type Road, roadTo } from "#test/support/faults.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { watchLate } from "#test/support/late.ts"
import { eventually, PASSWORD } from "#test/support/operator.ts"

const servers = await findServers()

/** What a request waits for Redis, and how much later every byte of it comes, ms. */
const REQUEST_MS = 500
const SLOW_EACH_WAY_MS = 400

describe.skipIf(servers.missing !== null)("writes of an operator while Redis is slow", { timeout: 180_000 }, () => {
  let common: Ground
  let road: Road
  let gateway: InProcess
  beforeAll(async () => {
    common = await ground(servers.postgres)
    road = await roadTo(common.redis.url)
    gateway = await inProcess({
      environment: { ...common.environment, REDIS_URL: road.url, GATEWAY_REDIS_TIMEOUT_MS: String(REQUEST_MS), HUGGINGFACE_OAUTH_CLIENT_ID: "client-of-the-operator" }
    })
  }, 180_000)
  afterAll(async () => {
    await road.is("open")
    await gateway.close()
    await road.close()
    await common.close()
  })

  /** Redis's breaker is closed: a sign-in to a provider, which fails closed, can be begun. */
  const answers = async () => {
    await road.is("open")
    await eventually(() => start(), ({ status }) => status === 200, "a Redis that answers")
  }
  const start = () => gateway.operator.raw("POST", "/api/oauth/huggingface/start", {})
  const login = (password: string) => Http.send(gateway.url, { path: "/api/auth/login", body: { password } })
  const timed = async <A>(run: () => Promise<A>): Promise<readonly [A, number]> => {
    const began = performance.now()
    const result = await run()
    return [result, performance.now() - began]
  }

  it("DELETE /api/cache clears the cache, however late each answer comes", async () => {
    await answers()
    await road.is({ slowMs: SLOW_EACH_WAY_MS })
    const [cleared, ms] = await timed(() => gateway.operator.raw("DELETE", "/api/cache"))
    expect(JSON.parse(cleared.text)).toMatchObject({ ok: true, scope: "all" })
    expect(ms).toBeGreaterThan(2 * SLOW_EACH_WAY_MS)
  })

  it("and it is cleared, too, where requests found Redis too slow and its breaker is open, which it stays for them", async () => {
    await answers()
    await road.is({ slowMs: SLOW_EACH_WAY_MS })
    const refusedAtOnce = () => eventually(() => timed(start), ([{ status }, ms]) => status === 503 && ms < REQUEST_MS, "an open breaker")
    await refusedAtOnce()
    const cleared = await gateway.operator.raw("DELETE", "/api/cache")
    expect(JSON.parse(cleared.text)).toMatchObject({ ok: true, scope: "all" })
    await refusedAtOnce()
  })

  it.each([["slow", { slowMs: SLOW_EACH_WAY_MS }], ["frozen", "frozen"]] as const)("sign-ins wait for a %s Redis no longer than a request does", async (_, mood) => {
    await answers()
    await road.is(mood)
    const late = watchLate()
    const [signedIn, loginMs] = await timed(() => login(PASSWORD))
    const [begun, startMs] = await timed(start)
    // An operator's change waits 10 s: a second for a busy host tells the two apart.
    const spare = 1_000 + late()
    expect(signedIn.status).toBe(200)
    expect([begun.status, (JSON.parse(begun.text) as { error: { code: string } }).error.code]).toEqual([503, "store_unavailable"])
    // The brake is asked before the password and told after it; checking the password takes some time of its own.
    expect(loginMs).toBeLessThan(2 * REQUEST_MS + spare)
    expect(startMs).toBeLessThan(REQUEST_MS + spare)
    expect((await login("a wrong password")).status).toBe(401)
  })

  it("other changes and requests go on at once while it is frozen and its breaker is open", async () => {
    await answers()
    await road.is("frozen")
    await eventually(() => timed(start), ([{ status }, ms]) => status === 503 && ms < REQUEST_MS, "an open breaker")
    const late = watchLate()
    const [aliased, ms] = await timed(() => gateway.operator.raw("PUT", "/api/models/alias", { alias: "while-frozen", model: "lab/m" }))
    expect(aliased.status).toBe(200)
    expect(ms).toBeLessThan(1_000 + late())
    expect((await gateway.operator.raw("DELETE", "/api/cache")).status).toBe(503)
  })
})
