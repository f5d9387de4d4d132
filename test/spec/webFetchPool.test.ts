/** POST /v1/web/fetch without a provider: which of the pool is asked, when the next one is, and what is told when none is left. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { managedKey, Session } from "#test/features/leases/support.ts"
import { html, type Pages, startPages } from "#test/support/pages.ts"
import type { Headers } from "#test/support/oneShots.ts"

const paths = { firecrawl: "/firecrawl/scrape", "jina-reader": "/jina/", "tavily-search": "/tavily/extract", tinyfish: "/tinyfish/", "nimble-search": "/nimble/extract" } as const
const bases = { firecrawl: "/firecrawl", "jina-reader": "/jina", "tavily-search": "/tavily", tinyfish: "/tinyfish", "nimble-search": "/nimble" } as const
type Vendor = keyof typeof paths
const order = Object.keys(paths) as ReadonlyArray<Vendor>

let lab: Lab
let pages: Pages
let connections: Array<{ readonly provider: Vendor; readonly id: string }> = []
beforeAll(async () => {
  pages = await startPages({ "/page": html("<p>built in</p>") })
  lab = await startLab({ network: pages.network, resilience: "awake" })
  await lab.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: { enabled: true } })
})
afterAll(async () => {
  await lab.close()
  await pages.stop()
})
/** Fresh connections have no rests. */
beforeEach(async () => {
  for (const { id } of connections) await lab.gateway.operator.removeConnection(id)
  connections = []
})

const connect = async (...vendors: ReadonlyArray<Vendor>) => {
  for (const provider of vendors) {
    connections.push({ provider, id: await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-credential-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${bases[provider]}` } }) })
  }
}
const send = (body: Readonly<Record<string, unknown>> = {}, headers: Headers = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/web/fetch", headers, body: { url: `${pages.origin}/page`, ...body } })
const providerIn = (reply: Http.Reply): unknown => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return (JSON.parse(reply.text) as { readonly provider: unknown }).provider
}
const fails = (provider: Vendor, status: number, more: Readonly<Record<string, unknown>> = {}) =>
  lab.sim.rule({ match: { path: paths[provider] }, times: 1, script: { status, error: { message: `said ${status}` }, ...more } })
/** Providers that were asked while the work was done. */
const asked = async (work: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  const before = (await lab.sim.entries({})).length
  await work()
  return (await lab.sim.entries({})).slice(before).map(({ path }) => order.find((provider) => paths[provider] === path) ?? path)
}

describe("the pool", () => {
  it("is asked in its fixed order, whichever was connected first", async () => {
    await connect("nimble-search", "tinyfish", "firecrawl", "jina-reader")
    expect(await asked(async () => expect(providerIn(await send())).toBe("firecrawl"))).toEqual(["firecrawl"])
  })

  it("goes on from one to the next while their limits or plans are used up", async () => {
    await connect(...order)
    await fails("firecrawl", 402)
    await fails("jina-reader", 429)
    await fails("tavily-search", 432)
    await fails("tinyfish", 403)
    const replies: Array<Http.Reply> = []
    expect(await asked(async () => replies.push(await send()))).toEqual(order)
    const [reply] = replies
    expect([reply?.status, reply?.headers["x-gateway-fallback-attempts"], reply?.headers["x-gateway-model"]]).toEqual([200, "4", "nimble-search/page"])
    expect((await lab.rows(reply as Http.Reply)).map(({ final, outcome }) => [outcome, final])).toEqual([...order.slice(1).map(() => ["upstream-status", false]), ["completed", true]])
  })

  it.each([["firecrawl", 400], ["firecrawl", 500], ["jina-reader", 402], ["jina-reader", 403], ["tinyfish", 404]] as const)("does not go on from %s after %i, whose error it tells", async (provider, status) => {
    await connect(provider, "nimble-search")
    await fails(provider, status)
    expect(await asked(async () => {
      const reply = await send()
      expect([reply.status, errorIn(reply)["message"]]).toEqual([status, expect.stringContaining(`said ${status}`)])
    })).toEqual([provider])
  })

  it("that is used up answers one 429 with Retry-After, and then at once", async () => {
    await connect("firecrawl", "jina-reader")
    await fails("firecrawl", 429, { retryAfter: 77 })
    await fails("jina-reader", 429, { retryAfter: 77 })
    const told = (reply: Http.Reply) => {
      expect([reply.status, errorIn(reply)["code"], errorIn(reply)["message"]]).toEqual([429, "rate_limit_exceeded", "Every connected fetch provider is at its limit."])
      expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0)
    }
    expect(await asked(async () => told(await send()))).toEqual(["firecrawl", "jina-reader"])
    expect(await asked(async () => told(await send()))).toEqual([])
    await lab.gateway.operator.removeConnection((connections.pop() as { readonly id: string }).id)
    await connect("nimble-search")
    await fails("nimble-search", 402)
    expect(await asked(async () => told(await send()))).toEqual(["nimble-search"])
    // The built-in reader is no part of a pool that is configured; it serves who names it.
    expect(providerIn(await send({ provider: "rs-trafilatura" }))).toBe("rs-trafilatura")
  })

  it("passes over a provider that rests", async () => {
    await connect("firecrawl", "tinyfish")
    await fails("firecrawl", 429, { retryAfter: 600 })
    expect(await asked(async () => expect(providerIn(await send())).toBe("tinyfish"))).toEqual(["firecrawl", "tinyfish"])
    expect(await asked(async () => expect(providerIn(await send())).toBe("tinyfish"))).toEqual(["tinyfish"])
  })

  it("asks only those that give the format", async () => {
    await connect("jina-reader", "tavily-search", "tinyfish")
    await fails("jina-reader", 429)
    expect(await asked(async () => expect(providerIn(await send({ format: "html" }))).toBe("tinyfish"))).toEqual(["jina-reader", "tinyfish"])
    await lab.gateway.operator.removeConnection((connections.shift() as { readonly id: string }).id)
    const reply = await send({ format: "screenshot" })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, "format"])
  })

  it("is replaced by the built-in reader while none of it is connected", async () => {
    expect(await asked(async () => expect(providerIn(await send())).toBe("rs-trafilatura"))).toEqual([])
  })

  it("is explained, and one of it that was named and rests answers 429 for itself", async () => {
    await connect("firecrawl", "nimble-search")
    const { targets } = await lab.gateway.operator.call<{ readonly targets: ReadonlyArray<unknown> }>("POST", "/api/routing/explain", { model: "auto/web-fetch", format: "web-fetch" })
    expect(targets).toMatchObject([{ model: "firecrawl/page", position: 1 }, { model: "nimble-search/page", position: 2 }])
    await fails("firecrawl", 429, { retryAfter: 600 })
    expect((await send({ provider: "firecrawl" })).status).toBe(429)
    expect(await asked(async () => {
      const reply = await send({ provider: "firecrawl" })
      expect([reply.status, Number(reply.headers["retry-after"]) > 0]).toEqual([429, true])
    })).toEqual([])
  })
})

describe("a fetch", () => {
  it("spends the budget of its key at the operator's price, and is refused when that is spent", async () => {
    const { operator } = lab.gateway
    await connect("firecrawl")
    await operator.price("firecrawl", "page", { per_page: 1 })
    const { id, key } = await operator.createKey("pages")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 1 })
    const bearer = { authorization: `Bearer ${key}` }
    const first = await send({}, bearer)
    expect([first.status, first.headers["x-gateway-response-cost"]]).toEqual([200, "1.0000000000"])
    const second = await send({}, bearer)
    expect([second.status, errorIn(second)["code"]]).toEqual([429, "budget_exceeded"])
  })

  it("is made once under one Idempotency-Key", async () => {
    await connect("firecrawl")
    const headers = { "idempotency-key": "one-page" }
    expect(await asked(async () => {
      const [one, again] = [await send({}, headers), await send({}, headers)]
      expect([again.headers["x-gateway-idempotent"], again.text]).toEqual(["true", one.text])
    })).toEqual(["firecrawl"])
  })

  it("with a managed key is made under its lease alone", async () => {
    await connect("firecrawl")
    const key = await managedKey(lab.gateway, "fetching", [connections[0]?.id ?? ""])
    const session = new Session(lab.gateway, key.key)
    expect((await send({ provider: "firecrawl" }, { authorization: `Bearer ${key.key}` })).status).not.toBe(200)
    const { generation } = await session.acquire("firecrawl/page")
    expect((await send({ provider: "firecrawl" }, session.headers(generation))).status).toBe(200)
    expect((await send({ provider: "firecrawl" }, session.headers(generation + 1))).status).toBe(409)
  })
})

it("all calls of this file have their rows", async () => {
  expect(await lab.gateway.operator.settled()).toMatchObject({ gap: 0 })
})
