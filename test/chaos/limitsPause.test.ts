/**
 * A node is stopped (SIGSTOP) right after it spent what it had told nobody, and goes on later: what it held counts meanwhile, it spends
 * nothing of what has expired, and it acts on no key that was revoked while it stood still.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { findServers, type Pair, startPair, USE } from "./limitsSupport.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

const LIMIT = 60 * USE
const UNREPORTED = 8
/** Added to each way to Postgres when the node goes on, ms: the news takes longer than the requests in its sockets. */
const SLOW_MS = 20

describe.skipIf(missing !== null)("two nodes, of which one stands still for a while", { timeout: 180_000 }, () => {
  let pair: Pair
  beforeAll(async () => {
    pair = await startPair(postgres)
  }, 180_000)
  afterAll(() => pair.close())

  it("neither the limit is passed nor a revoked key served", async () => {
    const { limited, limitOf, one, rest, road, sim, spend, two } = pair
    const key = await limited(LIMIT)
    const revoked = await one.operator.createKey("revoked")
    const locked = await one.operator.createKey("locked")
    for (const { key: secret } of [revoked, locked]) {
      await eventually(() => Http.send(two.url, pair.call(secret, "plain")), ({ status }) => status === 200, "the key on the second node")
    }
    await Promise.all(Array.from({ length: UNREPORTED }, () => eventually(() => spend(two, key.key), ({ status }) => status === 200, "a block of the second node")))
    process.kill(two.pid(), "SIGSTOP")
    let waiting: ReadonlyArray<Promise<Http.Reply>>
    let late: ReadonlyArray<Promise<Http.Reply>>
    try {
      await one.operator.call("DELETE", `/api/keys/${revoked.id}`)
      await one.operator.changeKey(locked.id, { isActive: false })
      // They stand in the stopped node's sockets until it goes on.
      late = [revoked, locked].map(({ key: secret }) => Http.send(two.url, pair.call(secret, "late")))
      waiting = Array.from({ length: 10 }, () => spend(two, key.key))
      const spendAll = () => eventually(() => spend(one, key.key), ({ status }) => status === 429, "the end of the limit")
      await spendAll()
      const { tokensUsed, unsettled } = await eventually(() => limitOf(one, key.id), (limit) => limit.unsettled > 0, "the stopped node's block as its own figure")
      expect((await spendAll()).text).toContain("fell silent")
      expect(tokensUsed + unsettled).toBeLessThanOrEqual(LIMIT + USE)
      await road.is({ slowMs: SLOW_MS })
    } finally {
      process.kill(two.pid(), "SIGCONT")
    }
    const answers = (await Promise.all(late)).map(({ status }) => status)
    await road.is("open")
    expect(answers).toEqual([401, 403])
    expect(await sim.entries({ model: "late" })).toEqual([])
    expect((await Promise.all(waiting)).map(({ status }) => status).filter((status) => ![200, 429, 503].includes(status))).toEqual([])
    for (const node of [one, two]) await eventually(() => spend(node, key.key), ({ status, text }) => status === 429 && text.includes("is used up"), "the end of the limit")
    const used = await rest(key.id)
    await sim.idle()
    const spent = (await sim.entries({ model: "spend" })).length * USE
    console.log(`pause: ${spent} of ${LIMIT} tokens used`)
    expect(used).toBe(spent)
    expect(spent).toBeGreaterThanOrEqual(LIMIT)
    expect(spent).toBeLessThanOrEqual(LIMIT + 2 * USE)
  })
})
