/** Memory on two nodes: a change reaches both; while Postgres is away, models are told what a node knows, and requests go on without the rest. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { converged, findServers, named, startRemote } from "#test/support/cluster.ts"
import { contractOf, type Road } from "#test/support/faults.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually, type Key } from "#test/support/operator.ts"
import type { Sim } from "#test/support/sim.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 5_000

describe.skipIf(missing !== null)("memory on two nodes", { timeout: 300_000 }, () => {
  let road: Road
  let sim: Sim
  let one: InProcess
  let two: InProcess
  let close: () => Promise<void>

  beforeAll(async () => {
    const remote = await startRemote(postgres, named("memory-one", "memory-two"), { tokens: 2 })
    ;({ close, road } = remote)
    sim = remote.cluster.sim
    ;[one, two] = remote.cluster.nodes as [InProcess, InProcess]
    await one.operator.call("PUT", "/api/settings/memory", { memoryEnabled: true })
    await converged(one)
    await converged(two)
  }, 300_000)
  afterAll(() => close())

  let asked = 0
  /** What the upstream was told before the question; null = nothing. */
  const told = async ({ url }: InProcess, { key }: Key, headers: Readonly<Record<string, string>> = {}): Promise<string | null> => {
    const model = `memory-${asked++}`
    const reply = await Http.send(url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}`, ...headers }, body: { model: `lab/${model}`, messages: [{ role: "user", content: "Hello" }] }
    })
    expect(reply.status, reply.text).toBe(200)
    const [entry] = await sim.entries({ model })
    const body = entry?.body as { readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }> } | undefined
    const first = body?.messages[0]
    return first?.role === "system" ? first.content.split("\n").at(-1) ?? "" : null
  }
  const store = ({ id }: Key, content: string) => one.operator.call<{ readonly id: string }>("POST", "/api/memory", { apiKeyId: id, key: "k", content })

  it("hear of a change on either, and of its end", async () => {
    const key = await one.operator.createKey("heard")
    await eventually(() => told(two, key), (said) => said === null, "the other node's first look")
    const { id } = await store(key, "first")
    expect(await told(one, key)).toBe("- [factual] k: first")
    await eventually(() => told(two, key), (said) => said === "- [factual] k: first", "the entry on the other node")
    await two.operator.call("PUT", `/api/memory/${id}`, { content: "second" })
    expect(await told(two, key)).toBe("- [factual] k: second")
    await eventually(() => told(one, key), (said) => said === "- [factual] k: second", "the change on the first node")
    await one.operator.call("DELETE", `/api/memory?apiKeyId=${key.id}`)
    await eventually(() => told(two, key), (said) => said === null, "the end of the entry on the other node")
  })

  it.each(["refused", "frozen"] as const)("tell what they know while Postgres is away (%s), and go on without the rest in time", async (mood) => {
    const [known, unread] = [await one.operator.createKey("known"), await one.operator.createKey("unread")]
    await store(known, "known")
    await store(unread, "unread")
    // News of the entries that came after they were read would make the node read them again.
    await converged(two)
    expect(await told(two, known)).toBe("- [factual] k: known")
    // The key is known, and its entries are not.
    expect(await told(two, unread, { "x-gateway-no-memory": "true" })).toBeNull()
    const declared = (await contractOf(two.operator, `postgres-${mood}`))("memory")
    expect(declared).toMatchObject({ outcome: "admitted", addedLatencyMs: 250 })
    await road.is(mood)
    try {
      const late = watchLoop()
      const began = performance.now()
      expect(await told(two, unread)).toBeNull()
      expect(performance.now() - began).toBeLessThan((declared.addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
      expect(await told(two, known)).toBe("- [factual] k: known")
    } finally {
      await road.is("open")
    }
    await eventually(() => told(two, unread), (said) => said === "- [factual] k: unread", "the entry after the outage", 60_000)
    expect((await two.operator.raw("GET", "/metrics")).text).toMatch(/gateway_memory_requests_total\{outcome="failed"\} [1-9]/)
  })
})
