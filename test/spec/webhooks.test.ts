import { createHmac } from "node:crypto"
import * as Context from "effect/Context"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Events } from "#actors/webhook/Events.ts"
import { chatLine, Client } from "#test/features/batches/support.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Answer, type Sink, startSink } from "#test/support/sink.ts"

interface View {
  readonly id: string
  readonly secret: string
  readonly enabled: boolean
  readonly failure_count: number
  readonly last_status: number | null
  readonly last_triggered_at: string | null
  readonly metadata: Record<string, string> | null
  readonly [field: string]: unknown
}
interface Delivery {
  readonly id: string
  readonly eventType: string
  readonly status: string
  readonly httpStatus: number | null
  readonly error: string | null
  readonly payloadSnapshot: string | null
}

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

const sinkOf = async (answer?: Answer) => {
  const sink = await startSink(answer)
  sinks.push(sink)
  return sink
}
const add = async (body: Record<string, unknown>): Promise<View> =>
  (await lab.gateway.operator.call<{ webhook: View }>("POST", "/api/webhooks", body)).webhook
const read = async (id: string): Promise<View> => (await lab.gateway.operator.call<{ webhook: View }>("GET", `/api/webhooks/${id}`)).webhook
const deliveries = async (id: string) =>
  (await lab.gateway.operator.call<{ deliveries: ReadonlyArray<Delivery> }>("GET", `/api/webhooks/${id}/deliveries`)).deliveries
const remove = (id: string) => lab.gateway.operator.call("DELETE", `/api/webhooks/${id}`)
const put = async (id: string, change: Record<string, unknown>) =>
  (await lab.gateway.operator.call<{ webhook: View }>("PUT", `/api/webhooks/${id}`, change)).webhook
const idOf = (reply: Http.Reply) => reply.headers["x-gateway-request-id"] ?? "none"

describe("webhooks over HTTP", () => {
  it("a created webhook has a generated secret, shown whole in the detail and masked in the list", async () => {
    const sink = await sinkOf()
    const made = await add({ url: `${sink.url}/a`, active: false, description: "first" })
    expect(made).toMatchObject({ events: ["*"], enabled: false, kind: "custom", failure_count: 0, last_triggered_at: null, last_status: null, metadata: null })
    expect(made.secret).toMatch(/^whsec_[0-9a-f]{48}$/)
    expect(await read(made.id)).toEqual(made)
    const { webhooks } = await lab.gateway.operator.call<{ webhooks: ReadonlyArray<View> }>("GET", "/api/webhooks")
    expect(webhooks.find(({ id }) => id === made.id)?.secret).toBe(`${made.secret.slice(0, 10)}...`)
    expect(await put(made.id, { secret: "my own", events: ["quota.exceeded"], description: null })).toMatchObject({ secret: "my own", events: ["quota.exceeded"], description: null, url: `${sink.url}/a` })
    expect(await lab.gateway.operator.call("DELETE", `/api/webhooks/${made.id}`)).toEqual({ success: true })
    for (const [method, path] of [["GET", ""], ["PUT", ""], ["DELETE", ""], ["POST", "/test"], ["GET", "/deliveries"]] as const) {
      expect((await lab.gateway.operator.raw(method, `/api/webhooks/${made.id}${path}`, method === "PUT" ? {} : undefined)).status).toBe(404)
    }
  })

  it("an unknown event of a subscription is kept with a warning and hears nothing; known ones are taken in any case", async () => {
    const { url } = await sinkOf()
    const { warning, webhook } = await lab.gateway.operator.call<{ webhook: View; warning?: string }>("POST", "/api/webhooks", { url, events: ["REQUEST.failed", "combo.switched"], active: false })
    expect([webhook["events"], warning]).toEqual([["request.failed", "combo.switched"], "No event is called combo.switched: nothing is sent for it."])
    const changed = await lab.gateway.operator.call<{ warning?: string }>("PUT", `/api/webhooks/${webhook.id}`, { events: ["request.completed", "future.event"] })
    expect(changed).toMatchObject({ webhook: { events: ["request.completed", "future.event"] }, warning: expect.stringContaining("future.event") })
    expect(await lab.gateway.operator.call("PUT", `/api/webhooks/${webhook.id}`, { events: ["*"] })).not.toHaveProperty("warning")
    for (const events of [[""], [7], ["x".repeat(201)]]) expect((await lab.gateway.operator.raw("POST", "/api/webhooks", { url, events })).status).toBe(400)
    await remove(webhook.id)
  })

  it("enabled is 0, 1 or a boolean in a body, and a boolean in every reply", async () => {
    const { url } = await sinkOf()
    for (const [body, enabled] of [[{ enabled: 0 }, false], [{ enabled: 1 }, true], [{ active: 0 }, false], [{ active: 1 }, true], [{ enabled: false }, false], [{}, true]] as const) {
      const made = await add({ url, ...body })
      expect([body, made.enabled]).toEqual([body, enabled])
      for (const [again, seen] of [[0, false], [1, true], [false, false], [true, true]] as const) {
        expect((await put(made.id, { enabled: again })).enabled).toBe(seen)
        expect((await read(made.id)).enabled).toBe(seen)
      }
      await remove(made.id)
    }
    for (const enabled of [2, -1, "1", "true", null]) {
      expect([enabled, (await lab.gateway.operator.raw("POST", "/api/webhooks", { url, enabled })).status]).toEqual([enabled, 400])
    }
  })

  it("the list shows the first characters of a secret, and never more than a third of it", async () => {
    const { url } = await sinkOf()
    for (const [secret, shown] of [["a", "..."], ["hush", "h..."], ["hush-hush", "hus..."], ["n".repeat(29), `${"n".repeat(9)}...`], ["n".repeat(90), `${"n".repeat(10)}...`]] as const) {
      const made = await add({ url, active: false, secret })
      const { webhooks } = await lab.gateway.operator.call<{ webhooks: ReadonlyArray<View> }>("GET", "/api/webhooks")
      expect(webhooks.find(({ id }) => id === made.id)?.secret).toBe(shown)
      await remove(made.id)
    }
  })

  it("bodies that are not as documented are refused with the field's name", async () => {
    for (const body of [{}, { url: "" }, { url: "ftp://x.test/" }, { url: "http://169.254.169.254/" }, { url: "https://user:pw@example.test/" },
      { url: "http://127.0.0.1:1/", kind: "pigeon" }, { url: "http://127.0.0.1:1/", surprise: 1 }, { url: "not a chat", kind: "telegram", metadata: { botToken: "1:x" } },
      { url: "-100123", kind: "telegram" }, { url: "-100123", kind: "telegram", metadata: { botToken: "1/../x" } }]) {
      expect([body, (await lab.gateway.operator.raw("POST", "/api/webhooks", body)).status]).toEqual([body, 400])
    }
  })

  it("validate-url answers 200 whatever the verdict, and 400 for a malformed body", async () => {
    const ask = (body: unknown) => lab.gateway.operator.raw("POST", "/api/webhooks/validate-url", body)
    const verdict = async (url: string) => JSON.parse((await ask({ url })).text) as { valid: boolean; reason?: string }
    expect(await verdict("http://127.0.0.1:1/x")).toEqual({ valid: true })
    expect(await verdict("http://169.254.169.254/latest")).toMatchObject({ valid: false, reason: expect.any(String) as string })
    expect(await verdict("gopher://127.0.0.1/")).toMatchObject({ valid: false })
    await lab.gateway.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "true")
    expect(await verdict("http://127.0.0.1:1/x")).toMatchObject({ valid: false })
    await lab.gateway.operator.clearFlags()
    expect((await ask({})).status).toBe(400)
    expect((await ask({ url: 1 })).status).toBe(400)
  })

  it("a completed request is told with its figures, signed over the raw body, with the documented headers", async () => {
    const sink = await sinkOf()
    const { id, secret } = await add({ url: `${sink.url}/hook?x=1`, events: ["request.completed"] })
    const { id: keyId, key } = await lab.gateway.operator.createKey("hooked")
    const reply = await lab.chat({ model: "tokens-3" }, { authorization: `Bearer ${key}` })
    await sink.arrived(1)
    const [got] = sink.received
    const [row] = await lab.rows(reply)
    expect(got?.json).toEqual({
      event: "request.completed", timestamp: new Date(row?.settledAt ?? 0).toISOString(),
      data: {
        trace_id: idOf(reply), api_key_id: keyId, provider: "lab", model: "tokens-3", status: 200, tokens_in: row?.tokensIn, tokens_out: row?.tokensOut,
        cost_usd: row?.costUsd, event_id: `evt_${idOf(reply)}`
      }
    })
    expect(got?.path).toBe("/hook?x=1")
    expect(got?.headers).toMatchObject({
      "content-type": "application/json", "user-agent": "Gateway-Webhook/1.0", "x-webhook-event": "request.completed",
      "x-webhook-timestamp": got?.json.timestamp, "x-webhook-signature": `sha256=${createHmac("sha256", secret).update(got?.body ?? "").digest("hex")}`
    })
    const after = await eventually(() => read(id), (seen) => seen.last_status === 200, "the mark of the delivery")
    expect(after.failure_count).toBe(0)
    expect(await deliveries(id)).toMatchObject([{ eventType: "request.completed", status: "success", httpStatus: 200, error: null, payloadSnapshot: got?.body.slice(0, 2_000) }])
    await remove(id)
  })

  it("a failed request is told once with its reason; refused keys and clients that leave are not", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["request.failed"] })
    await lab.sim.rule({ match: { model: "wh-broken" }, script: { status: 500 } })
    const reply = await lab.chat({ model: "wh-broken" })
    await sink.arrived(1)
    await Http.send(lab.gateway.url, lab.call({ model: "tokens-1" }, { authorization: "Bearer sk-wrong" }))
    const second = await lab.chat({ model: "wh-broken" })
    await sink.arrived(2)
    await lab.gateway.rows()
    expect(sink.received.map(({ json }) => json.data?.["trace_id"])).toEqual([idOf(reply), idOf(second)])
    expect(sink.received[0]?.json).toMatchObject({
      event: "request.failed", data: { status: reply.status, model: "wh-broken", attempts: 1, error_code: expect.any(String) as string, error_message: expect.any(String) as string, latency_ms: expect.any(Number) as number }
    })
    await remove(id)
  })

  it("a request that several models had a part in is told with what all of its calls used", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["request.completed"] })
    for (const model of ["tokens-4", "tokens-5"]) await lab.gateway.operator.price("lab", model, { input: 100, output: 100 })
    await lab.gateway.operator.call("POST", "/api/combos", { name: "panel", strategy: "fusion", models: ["lab/tokens-4", "lab/tokens-5"] })
    // A correlation id of the client's own, as it may stand on each request of a conversation.
    const headers = { "x-request-id": "trace-7" }
    const replies = [await lab.chat({ model: "combo/panel" }, headers), await lab.chat({ model: "combo/panel", seed: 1 }, headers)]
    await sink.arrived(2)
    const [first, second] = sink.received.map(({ json }) => json.data)
    for (const [i, data] of [first, second].entries()) {
      const { headers: told } = replies[i] as Http.Reply
      expect(data).toMatchObject({
        trace_id: "trace-7", cost_usd: Number(told["x-gateway-response-cost"]), tokens_in: Number(told["x-gateway-tokens-in"]), tokens_out: Number(told["x-gateway-tokens-out"])
      })
    }
    expect(first?.["event_id"]).not.toBe(second?.["event_id"])
    await remove(id)
  })

  it("a request for which no target is free is told with its key and the model that it asked for", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["request.failed"] })
    const { id: keyId, key } = await lab.gateway.operator.createKey("shut out")
    const node = await lab.gateway.operator.createNode({ prefix: "closed", baseUrl: `${lab.sim.url}/v1` })
    const connection = await lab.gateway.operator.createConnection({ provider: node, apiKey: "sk-closed" })
    await lab.gateway.operator.changeConnection(connection, { isActive: false })
    const authorization = `Bearer ${key}`
    const replies = [
      await lab.chat({ model: "closed/tokens-1" }, { authorization }),
      await Http.send(lab.gateway.url, { path: "/v1/embeddings", headers: { authorization }, body: { model: "closed/embed", input: "x" } })
    ]
    await sink.arrived(2)
    const asked = { api_key_id: keyId, attempts: 0 }
    expect(sink.received.map(({ json }) => json)).toMatchObject(replies.map((reply, i) => ({
      event: "request.failed", data: { ...asked, trace_id: idOf(reply), status: reply.status, model: i === 0 ? "closed/tokens-1" : "closed/embed" }
    })))
    await remove(id)
  })

  it("a budget is told at its threshold and when it is used up, each once", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["quota.exceeded"] })
    await lab.gateway.operator.price("lab", "tokens-6", { input: 100, output: 100 })
    const { headers } = await lab.chat({ model: "tokens-6" })
    const cost = Number(headers["x-gateway-response-cost"])
    const { id: keyId, key } = await lab.gateway.operator.createKey("thrifty")
    const limit = Math.round(cost * 3.9e6) / 1e6
    await lab.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: keyId, dailyLimitUsd: limit, warningThreshold: 0.5 })
    for (let n = 0; n < 4; n++) expect((await lab.chat({ model: "tokens-6", max_tokens: 6 }, { authorization: `Bearer ${key}` })).status).toBe(200)
    await sink.arrived(2)
    const pct = (calls: number) => expect.closeTo(calls * cost / limit * 100, 1) as number
    expect(sink.received.map(({ json }) => json.data)).toMatchObject([
      { api_key_id: keyId, quota: "budget", scope: "daily", limit, pct: pct(2) }, { api_key_id: keyId, quota: "budget", scope: "daily", limit, pct: pct(4) }
    ])
    await remove(id)
  })

  it("a passed limit that two emitters saw is told once", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["quota.exceeded"] })
    const events = Context.get(lab.gateway.services(), Events)
    const data = { api_key_id: "k", quota: "daily_usd", scope: "global", used: 2, limit: 1, pct: 200, resets_at: "2099-01-01T00:00:00.000Z" } as const
    // Not before the webhook was made: of that it hears nothing.
    const at = Date.now()
    for (const used of [2, 3]) events.publish({ type: "quota.exceeded", at, data: { ...data, used } })
    events.publish({ type: "quota.exceeded", at, data: { ...data, resets_at: "2099-01-02T00:00:00.000Z" } })
    await sink.arrived(2)
    expect(sink.received.map(({ json }) => json)).toMatchObject([
      { event: "quota.exceeded", timestamp: new Date(at).toISOString(), data }, { data: { resets_at: "2099-01-02T00:00:00.000Z" } }
    ])
    await remove(id)
  })

  it("a receiver that fails ten deliveries is switched off; enabled true starts it anew, and a test is sent even while it is off", async () => {
    const sink = await sinkOf(404)
    const { id } = await add({ url: sink.url, events: ["request.completed"] })
    for (let n = 0; n < 10; n++) await lab.chat({ model: "tokens-1" })
    const off = await eventually(() => read(id), (seen) => !seen.enabled, "the webhook's end")
    expect(off).toMatchObject({ failure_count: 10, last_status: 404 })
    expect(await deliveries(id)).toHaveLength(10)
    sink.answer = 200
    expect(await lab.gateway.operator.call("POST", `/api/webhooks/${id}/test`)).toEqual({ delivered: true, status: 200, error: null })
    expect(await put(id, { enabled: true })).toMatchObject({ enabled: true, failure_count: 0 })
    const reply = await lab.chat({ model: "tokens-1" })
    await eventually(async () => sink.received.map(({ json }) => json.data?.["trace_id"]), (seen) => seen.includes(idOf(reply)), "the event after")
    await remove(id)
  })

  it("test.ping is one attempt, told as it went", async () => {
    const sink = await sinkOf(500)
    const { id } = await add({ url: sink.url, events: ["request.failed"] })
    expect(await lab.gateway.operator.call("POST", `/api/webhooks/${id}/test`)).toEqual({ delivered: false, status: 500, error: "HTTP 500" })
    expect(sink.received).toHaveLength(1)
    expect(sink.received[0]?.json).toMatchObject({ event: "test.ping", data: { message: expect.any(String) as string, webhookId: id } })
    await put(id, { url: "http://127.0.0.1:1/" })
    expect(await lab.gateway.operator.call("POST", `/api/webhooks/${id}/test`)).toMatchObject({ delivered: false, status: 0 })
    expect(await read(id)).toMatchObject({ failure_count: 2, last_status: 0 })
    await remove(id)
  })

  it("a past delivery is sent again: the same body and event id, a fresh signature and time, and one more delivery", async () => {
    const sink = await sinkOf(404)
    const { id } = await add({ url: sink.url, events: ["request.completed"] })
    const reply = await lab.chat({ model: "tokens-1" })
    const [first] = await eventually(() => deliveries(id), (seen) => seen.length === 1, "the first delivery")
    const path = `/api/webhooks/${id}/deliveries/${first?.id}/replay`
    sink.answer = 200
    await put(id, { secret: "the-secret-after" })
    expect(await lab.gateway.operator.call("POST", path)).toEqual({ delivered: true, status: 200, error: null })
    const [before, again] = sink.received
    expect(sink.received).toHaveLength(2)
    expect(again?.body).toBe(before?.body)
    expect(again?.json.data?.["event_id"]).toBe(`evt_${idOf(reply)}`)
    expect(again?.headers["x-webhook-signature"]).toBe(`sha256=${createHmac("sha256", "the-secret-after").update(again?.body ?? "").digest("hex")}`)
    expect(Date.parse(again?.headers["x-webhook-timestamp"] ?? "")).toBeGreaterThan(Date.parse(before?.headers["x-webhook-timestamp"] ?? ""))
    expect(await deliveries(id)).toMatchObject([{ status: "success", httpStatus: 200, payloadSnapshot: again?.body }, { id: first?.id, status: "failed", httpStatus: 404 }])
    expect(await read(id)).toMatchObject({ failure_count: 0, last_status: 200 })
    sink.answer = 500
    expect(await lab.gateway.operator.call("POST", path)).toEqual({ delivered: false, status: 500, error: "HTTP 500" })
    await lab.gateway.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "true")
    expect(await lab.gateway.operator.call("POST", path)).toMatchObject({ delivered: false, status: 0 })
    await lab.gateway.operator.clearFlags()
    expect(sink.received).toHaveLength(3)
    expect(await read(id)).toMatchObject({ failure_count: 2 })
    await remove(id)
  })

  it("no delivery is sent again for a webhook that is off, without its whole body, or of another webhook", async () => {
    const sink = await sinkOf()
    const [made, chat] = [await add({ url: sink.url, active: false }), await add({ url: `${sink.url}/slack`, kind: "slack" })]
    for (const { id } of [made, chat]) await lab.gateway.operator.call("POST", `/api/webhooks/${id}/test`)
    const [delivery] = await deliveries(made.id)
    const [told] = await deliveries(chat.id)
    const replay = async (id: string, deliveryId: string | undefined) => {
      const { status, text } = await lab.gateway.operator.raw("POST", `/api/webhooks/${id}/deliveries/${deliveryId}/replay`)
      return [status, (JSON.parse(text) as { error?: { code: string } }).error?.code]
    }
    expect(await replay(made.id, delivery?.id)).toEqual([409, "WEBHOOK_OFF"])
    await put(made.id, { enabled: true })
    expect(await replay(made.id, told?.id)).toEqual([404, "not_found"])
    expect(await replay("nobody", delivery?.id)).toEqual([404, "not_found"])
    expect(await replay(chat.id, told?.id)).toEqual([410, "BODY_NOT_KEPT"])
    const id = `long-${"x".repeat(3_000)}`
    Context.get(lab.gateway.services(), Events).publish({
      type: "quota.exceeded", at: Date.now(), data: { api_key_id: id, quota: "daily_usd", scope: "global", used: 2, limit: 1, pct: 200, resets_at: null }
    })
    const long = await eventually(async () => (await deliveries(made.id)).find(({ eventType }) => eventType === "quota.exceeded"), (seen) => seen !== undefined, "the long delivery")
    expect(await replay(made.id, long?.id)).toEqual([410, "BODY_NOT_KEPT"])
    for (const webhook of [made, chat]) await remove(webhook.id)
  })

  it("a receiver that says nothing holds up nobody else", async () => {
    const [slow, quick] = [await sinkOf("slow"), await sinkOf()]
    const ids = [(await add({ url: slow.url })).id, (await add({ url: quick.url })).id]
    for (let n = 0; n < 12; n++) await lab.chat({ model: "tokens-1" })
    await quick.arrived(12)
    expect(slow.received.length).toBeLessThanOrEqual(8)
    for (const id of ids) await remove(id)
  })

  it("chat tools get a text in their own form, without signature, and their credentials are shown to nobody", async () => {
    const sink = await sinkOf()
    const canary = "7777:canary_BotTokenNeverShown"
    const slack = await add({ url: `${sink.url}/slack`, kind: "slack" })
    const discord = await add({ url: `${sink.url}/discord`, kind: "discord" })
    const telegram = await add({ url: "-100123", kind: "telegram", metadata: { botToken: canary, apiUrl: sink.url } })
    expect(telegram.metadata).toEqual({ botToken: "[redacted]", apiUrl: sink.url })
    await put(telegram.id, { metadata: { botToken: "[redacted]", apiUrl: sink.url } })
    for (const { id } of [slack, discord, telegram]) expect(await lab.gateway.operator.call("POST", `/api/webhooks/${id}/test`)).toMatchObject({ delivered: true })
    const bodies = Object.fromEntries(sink.received.map(({ json, path }) => [path, json]))
    const text = expect.stringContaining("test.ping") as string
    expect(bodies).toEqual({ "/slack": { text }, "/discord": { content: text }, [`/bot${canary}/sendMessage`]: { chat_id: "-100123", text } })
    for (const { headers } of sink.received) expect(Object.keys(headers).filter((name) => name.startsWith("x-webhook"))).toEqual([])
    expect(await deliveries(slack.id)).toMatchObject([{ payloadSnapshot: null, status: "success" }])
    sink.answer = 503
    const made = sink.received.length
    const reply = await lab.chat({ model: "tokens-1" })
    await sink.arrived(made + 3)
    for (const { id } of [slack, discord, telegram]) await eventually(() => read(id), (seen) => seen.failure_count === 1, "one failed delivery")
    expect(sink.received).toHaveLength(made + 3)
    expect(sink.received.slice(made).every(({ body }) => body.includes(idOf(reply)))).toBe(true)
    const shown = JSON.stringify([await deliveries(telegram.id), (await lab.gateway.operator.raw("GET", "/api/compliance/audit-log")).text, await read(telegram.id)]) + lab.gateway.output()
    expect(shown).not.toContain("canary_Bot")
    for (const { id } of [slack, discord, telegram]) await remove(id)
  })

  it("of events that come late a webhook hears those since it was made or switched on, each once", async () => {
    const [sink, other] = [await sinkOf(), await sinkOf()]
    const there = await add({ url: other.url, events: ["quota.exceeded"] })
    await put(there.id, { description: "changed, and still there since it was made" })
    const events = Context.get(lab.gateway.services(), Events)
    const publish = (scope: string, at: number) => events.publish({
      type: "quota.exceeded", at, data: { api_key_id: "late", quota: "daily_usd", scope, used: 1, limit: 1, pct: 100, resets_at: "2099-01-01T00:00:00.000Z" }
    })
    const before = Date.now()
    await eventually(async () => Date.now(), (now) => now > before, "the next millisecond")
    const made = await add({ url: sink.url, events: ["quota.exceeded"] })
    const scopes = (from: Sink) => from.received.map(({ json }) => json.data?.["scope"])
    for (const [scope, at] of [["old", before], ["older", before - 60_000], ["new", Date.now()], ["old", before]] as const) publish(scope, at)
    await sink.arrived(1)
    await put(made.id, { enabled: false })
    const off = Date.now()
    await eventually(async () => Date.now(), (now) => now > off, "the next millisecond")
    await put(made.id, { enabled: true })
    for (const [scope, at] of [["while off", off], ["after", Date.now()]] as const) publish(scope, at)
    await sink.arrived(2)
    await other.arrived(4)
    expect(scopes(sink)).toEqual(["new", "after"])
    expect(scopes(other)).toEqual(["old", "new", "while off", "after"])
    for (const { id } of [made, there]) await remove(id)
  })

  it("the end of a batch is told with its counts and files", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["batch.completed", "batch.failed"] })
    const client = new Client(lab.gateway.url, await lab.gateway.operator.createKey("batched"))
    const good = await client.over((await client.create([chatLine("a", "lab/tokens-1"), chatLine("b", "nowhere/at-all")])).id)
    const bad = await client.over((await client.create(["{broken"])).id)
    await sink.arrived(2)
    const dataOf = (type: string) => sink.received.find(({ json }) => json.event === type)?.json.data
    expect(dataOf("batch.completed")).toEqual({
      id: good.id, api_key_id: client.keyId, endpoint: "/v1/chat/completions", model: "", requests_total: 2, requests_completed: 1, requests_failed: 1,
      input_file_id: good.input_file_id, output_file_id: good.output_file_id, error_file_id: good.error_file_id, error_message: null, event_id: `evt_${good.id}`
    })
    expect(dataOf("batch.failed")).toMatchObject({ id: bad.id, requests_total: 0, output_file_id: null, error_message: expect.stringContaining("Line 1") as string })
    await remove(id)
  })

  it("events outlive a restart, and what waits for a receiver that is off is sent when it is on again", async () => {
    const sink = await sinkOf()
    const { id } = await add({ url: sink.url, events: ["request.completed"] })
    const replies = [await lab.chat({ model: "tokens-1" }), await lab.chat({ model: "tokens-1" })]
    await lab.gateway.restart()
    await eventually(async () => new Set(sink.received.map(({ json }) => json.data?.["trace_id"])), (seen) => replies.every((reply) => seen.has(idOf(reply))), "both events")
    await remove(id)
  })
})
