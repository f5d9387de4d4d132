/** GATEWAY_CHAT_VIRTUAL_LANES: keys with waiting requests have turns one after the other. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
const start = async (environment: Record<string, string>): Promise<void> => {
  lab = await startLab({ environment })
  await lab.gateway.operator.call("POST", "/api/rate-limits", { connectionId: lab.connection, enabled: true })
}

const overview = async () => (await lab.gateway.operator.call<{ overview: { queued: number; running: number } }>("GET", "/api/rate-limits")).overview
const seen = (running: number, queued: number) =>
  eventually(overview, (now) => now.running === running && now.queued === queued, `${running} running and ${queued} queued`)

/** A stream that holds the connection's one place, and callers who come one after the other while it does. */
const line = async (model: string, maxQueueDepth = 0) => {
  await lab.gateway.operator.call("PATCH", "/api/resilience", { requestQueue: { concurrentRequests: 1, maxWaitMs: 60_000, maxQueueDepth } })
  await lab.sim.rule({ match: { model: `${model}-held` }, script: { tokens: 100_000, paceMs: 20 } })
  const held = await lab.stream({ model: `${model}-held` })
  await seen(1, 0)
  const answers: Array<Promise<Http.Reply>> = []
  return {
    answers,
    joins: async (user: string, headers?: Record<string, string>): Promise<void> => {
      answers.push(lab.chat({ model, user }, headers))
      await seen(1, answers.length)
    },
    /** The callers in the order in which the upstream saw them. */
    order: async (): Promise<ReadonlyArray<string>> => {
      held.leave()
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))
      return [...await lab.sim.entries({ model })].sort((a, b) => a.at - b.at).map(({ body }) => (body as { user: string }).user)
    }
  }
}
const keyed = async (name: string) => ({ authorization: `Bearer ${(await lab.gateway.operator.createKey(name)).key}` })

describe("lanes", () => {
  beforeAll(() => start({ GATEWAY_CHAT_VIRTUAL_LANES: "true" }))
  afterAll(() => lab.close())

  it("a key with many waiting requests delays another by one, and calls without a key share a lane", async () => {
    const { joins, order } = await line("m-turns")
    const [busy, calm] = [await keyed("busy"), await keyed("calm")]
    for (const user of ["b1", "b2", "b3", "b4"]) await joins(user, busy)
    for (const user of ["n1", "n2"]) await joins(user)
    for (const user of ["c1", "c2"]) await joins(user, calm)
    expect(await order()).toEqual(["b1", "n1", "c1", "b2", "n2", "c2", "b3", "b4"])
  })

  it("the depth of the queue is that of each key's lane", async () => {
    const { joins, order } = await line("m-depth", 2)
    const [busy, calm] = [await keyed("deep"), await keyed("shallow")]
    for (const user of ["b1", "b2"]) await joins(user, busy)
    const refused = await lab.chat({ model: "m-depth", user: "b3" }, busy)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "RATE_LIMIT_QUEUE_FULL"])
    await joins("c1", calm)
    expect(await order()).toEqual(["b1", "c1", "b2"])
  })
})

describe("without the flag", () => {
  beforeAll(() => start({}))
  afterAll(() => lab.close())

  it("requests go in the order of their arrival, and the depth is that of the whole line", async () => {
    const { joins, order } = await line("m-arrival", 4)
    const [busy, calm] = [await keyed("first"), await keyed("second")]
    for (const user of ["b1", "b2", "b3"]) await joins(user, busy)
    await joins("c1", calm)
    const refused = await lab.chat({ model: "m-arrival", user: "c2" }, calm)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "RATE_LIMIT_QUEUE_FULL"])
    expect(await order()).toEqual(["b1", "b2", "b3", "c1"])
  })
})
