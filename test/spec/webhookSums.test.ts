/** What `request.completed` tells webhooks of requests that made several calls, or none. */
import { afterAll, beforeAll, expect, it } from "vitest"
import type * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { type Sink, startSink } from "#test/support/sink.ts"

let lab: Lab
const sinks: Array<Sink> = []
beforeAll(async () => {
  // Receivers of a test listen on loopback, which the guard never lets a webhook reach.
  lab = await startLab({ environment: { OUTBOUND_SSRF_GUARD_ENABLED: "false" } })
})
afterAll(async () => {
  await lab.close()
  for (const sink of sinks) await sink.close()
})

/** The only receiver of the moment. */
const heard = async (): Promise<Sink> => {
  const { webhooks } = await lab.gateway.operator.call<{ webhooks: ReadonlyArray<{ id: string }> }>("GET", "/api/webhooks")
  for (const { id } of webhooks) await lab.gateway.operator.call("DELETE", `/api/webhooks/${id}`)
  const sink = await startSink()
  sinks.push(sink)
  await lab.gateway.operator.call("POST", "/api/webhooks", { url: sink.url, events: ["request.completed"] })
  return sink
}
const idOf = (reply: Http.Reply) => reply.headers["x-gateway-request-id"] ?? "none"

it("requests of several calls under one client's id are told apart, though they run at once", async () => {
  const sink = await heard()
  const headers = { "x-request-id": "trace-8" }
  for (const name of ["north", "south"]) {
    for (const model of [`${name}-1`, `${name}-2`]) {
      await lab.gateway.operator.price("lab", model, { input: name === "north" ? 100 : 1, output: name === "north" ? 100 : 1 })
      await lab.sim.rule({ match: { model }, script: { latencyMs: 50 } })
    }
    await lab.gateway.operator.call("POST", "/api/combos", { name, strategy: "fusion", models: [`lab/${name}-1`, `lab/${name}-2`] })
  }
  const replies = await Promise.all(["north", "south"].map((name) => lab.chat({ model: `combo/${name}` }, headers)))
  await sink.arrived(2)
  const costs = (all: ReadonlyArray<unknown>) => all.map(Number).sort((a, b) => a - b)
  expect(costs(sink.received.map(({ json }) => json.data?.["cost_usd"]))).toEqual(costs(replies.map((reply) => reply.headers["x-gateway-response-cost"])))
})

it("an answer of the cache is told as completed: nothing was used", async () => {
  const sink = await heard()
  await lab.gateway.operator.call("PUT", "/api/settings/cache-config", { semanticCacheEnabled: true })
  const ask = () => lab.chat({ model: "tokens-3", temperature: 0 })
  await ask()
  await sink.arrived(1)
  const hit = await ask()
  expect(hit.headers["x-gateway-cache-hit"]).toBe("true")
  await sink.arrived(2)
  expect(sink.received[1]?.json).toMatchObject({
    event: "request.completed", data: { trace_id: idOf(hit), provider: "lab", model: "tokens-3", status: 200, tokens_in: 0, tokens_out: 0, cost_usd: 0 }
  })
  await lab.gateway.operator.call("PUT", "/api/settings/cache-config", { semanticCacheEnabled: false })
})
