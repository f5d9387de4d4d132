/** An operator's write is given more time by a slow Redis than a client's request. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { findServers, type Ground, ground } from "#test/support/cluster.ts"
import { type Road, roadTo } from "#test/support/faults.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"

const servers = await findServers()

/** What a request waits for Redis, and how much later every byte of it comes, ms. */
const REQUEST_MS = 120
const SLOW_EACH_WAY_MS = 120

describe.skipIf(servers.missing !== null)("writes of an operator while Redis is slow", { timeout: 60_000 }, () => {
  let common: Ground
  let road: Road
  let gateway: InProcess
  beforeAll(async () => {
    common = await ground(servers.postgres)
    road = await roadTo(common.redis.url)
    gateway = await inProcess({ environment: { ...common.environment, REDIS_URL: road.url, GATEWAY_REDIS_TIMEOUT_MS: String(REQUEST_MS) } })
  }, 60_000)
  afterAll(async () => {
    await road.is("open")
    await gateway.close()
    await road.close()
    await common.close()
  })

  it("DELETE /api/cache clears the cache, however late each answer comes", async () => {
    await road.is({ slowMs: SLOW_EACH_WAY_MS })
    const began = performance.now()
    expect(await gateway.operator.call("DELETE", "/api/cache")).toMatchObject({ ok: true, scope: "all" })
    expect(performance.now() - began).toBeGreaterThan(2 * REQUEST_MS)
  })
})
