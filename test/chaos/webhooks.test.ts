import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sink, startSink } from "#test/support/sink.ts"
import { chance, startWorld, type World } from "./support.ts"

const ROUNDS = 6
const WORKERS = 6

let world: World
let sink: Sink
beforeAll(async () => {
  sink = await startSink()
  world = await startWorld({ environment: { OUTBOUND_SSRF_GUARD_ENABLED: "false" } })
})
afterAll(async () => {
  await world.close()
  await sink.close()
})

describe("webhooks and kill -9", () => {
  it("each request that was answered before a kill has its event, completed and failed, with and without a target; copies carry one id", async () => {
    const { gateway, sim } = world
    const random = chance()
    await gateway.operator.call("POST", "/api/webhooks", { url: sink.url, events: ["request.completed", "request.failed"] })
    await sim.rule({ match: { model: "wh-fails" }, script: { status: 503 } })
    // A target without a connection that works: it fails before any wire call.
    await gateway.operator.createNode({ prefix: "nobody", baseUrl: `${sim.url}/v1` })
    const answered = new Map<string, string>()
    for (let round = 0; round < ROUNDS; round++) {
      let killed = false
      let done = 0
      const worker = async () => {
        while (!killed) {
          const model = random.one(["lab/tokens-2", "lab/tokens-2", "lab/wh-fails", "nobody/m"])
          const call = { ...world.call({ model: "x", stream: random.below(2) === 0 }) }
          const reply = await Http.send(gateway.url, { ...call, body: { ...call.body as Record<string, unknown>, model } }).catch(() => undefined)
          if (reply === undefined) continue
          const id = reply.headers["x-gateway-request-id"]
          if (id === undefined) continue
          // A stream that the kill cut short was not answered.
          if (reply.status === 200 && !reply.text.includes("[DONE]") && !reply.text.includes("\"usage\"")) continue
          if (reply.status === 200 || reply.status >= 500) answered.set(id, reply.status === 200 ? "completed" : "failed")
          done++
        }
      }
      const workers = Array.from({ length: WORKERS }, worker)
      const wanted = 5 + random.below(40)
      await eventually(async () => done, (count) => count >= wanted, `${wanted} answers of round ${round}`)
      await gateway.kill9()
      killed = true
      await Promise.all(workers)
      await sim.idle()
      await gateway.start()
    }
    const told = () => new Set(sink.received.map(({ json }) => String(json.data?.["trace_id"])))
    const missing = await eventually(
      async () => [...answered.keys()].filter((id) => !told().has(id)),
      (seen) => seen.length === 0, `events of ${answered.size} requests (seed ${random.seed})`, 30_000
    )
    const ids = new Map<string, Set<string>>()
    for (const { json } of sink.received) {
      const trace = String(json.data?.["trace_id"])
      ids.set(trace, (ids.get(trace) ?? new Set()).add(String(json.data?.["event_id"])))
    }
    const kinds = [...answered.values()]
    console.log(`kill -9 x ${ROUNDS}: ${answered.size} answered (${kinds.filter((kind) => kind === "failed").length} failed), ${sink.received.length} events received, ${sink.received.length - ids.size} copies, ${missing.length} missing`)
    expect(kinds).toContain("failed")
    expect(kinds).toContain("completed")
    expect([...ids.values()].every((of) => of.size === 1)).toBe(true)
  }, 300_000)
})
