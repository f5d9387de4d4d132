/** Compression on two nodes: a change of the settings reaches both; while Postgres is away savings are counted in memory, and nothing counted is lost. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { converged, findServers, named, startRemote } from "#test/support/cluster.ts"
import { contractOf, type Road } from "#test/support/faults.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 5_000

describe.skipIf(missing !== null)("compression on two nodes", { timeout: 300_000 }, () => {
  let road: Road
  let one: InProcess
  let two: InProcess
  let close: () => Promise<void>

  beforeAll(async () => {
    const remote = await startRemote(postgres, named("compression-one", "compression-two"), { tokens: 2 })
    ;({ close, road } = remote)
    ;[one, two] = remote.cluster.nodes as [InProcess, InProcess]
    await converged(one)
    await converged(two)
  }, 300_000)
  afterAll(() => close())

  const ask = async ({ url }: InProcess): Promise<string | undefined> => {
    const reply = await Http.send(url, { path: "/v1/chat/completions", body: { model: "lab/m", messages: [{ role: "user", content: "Could you please explain the answer of the question in the file to me?" }] } })
    expect([reply.status, reply.text.slice(0, 10)]).toEqual([200, '{"id":"cha'])
    return reply.headers["x-gateway-compression"]
  }
  const analytics = ({ operator }: InProcess) => operator.raw("GET", "/api/analytics/compression")
  const countOf = async (node: InProcess): Promise<number> => {
    const reply = await analytics(node)
    return reply.status === 200 ? (JSON.parse(reply.text) as { readonly requests: number }).requests : -1
  }

  it("is switched on for both, and both add to one sum", async () => {
    expect(await ask(two)).toBe("off; source=off")
    await one.operator.call("PUT", "/api/settings/compression", { enabled: true, defaultMode: "standard" })
    expect(await ask(one)).toBe("standard; source=default")
    await eventually(() => ask(two), (header) => header === "standard; source=default", "the other node's compression")
    const count = await countOf(one)
    await ask(two)
    for (const node of [one, two]) await eventually(() => countOf(node), (total) => total >= count + 1, "the sum of both nodes")
  })

  it.each(["refused", "frozen"] as const)("goes on while Postgres is away (%s), and its savings are stored when it is back", async (mood) => {
    const before = await countOf(one)
    const declared = (await contractOf(one.operator, `postgres-${mood}`))("compression-statistics")
    expect(declared.outcome).toBe("admitted")
    await road.is(mood)
    try {
      const late = watchLoop()
      for (let i = 0; i < 3; i++) expect(await ask(one)).toBe("standard; source=default")
      const began = performance.now()
      expect((await analytics(one)).status).toBe(503)
      expect(performance.now() - began).toBeLessThan((declared.addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
    } finally {
      await road.is("open")
    }
    await eventually(() => countOf(one), (total) => total === before + 3, "the counts of the outage", 60_000)
  })
})
