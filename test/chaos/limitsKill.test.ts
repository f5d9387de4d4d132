/**
 * A node dies with kill -9 in the middle of a crowd: what it had spent and told nobody counts until its journal was replayed, so that the
 * limit is passed by one request of each node at most.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { findServers, type Pair, REQUEST, startPair, USE } from "./limitsSupport.ts"
import { chance } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

const CALLS = 200
/** More than half of them use, so that neither node can leave nothing to the other. */
const LIMIT = 180 * USE
/** What the second node has served when it dies. */
const SERVED = 12

describe.skipIf(missing !== null)("a limit over two nodes, of which one is killed", { timeout: 300_000 }, () => {
  let pair: Pair
  beforeAll(async () => {
    pair = await startPair(postgres)
  }, 180_000)
  afterAll(() => pair.close())

  it("two hundred calls at once, some of them left, pass it by one request of each node at most; after the replay nothing is left over", async () => {
    const { limited, limitOf, one, rest, sim, spend, two } = pair
    const random = chance()
    const key = await limited(LIMIT)
    await sim.rule({ match: { model: "slowly" }, script: { tokens: 6, paceMs: 60, usage: { promptTokens: USE - 1, completionTokens: 1, totalTokens: USE } } })
    let served = 0
    let isKilled = false
    const crowd = Array.from({ length: CALLS }, async (_, index) => {
      const node = index % 2 === 0 ? one : two
      const model = random.below(3) === 0 ? "slowly" : "spend"
      const leaves = random.below(5) === 0
      try {
        // Refused while others hold what is left, it tries again: a node that came late would serve nobody else.
        const status = await eventually(async () => {
          const stream = await Http.stream(node.url, pair.call(key.key, model, { stream: true }))
          if (leaves && stream.status === 200) stream.leave()
          await stream.ended
          return stream.status
        }, (seen) => seen === 200 || isKilled, "the service of one of the crowd")
        if (status === 200 && node === two) served++
      } catch {
        // Its node is gone.
      }
    })
    await eventually(async () => served, (count) => count >= SERVED, "some calls of the second node")
    const killed = two.kill9()
    isKilled = true
    await killed
    await Promise.all(crowd)
    // All that is left may be spent here, but for what the dead node held.
    const spendAll = () => eventually(() => spend(one, key.key), ({ status }) => status === 429, "the end of the limit")
    await spendAll()
    const { unsettled } = await eventually(() => limitOf(one, key.id), (limit) => limit.unsettled > 0, "the dead node's block as its own figure")
    const refused = await spendAll()
    expect(refused.text).toContain("fell silent")
    const before = (await limitOf(one, key.id)).tokensUsed
    expect({ seed: random.seed, held: before + unsettled }).toEqual({ seed: random.seed, held: expect.toSatisfy((held: number) => held <= LIMIT + REQUEST) })

    await two.start()
    const replayed = await rest(key.id)
    expect(replayed).toBeGreaterThanOrEqual(before)
    expect(replayed).toBeLessThanOrEqual(before + unsettled + REQUEST)
    // What the dead node held and did not spend is there again, on both.
    for (const node of [one, two]) await eventually(() => spend(node, key.key), ({ status, text }) => status === 429 && text.includes("is used up"), "the end of the limit")
    const used = await rest(key.id)
    await sim.idle()
    const rows = (await one.operator.callLogs()).filter(({ model }) => model === "spend" || model === "slowly")
    const crashed = rows.filter(({ outcome }) => outcome === "crashed").length
    console.log(`kill -9: ${used} of ${LIMIT} tokens used, ${unsettled} unsettled for a while, of which ${replayed - before} were spent; ${crashed} crashed`)
    expect(used).toBeGreaterThanOrEqual(LIMIT)
    expect({ seed: random.seed, used }).toEqual({ seed: random.seed, used: expect.toSatisfy((tokens: number) => tokens <= LIMIT + 2 * REQUEST) })
    for (const node of [one, two]) expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
  })
})
