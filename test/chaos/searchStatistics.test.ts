/** Searches of two nodes while Postgres is away: they are served and counted, statistics are refused, and nothing counted is lost. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { converged, findServers, named, startRemote } from "#test/support/cluster.ts"
import { contractOf, type Road } from "#test/support/faults.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import type { Sim } from "#test/support/sim.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 5_000

describe.skipIf(missing !== null)("statistics of searches", { timeout: 300_000 }, () => {
  let road: Road
  let sim: Sim
  let one: InProcess
  let two: InProcess
  let close: () => Promise<void>

  beforeAll(async () => {
    const remote = await startRemote(postgres, named("search-one", "search-two"))
    ;({ close, road } = remote)
    sim = remote.cluster.sim
    ;[one, two] = remote.cluster.nodes as [InProcess, InProcess]
    await one.operator.createConnection({ provider: "serper-search", apiKey: "search-credential-000001", providerSpecificData: { baseUrl: `${sim.url}/serper` } })
    await converged(one)
    await converged(two)
  }, 300_000)
  afterAll(() => close())

  const search = async ({ url }: InProcess, query: string) => {
    const reply = await Http.send(url, { path: "/v1/search", body: { query, provider: "serper" } })
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
    return JSON.parse(reply.text) as { readonly cached: boolean }
  }
  const analytics = ({ url }: InProcess) => Http.send(url, { path: "/v1/search/analytics" })
  const totalOf = async (node: InProcess): Promise<number> => {
    const reply = await analytics(node)
    return reply.status === 200 ? (JSON.parse(reply.text) as { readonly total: number }).total : -1
  }

  it("of several nodes are one sum, and what one node found the other has in its cache", async () => {
    expect((await search(one, "shared")).cached).toBe(false)
    expect((await search(two, "shared")).cached).toBe(true)
    await search(two, "of the other node")
    for (const node of [one, two]) await eventually(() => totalOf(node), (total) => total === 3, "the sum of both nodes")
  })

  it.each(["refused", "frozen"] as const)("go on in memory while Postgres is away (%s), and are stored when it is back", async (mood) => {
    const before = await totalOf(one)
    const declared = (await contractOf(one.operator, `postgres-${mood}`))("search-statistics")
    expect(declared.outcome).toBe("admitted")
    await road.is(mood)
    try {
      const late = watchLoop()
      for (let i = 0; i < 3; i++) await search(one, `${mood} ${i}`)
      const began = performance.now()
      expect((await analytics(one)).status).toBe(503)
      expect(performance.now() - began).toBeLessThan((declared.addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
    } finally {
      await road.is("open")
    }
    await eventually(() => totalOf(one), (total) => total === before + 3, "the counts of the outage", 60_000)
  })
})
