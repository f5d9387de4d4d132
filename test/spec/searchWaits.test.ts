/** A search and a page of a provider that is named: its 429 is passed on at once, whatever waitForCooldown says. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { publicNames } from "#test/support/pages.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake", network: publicNames })
  await lab.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: { enabled: true, maxRetries: 3, maxRetryWaitSec: 30 } })
  for (const [provider, path] of [["exa-search", "/exa"], ["firecrawl", "/firecrawl"]] as const) {
    await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-credential-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${path}` } })
  }
})
afterAll(() => lab.close())

describe.each([
  { name: "a search", path: "/v1/search", at: "/exa/search", body: { provider: "exa-search", query: "a cake" } },
  { name: "a page", path: "/v1/web/fetch", at: "/firecrawl/scrape", body: { provider: "firecrawl", url: "https://www.example.com/a" } }
])("$name", ({ at, body, path }) => {
  const send = () => Http.send(lab.gateway.url, { path, headers: { "x-gateway-no-cache": "true" }, body })

  it("is told of a 429 at once, and the next one of the cooldown", async () => {
    await lab.sim.rule({ match: { path: at }, script: { status: 429, retryAfter: 9, error: { message: "it said slow down" } } })
    const [first, second] = [await send(), await send()]
    expect([first.status, errorIn(first)["message"], first.headers["retry-after"]]).toEqual([429, "it said slow down", "9"])
    expect([second.status, errorIn(second)["code"]]).toEqual([429, "model_cooldown"])
    expect((await lab.sim.entries({ path: at })).length).toBe(1)
  })
})

it("a conversation still waits for its model", async () => {
  await lab.pool("w", ["w-credential-number-0"])
  await lab.sim.rule({ match: { model: "limited" }, script: { status: 429, retryAfter: 1, error: { message: "limit" } }, times: 1 })
  await lab.sim.rule({ match: { model: "limited" }, script: { text: "well again" } })
  const reply = await lab.chat({ model: "w/limited" })
  expect([reply.status, (await lab.rows(reply)).map(({ status }) => status)]).toEqual([200, [429, 200]])
})
