/**
 * Servers that answer with jobs: one row per vendor, and what each fault of the order or of the asking makes of the reply, the ledger's one
 * row, the price, and the upstream's own log.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { OneShotKind } from "#schemas/wire/formats.ts"
import { toneSeconds } from "#test/support/audio.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { callOf, type OneShot, oneShots, rowsOf } from "#test/support/oneShots.ts"
import { eventually } from "#test/support/operator.ts"
import { publicNames } from "#test/support/pages.ts"

interface JobKind {
  readonly provider: string
  readonly kind: OneShotKind
  /** Where the simulator serves it. */
  readonly base: string
  /** The calls that order the job, the first one first; `{model}` stands for the model. */
  readonly orders: ReadonlyArray<string>
  /** The calls that ask for it. */
  readonly asks: string
  /** What its models' names begin with. */
  readonly name: string
  readonly body?: Readonly<Record<string, unknown>>
  /** A price with which one request costs one USD. */
  readonly price: Record<string, number>
  /** One refused question ends it: a document is read again for little. */
  readonly isStrict?: true
  /** What the request costs is known before the answer. */
  readonly reserves?: false
}

const kinds: ReadonlyArray<JobKind> = [
  { provider: "xai", kind: "videos", base: "/v1", orders: ["/v1/videos/generations"], asks: "/v1/videos/WyJ*", name: "grok-imagine-jf", price: { per_second: 0.25 } },
  {
    provider: "gemini", kind: "videos", base: "/v1beta", orders: ["/v1beta/models/{model}:predictLongRunning"], asks: "/v1beta/models/*/operations/*", name: "veo-jf", price: { per_second: 0.25 }
  },
  {
    provider: "zai", kind: "videos", base: "/api/paas/v4", orders: ["/api/paas/v4/videos/generations"], asks: "/api/paas/v4/async-result/*", name: "cogvideox-jf", body: { prompt: "a cake", duration: 5 },
    price: { per_second: 0.2 }
  },
  { provider: "openrouter", kind: "videos", base: "/api/v1", orders: ["/api/v1/videos"], asks: "/api/v1/videos/WyJ*", name: "wan-jf", price: { per_second: 0.25 } },
  {
    provider: "azure-documents", kind: "ocr", base: "", orders: ["/documentintelligence/documentModels/{model}:analyze"], asks: "/documentintelligence/documentModels/*/analyzeResults/*", name: "jf",
    price: { per_page: 0.5 }, isStrict: true, reserves: false
  },
  {
    provider: "assemblyai", kind: "transcriptions", base: "/v2", orders: ["/v2/upload", "/v2/transcript"], asks: "/v2/transcript/*", name: "universal-jf", price: { per_second: 1 / toneSeconds }
  }
]

const rowOf = ({ body, kind }: JobKind): OneShot => {
  const row = oneShots.find((one) => one.kind === kind) as OneShot
  return body === undefined ? row : { ...row, body }
}

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ network: publicNames, environment: { FETCH_HEADERS_TIMEOUT_MS: "1500", STREAM_READINESS_TIMEOUT_MS: "1500", GATEWAY_MAX_ATTEMPTS: "4" } })
  for (const { base, provider } of kinds) {
    await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-jobs-00000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${base}` } })
  }
})
afterAll(() => lab.close())

let made = 0

const modelOf = async (kind: JobKind) => {
  const model = `${kind.name}-${++made}`
  await lab.gateway.operator.price(kind.provider, model, kind.price)
  return { model, asked: `${kind.provider}/${model}` }
}

const ask = (kind: JobKind, asked: string) => Http.send(lab.gateway.url, callOf(rowOf(kind), asked))
const questions = async (model: string) => (await lab.sim.entries({ model })).filter(({ method }) => method === "GET")

type Script = Record<string, unknown>

const nothing = { units: null, costUsd: 0, tokensIn: 0, tokensOut: 0 }
const internal = { message: "it broke", code: "internal" }

/** Faults of the call that orders the job. */
const orderFaults: ReadonlyArray<readonly [name: string, script: Script, status: number, outcome: string]> = [
  ["429", { status: 429, retryAfter: 77, error: { message: "slow down" } }, 429, "upstream-status"],
  ["400", { status: 400, error: { message: "it is odd", code: "odd" } }, 400, "upstream-status"],
  ["401", { status: 401 }, 401, "upstream-status"],
  ["503", { status: 503, error: internal }, 503, "upstream-status"],
  ["a reset", { resetAfter: "request" }, 502, "upstream-reset"],
  ["a cut", { status: 200, body: { hello: "there" }, closeAfter: { bytes: 5 } }, 502, "upstream-reset"],
  ["silence", { neverHead: true }, 504, "gateway-timeout"],
  ["a page", { html: true }, 502, "parse-error"],
  ["another document", { status: 200, body: { hello: "there" } }, 502, "parse-error"]
]

describe.each(orderFaults)("an order under %s", (_name, script, status, outcome) => {
  it.each(kinds.flatMap((kind) => kind.orders.map((order, step) => ({ kind, order, step, name: `${kind.provider}${order}` }))))("at $name fails once, costs nothing, and is not asked for", async ({ kind, order, step }) => {
    const { asked, model } = await modelOf(kind)
    const path = order.replace("{model}", model)
    const before = (await lab.sim.entries({})).length
    await lab.sim.rule({ match: { path }, times: 1, script })
    const reply = await ask(kind, asked)
    expect([reply.status, errorIn(reply)["code"]]).toEqual([status, expect.any(String)])
    const calls = (await lab.sim.entries({})).slice(before)
    expect(calls.map(({ method, path }) => [method, path])).toEqual(kind.orders.slice(0, step + 1).map((one) => ["POST", one.replace("{model}", model)]))
    expect(await eventually(() => rowsOf(lab, model), ({ length }) => length > 0, "its row")).toMatchObject([{ outcome, final: true, status, clientStatus: status, ...nothing }])
  })
})

/** Faults of the asking that pass by themselves. */
const passing: ReadonlyArray<readonly [name: string, script: Script]> = [
  ["503", { status: 503, error: internal }], ["429", { status: 429, error: { message: "slow down" } }], ["a reset", { resetAfter: "request" }],
  ["a cut", { status: 200, body: { hello: "there" }, closeAfter: { bytes: 5 } }], ["silence", { neverHead: true }]
]

describe.concurrent.each(passing)("a question under %s", (_name, script) => {
  it.each(kinds.filter(({ isStrict }) => isStrict !== true).map((kind) => [kind.provider, kind] as const))("to %s is asked again, as the job is paid for", async (_provider, kind) => {
    const { asked, model } = await modelOf(kind)
    await lab.sim.rule({ match: { path: kind.asks, model }, times: 1, script })
    const reply = await ask(kind, asked)
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
    const rows = await eventually(() => rowsOf(lab, model), ({ length }) => length > 0, "its row")
    expect(rows).toMatchObject([{ outcome: "completed", final: true, costUsd: expect.closeTo(1, 6) }])
    expect((await lab.sim.entries({ model })).filter(({ method }) => method === "POST").length).toBe(1)
  })
})

/** Faults of the asking that end it. */
const ending: ReadonlyArray<readonly [name: string, script: Script, status: number, outcome: string]> = [
  ["401", { status: 401 }, 401, "upstream-status"],
  ["404", { status: 404, error: { message: "no such job" } }, 404, "upstream-status"],
  ["a page", { html: true }, 502, "parse-error"],
  ["another document", { status: 200, body: { hello: "there" } }, 502, "parse-error"],
  ["no JSON", { status: 200, body: "}{", contentType: "application/json" }, 502, "parse-error"],
  ["an empty answer", { status: 200, body: "", contentType: "application/json" }, 502, "parse-error"]
]

describe.concurrent.each(ending)("a question under %s", (_name, script, status, outcome) => {
  it.each(kinds.map((kind) => [kind.provider, kind] as const))("to %s ends the job at once, in one row that costs nothing", async (_provider, kind) => {
    const { asked, model } = await modelOf(kind)
    await lab.sim.rule({ match: { path: kind.asks, model }, script })
    const reply = await ask(kind, asked)
    expect([reply.status, errorIn(reply)["code"]]).toEqual([status, expect.any(String)])
    expect((await questions(model)).length).toBe(1)
    expect(await eventually(() => rowsOf(lab, model), ({ length }) => length > 0, "its row")).toMatchObject([{ outcome, final: true, ...nothing }])
  })
})

describe.concurrent("a server that refuses every question", () => {
  it.each(kinds.map((kind) => [kind.provider, kind] as const))("of %s is given up, and a combo orders elsewhere", async (_provider, kind) => {
    const [bad, good] = [await modelOf(kind), await modelOf(kind)]
    await lab.sim.rule({ match: { path: kind.asks, model: bad.model }, script: { status: 503, error: internal } })
    const name = `jf-combo-${++made}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models: [bad.asked, good.asked], config: { maxRetries: 0 } })
    const reply = await ask(kind, `combo/${name}`)
    expect([reply.status, reply.headers["x-gateway-model"], reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, good.asked, "1"])
    expect((await questions(bad.model)).length).toBe(kind.isStrict === true ? 1 : 4)
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "upstream-status", final: false, ...nothing }, { outcome: "completed", final: true, costUsd: expect.closeTo(1, 6) }])
  })
})

describe.concurrent("a client that leaves while its job is made", () => {
  it.each(kinds.map((kind) => [kind.provider, kind] as const))("of %s ends the asking, and what was ordered is due", async (_provider, kind) => {
    const { asked, model } = await modelOf(kind)
    await lab.sim.rule({ match: { path: kind.asks, model }, script: { neverHead: true } })
    const { request } = Http.open(lab.gateway.url, callOf(rowOf(kind), asked))
    await eventually(() => questions(model), ([one]) => one?.outcome === "open", "a question about the job")
    request.destroy()
    await eventually(() => questions(model), ([one]) => one?.outcome === "client-aborted", "its end")
    const rows = await eventually(() => rowsOf(lab, model), ({ length }) => length > 0, "its row")
    expect(rows).toMatchObject([{ outcome: "client-abort", final: true, status: 499, costUsd: expect.closeTo(kind.reserves === false ? 0 : 1, 6) }])
  })
})

it("all calls of this file have their rows", async () => {
  expect(await lab.gateway.operator.settled()).toMatchObject({ gap: 0 })
})
