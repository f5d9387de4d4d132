/** The line that a failed request leaves in the log of a real process. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

let sim: Sim
let gateway: Spawned
beforeAll(async () => {
  sim = await startSim({ models: { "*": {} } })
  gateway = await spawned({ environment: { GATEWAY_ACCESS_LOG: "errors" } })
})
afterAll(async () => {
  await gateway.close()
  await sim.stop()
})

const place = async (prefix: string, script: Record<string, unknown>): Promise<string> => {
  const provider = await gateway.operator.createNode({ prefix, baseUrl: `${sim.url}/v1` })
  await gateway.operator.createConnection({ provider, apiKey: `${prefix}-credential-number-0` })
  await sim.rule({ match: { model: `m-${prefix}` }, script })
  return `${prefix}/m-${prefix}`
}
const ask = (model: string) => Http.send(gateway.url, { path: "/v1/chat/completions", body: { model, messages } })
const lineOf = async ({ headers }: Http.Reply): Promise<Record<string, unknown>> => {
  const id = headers["x-gateway-request-id"] ?? "no request id"
  const found = await eventually(
    async () => gateway.output().split("\n").slice(0, -1).find((line) => line.includes(`"requestId":"${id}"`)), (line) => line !== undefined, `a line of ${id}`
  )
  return JSON.parse(found ?? "{}") as Record<string, unknown>
}

describe("the log", () => {
  it("says of a failed request which targets failed and which were left out until when", async () => {
    const limited = await place("out", { status: 429, retryAfter: 900, error: { message: "slow down" } })
    const [a, b] = [await place("one", { status: 502, error: { message: "boom" } }), await place("two", { status: 500, error: { message: "boom" } })]
    expect((await ask(limited)).status).toBe(429)
    const combo = async (name: string, strategy: string, models: ReadonlyArray<string>) => {
      await gateway.operator.call("POST", "/api/combos", { name, models, strategy, config: { maxRetries: 0 } })
      return ask(name)
    }
    const failed = await combo("in-vain", "priority", [limited, a, b])
    const line = await lineOf(failed)
    expect(line).toMatchObject({ level: "warn", status: 500, attempts: 2 })
    expect(line["route"]).toMatch(new RegExp(`^${a} failed 502 bad_gateway; ${b} failed 500 internal_server_error; ${limited} skipped model-cooldown until \\d{4}-\\d\\d-\\d\\dT`))
    const panel = await combo("panel-in-vain", "fusion", [a, b])
    expect((await lineOf(panel))["route"]).toContain(`${a} failed 502 bad_gateway`)
    const notLoggedIn = await combo("nobody-free", "priority", [limited])
    expect(notLoggedIn.status).toBe(503)
    expect((await lineOf(notLoggedIn))["route"]).toMatch(new RegExp(`^${limited} skipped model-cooldown until `))
  })
})
