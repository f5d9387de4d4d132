/**
 * What holds for every endpoint of requests without a conversation. The rows are the list of endpoints itself and the examples of their
 * descriptions: a new endpoint is tested without a line here.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as OneShots from "#src/oneShots.ts"
import { pictureOf } from "#src/simulator/formats/images.ts"
import { managedKey, Session } from "#test/features/leases/support.ts"
import { tone } from "#test/support/audio.ts"
import * as Forms from "#test/support/forms.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import type { Headers } from "#test/support/oneShots.ts"
import { openapi } from "#test/support/openapi.ts"
import { eventually } from "#test/support/operator.ts"
import { publicNames } from "#test/support/pages.ts"
import { type Sink, startSink } from "#test/support/sink.ts"

type Fields = Readonly<Record<string, unknown>>
interface Described {
  readonly schema: { readonly properties?: Readonly<Record<string, { readonly format?: string; readonly items?: { readonly format?: string } }>>; readonly required?: ReadonlyArray<string> }
  readonly example?: Fields
}
const spec = openapi<{
  readonly paths: Readonly<Record<string, { readonly post: {
    readonly requestBody: { readonly content: Readonly<Record<string, Described>> }
    readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, { readonly example?: Fields }>> }>>
  } }>>
}>()

const JSON_TYPE = "application/json"
const FORM_TYPE = "multipart/form-data"
const png = pictureOf("a", "8x8")

/** The fields of a request as its description shows them; of a form the required ones. */
const fieldsOf = ({ example, schema: { properties = {}, required = [] } }: Described): Fields =>
  example ?? Object.fromEntries(required.map((name) => {
    const format = properties[name]?.format ?? properties[name]?.items?.format
    return [name, format === "binary" ? name === "image" ? png : tone : "a text"]
  }))

const partOf = ([name, value]: readonly [string, unknown]): Forms.Part => Buffer.isBuffer(value)
  ? { name, value, filename: name === "image" ? "a.png" : "a.wav", type: name === "image" ? "image/png" : "audio/wav" }
  : { name, value: String(value) }

interface Row {
  readonly path: string
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: string
  readonly isForm: boolean
  readonly fields: Fields
  /** The request names its model. */
  readonly named: boolean
}

/** Google's methods, whose model stands in the path: they are mounted beside those of conversations. */
const content = { parts: [{ text: "a text" }] }
const methods: ReadonlyArray<Row> = [
  { path: "/v1beta/models/:model:embedContent", category: "embeddings", isForm: false, fields: { content }, named: true },
  { path: "/v1beta/models/:model:batchEmbedContents", category: "embeddings", isForm: false, fields: { requests: [{ content }, { content }] }, named: true },
  { path: "/v1beta/models/:model:predict", category: "images", isForm: false, fields: { instances: [{ prompt: "a cake" }], parameters: { sampleCount: 1 } }, named: true }
]

const listed = OneShots.endpoints.map(({ endpoint: category, path }): Row => {
  const post = spec.paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.post
  const content = post?.requestBody.content ?? {}
  const isForm = content[JSON_TYPE] === undefined
  const fields = fieldsOf(content[isForm ? FORM_TYPE : JSON_TYPE] as Described)
  const named = typeof fields["model"] === "string" || isForm
  // A request without a model is asked of the provider that its example's answer names.
  const provider = named ? undefined : post?.responses["200"]?.content[JSON_TYPE]?.example?.["provider"]
  return { path, category: category as string, isForm, fields: provider === undefined ? fields : { ...fields, provider }, named }
})

const rows: ReadonlyArray<Row> = [...listed, ...methods]

/** Who serves a row, and the id of the price of what it calls. */
interface Server {
  readonly id: string
  readonly prefix: string
  readonly connection: string
}

let lab: Lab
let sink: Sink
const servers = new Map<Row, Server>()

const callOf = ({ fields, isForm, named, path }: Row, prefix: string, name: string, headers: Headers = {}): Http.Call => {
  const model = `${prefix}/${name}`
  const said = !named || path.includes(":model") ? fields : { ...fields, model }
  return {
    path: path.replace(":provider", prefix).replace(":model", model),
    headers: { "x-gateway-no-cache": "true", ...(isForm ? { "content-type": Forms.contentType } : {}), ...headers },
    body: isForm ? Forms.bytes(Object.entries(said).map(partOf)) : said
  }
}

/** A general node, or the provider of the example at one of the places where the simulator serves vendors. */
const serverOf = async (row: Row): Promise<Server> => {
  const { operator, url } = lab.gateway
  const { model, provider = model?.split("/", 1)[0] ?? "none" } = row.fields as { readonly model?: string; readonly provider?: string }
  const known = [...servers.values()].find(({ prefix }) => prefix === provider)
  if (known !== undefined) return known
  if (row.named && (await Http.send(url, callOf(row, "lab", "lp-first"))).status === 200) return { id: lab.node, prefix: "lab", connection: lab.connection }
  for (const base of ["/v1", "", `/${provider.replace(/-search$/, "")}`]) {
    const connection = await operator.createConnection({ provider, apiKey: "lane-promises-credential-1", providerSpecificData: { baseUrl: `${lab.sim.url}${base}` } })
    if ((await Http.send(url, callOf(row, provider, "lp-first"))).status === 200) return { id: provider, prefix: provider, connection }
    await operator.removeConnection(connection)
  }
  throw new Error(`no server of the simulator answers the example of ${row.path}`)
}

beforeAll(async () => {
  // The receiver of webhooks listens on loopback.
  lab = await startLab({ network: publicNames, environment: { OUTBOUND_SSRF_GUARD_ENABLED: "false", GATEWAY_MAX_ATTEMPTS: "2" } })
  for (const row of rows) servers.set(row, await serverOf(row))
  sink = await startSink()
})
afterAll(async () => {
  await lab.close()
  await sink.close()
})

const slug = ({ path }: Row): string => path.replaceAll(/\W+/g, "-")
const serving = (row: Row): Server => servers.get(row) as Server
const ask = (row: Row, name: string, headers?: Headers) => Http.send(lab.gateway.url, callOf(row, serving(row).prefix, name, headers))
/** Calls that a piece of work makes of the upstream. */
const callsOf = async <A>(work: () => Promise<A>): Promise<readonly [A, number]> => {
  const before = (await lab.sim.entries({})).length
  const made = await work()
  return [made, (await lab.sim.entries({})).length - before]
}
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })
/** Moderations cost nothing, whatever their price. */
const costOf = ({ category }: Row): number => category === "moderations" ? 0 : 1
/** The model of the upstream: of a vendor without models the one that the registry gives it. */
const upstreamOf = async (row: Row, name: string): Promise<string> => row.named ? name : (await lab.rows(await ask(row, name)))[0]?.model as string
const priced = async (row: Row, name: string) => lab.gateway.operator.price(serving(row).id, await upstreamOf(row, name), { per_request: 1, per_query: 0, per_page: 0 })

it("the rows are all endpoints, each with a body", () => {
  expect(rows.length).toBeGreaterThan(15)
  expect(rows.filter(({ fields }) => Object.keys(fields).length === 0).map(({ path }) => path)).toEqual([])
})

describe.each(rows.map((row) => [row.path, row] as const))("%s", (_path, row) => {
  const name = `lp${slug(row)}`

  it("refuses keys that are unknown or for others, and what is no request, without a call", async () => {
    const { operator, url } = lab.gateway
    const other = row.category === "images" ? "chat" : "images"
    const [statuses, calls] = await callsOf(async () => {
      const { key } = await operator.createKey("other", { allowedEndpoints: [other] })
      const { key: elsewhere } = await operator.createKey("elsewhere", { allowedModels: ["lab/none"] })
      const sent = callOf(row, serving(row).prefix, name)
      const odd = row.isForm ? sent.body as Buffer : Buffer.from("{\"model\":")
      return Promise.all([
        ask(row, name, bearer("sk-none")), ask(row, name, bearer(key)), ask(row, name, bearer(elsewhere)),
        Http.send(url, { ...sent, body: odd.subarray(0, odd.length - 9) }), Http.send(url, { ...sent, headers: { ...sent.headers, "content-type": "image/png" } })
      ]).then((replies) => replies.map(({ status }) => status))
    })
    expect([statuses, calls]).toEqual([[401, 403, 403, 400, 415], 0])
  })

  it("leaves one row for its call, and tells cost, model and decision in headers", async () => {
    await priced(row, name)
    const [reply, calls] = await callsOf(() => ask(row, name, { "x-gateway-explain": "true", "x-gateway-session-id": "lp-tag" }))
    expect([reply.status, calls]).toEqual([200, 1])
    expect(reply.headers).toMatchObject({
      "x-gateway-response-cost": `${costOf(row)}.0000000000`, "x-gateway-model": expect.stringContaining("/"), "x-gateway-provider": expect.any(String), "x-gateway-session-id": "lp-tag",
      "x-gateway-decision": expect.stringMatching(/^strategy=single; provider=[\w-]+; latency_ms=\d+$/), "x-gateway-latency-ms": expect.stringMatching(/^\d+$/), "x-gateway-cache-hit": "false",
      "x-gateway-request-id": expect.any(String), "x-gateway-version": expect.any(String), "x-gateway-trace": expect.any(String)
    })
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", final: true, attempt: 1, connectionId: serving(row).connection, costUsd: costOf(row), unpriced: false }])
  })

  it("spends the budget of its key, and is refused when that is spent", async () => {
    const { operator } = lab.gateway
    const { id, key } = await operator.createKey("spends")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 1 })
    const [replies, calls] = await callsOf(async () => [await ask(row, name, bearer(key)), await ask(row, name, bearer(key))])
    expect(replies.map(({ status }) => status)).toEqual(costOf(row) === 0 ? [200, 200] : [200, 429])
    expect(calls).toBe(costOf(row) === 0 ? 2 : 1)
  })

  it("is made once under one Idempotency-Key, also where it passes as it comes", async () => {
    const headers = { "idempotency-key": `lp-${slug(row)}` }
    const [[first, again], calls] = await callsOf(async () => [await ask(row, name, headers), await ask(row, name, headers)] as const)
    expect([first.status, again.status, again.headers["x-gateway-idempotent"], calls]).toEqual([200, 200, "true", 1])
    expect(again.bytes.equals(first.bytes)).toBe(true)
  })

  it("is explained without a call", async () => {
    const [said] = await lab.rows(await ask(row, name))
    const model = `${serving(row).prefix}/${said?.model ?? ""}`
    const [explained, calls] = await callsOf(() => lab.gateway.operator.call("POST", "/api/routing/explain", { model, format: said?.sourceFormat }))
    expect(explained).toMatchObject({ error: null, targets: [{ model, connectionId: serving(row).connection, position: 1, skipped: null }] })
    expect(calls).toBe(0)
  })

  it("is told to webhooks, completed or failed, and its failure leaves a row that costs nothing", async () => {
    const { operator } = lab.gateway
    const { webhook } = await operator.call<{ webhook: { id: string } }>("POST", "/api/webhooks", { url: `${sink.url}/${name}`, events: ["request.completed", "request.failed"] })
    const told = () => sink.received.filter((one) => one.path === `/${name}`).map(({ json }) => json)
    const good = await ask(row, name)
    await eventually(async () => told(), ({ length }) => length === 1, "the event of the answer")
    await lab.sim.rule({ times: 1, script: { status: 400, error: { message: "it is odd" } } })
    const [bad, calls] = await callsOf(() => ask(row, name))
    await eventually(async () => told(), ({ length }) => length === 2, "the event of the failure")
    expect([bad.status, calls]).toEqual([400, 1])
    expect(told()).toMatchObject([
      { event: "request.completed", data: { trace_id: good.headers["x-gateway-request-id"], status: 200, cost_usd: expect.closeTo(costOf(row), 6) } },
      { event: "request.failed", data: { trace_id: bad.headers["x-gateway-request-id"], status: 400, attempts: 1 } }
    ])
    expect(await lab.rows(bad)).toMatchObject([{ outcome: "upstream-status", final: true, costUsd: 0, units: null }])
    await operator.call("DELETE", `/api/webhooks/${webhook.id}`)
  })

  it("goes on in a combo, with a row for each call", async () => {
    if (!row.named || row.path.includes(":provider")) return
    const { prefix } = serving(row)
    const combo = `lp${slug(row)}-combo`
    await lab.gateway.operator.call("POST", "/api/combos", { name: combo, models: [`${prefix}/${name}-bad`, `${prefix}/${name}`], config: { maxRetries: 0 } })
    await lab.sim.rule({ times: 1, script: { status: 503, error: { message: "away" } } })
    const [reply, calls] = await callsOf(() => Http.send(lab.gateway.url, callOf(row, "combo", combo)))
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"], reply.headers["x-gateway-decision"], calls]).toEqual([200, "1", expect.stringMatching(/^strategy=priority; /), 2])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "upstream-status", final: false, costUsd: 0 }, { outcome: "completed", final: true, costUsd: costOf(row) }])
  })

  it("with a managed key is served under its lease alone", async () => {
    const { connection, prefix } = serving(row)
    const { key } = await managedKey(lab.gateway, name, [connection])
    const session = new Session(lab.gateway, key)
    const model = row.named ? `${prefix}/${name}` : `${prefix}/${await upstreamOf(row, name)}`
    const [statuses, calls] = await callsOf(async () => {
      const none = await ask(row, name, bearer(key))
      const { generation } = await session.acquire(model)
      const held = await ask(row, name, session.headers(generation))
      const stale = await ask(row, name, session.headers(generation + 1))
      await session.ask({ action: "release", generation })
      return [none.status === 200, held.status, stale.status]
    })
    expect([statuses, calls]).toEqual([[false, 200, 409], 1])
  })
})

it("all calls of this file have their rows", async () => {
  expect(await lab.gateway.operator.settled()).toMatchObject({ gap: 0 })
})
