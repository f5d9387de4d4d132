/** Counting tokens for whatever a client may call: combos, mappings and automatic routing, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ resilience: "awake", environment: { GATEWAY_EMERGENCY_FALLBACK_MODEL: "lab/tc-gift" } })
  combos = combosOf(lab, "tc")
})
afterAll(() => lab.close())

const countMessages = (model: string, headers: Record<string, string> = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/messages/count_tokens", headers, body: { model, messages } })
const countContents = (model: string) =>
  Http.send(lab.gateway.url, { path: `/v1beta/models/${encodeURIComponent(model)}:countTokens`, body: { contents: [{ role: "user", parts: [{ text: messages[0].content }] }] } })
/** An estimate, which a busy machine makes in a coarser way. */
const counted = (reply: Http.Reply): number => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  const { input_tokens, totalTokens } = JSON.parse(reply.text) as { input_tokens?: number; totalTokens?: number }
  return input_tokens ?? totalTokens ?? 0
}

describe("a token count", () => {
  it.each([["count_tokens", countMessages], ["countTokens", countContents]] as const)("%s takes combos by both names, mappings and auto, as it takes a model", async (_name, count) => {
    const place = await combos.place()
    await lab.gateway.operator.changeConnection(place.connections[0] ?? "", { defaultModel: place.upstream })
    const combo = await combos.combo("priority", [place.model])
    const { combos: all } = await lab.gateway.operator.call<{ combos: ReadonlyArray<{ id: string; name: string }> }>("GET", "/api/combos")
    const name = combo.slice("combo/".length)
    await lab.gateway.operator.call("POST", "/api/model-combo-mappings", { pattern: `mapped-${name}`, comboId: all.find((one) => one.name === name)?.id })
    for (const model of [place.model, combo, name, `mapped-${name}`, "auto"]) expect(counted(await count(model)), model).toBeGreaterThan(0)
    expect((await combos.seen(place)).length).toBe(0)
  })

  it("takes nobody's turn", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    const model = await combos.combo("round-robin", [a.model, b.model], { config: { stickyRoundRobinLimit: 1 } })
    const first = answerOf(await lab.chat({ model }))
    counted(await countMessages(model))
    const second = answerOf(await lab.chat({ model }))
    expect(new Set([first, second])).toEqual(new Set([a.name, b.name]))
  })

  it("is estimated while nobody can be asked", async () => {
    const place = await combos.place({ status: 429, retryAfter: 600, error: { message: "slow down" } })
    const model = await combos.combo("priority", [place.model], { config: { maxRetries: 0 } })
    expect((await lab.chat({ model })).status).toBe(429)
    for (const asked of [model, place.model]) expect(counted(await countMessages(asked)), asked).toBeGreaterThan(0)
  })

  /** A provider that counts for itself, with a credential of its own. */
  const vendor = async (prefix: string, script?: Record<string, unknown>) => {
    const model = `m-${prefix}`
    const node = await lab.gateway.operator.createNode({ prefix, baseUrl: `${lab.sim.url}/v1`, type: "anthropic-compatible" })
    await lab.gateway.operator.createConnection({ provider: node, apiKey: `${prefix}-credential-000001` })
    if (script !== undefined) await lab.sim.rule({ match: { model }, script })
    const calls = async () => (await lab.sim.entries({ model })).map(({ path }) => path)
    return { model: `${prefix}/${model}`, upstream: model, calls }
  }
  const sourceOf = (reply: Http.Reply) => (JSON.parse(reply.text) as { readonly source?: string }).source ?? reply.status

  it("of a provider is a call like any other: one row without tokens and cost", async () => {
    const { model, upstream } = await vendor("tc-own")
    const { id, key } = await lab.gateway.operator.createKey("counts")
    const reply = await countMessages(model, { authorization: `Bearer ${key}`, "anthropic-beta": "token-counting-2024-11-01" })
    expect([sourceOf(reply), counted(reply) > 0]).toEqual(["provider", true])
    // What its client says to the vendor goes along, as with a conversation.
    expect((await lab.sim.entries({ model: upstream }))[0]?.headers["anthropic-beta"]).toBe("token-counting-2024-11-01")
    const rows = await lab.rows(reply)
    expect(rows).toMatchObject([{
      attempt: 1, final: true, endpoint: "/v1/messages/count_tokens", requestedModel: model, model: upstream, apiKeyId: id, outcome: "completed", status: 200,
      upstreamStatus: 200, tokensIn: 0, tokensOut: 0, costUsd: 0, estimated: false
    }])
  })

  it("of a provider is told with the headers of any answer, takes the client's query along, and is free whatever its model costs", async () => {
    const { model, upstream } = await vendor("tc-lane")
    await lab.gateway.operator.price("tc-lane", upstream, { input: 5, per_request: 1 })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/messages/count_tokens?beta=true", body: { model, messages } })
    expect(sourceOf(reply)).toBe("provider")
    expect(reply.headers).toMatchObject({ "x-gateway-provider": "tc-lane", "x-gateway-model": model, "x-gateway-response-cost": "0.0000000000", "x-gateway-tokens-in": "0" })
    expect((await lab.sim.entries({ model: upstream })).map(({ query }) => query)).toEqual(["beta=true"])
    expect(await lab.rows(reply)).toMatchObject([{ units: null, costUsd: 0, targetFormat: "messages" }])
  })

  it("of a provider counts in nobody's session", async () => {
    const { model } = await vendor("tc-quiet")
    const combo = await combos.combo("fill-first", [model])
    expect(sourceOf(await countMessages(combo, { "x-session-id": "tc-quiet-1" }))).toBe("provider")
    const { sessions } = await lab.gateway.operator.call<{ sessions: ReadonlyArray<{ sessionId: string }> }>("GET", "/api/sessions")
    expect(sessions.map(({ sessionId }) => sessionId)).not.toContain("tc-quiet-1")
  })

  it("of a provider passes the limits of its key; an estimate asks nobody and counts nowhere", async () => {
    const { calls, model } = await vendor("tc-limited")
    const { key } = await lab.gateway.operator.createKey("one a minute", { rateLimits: [{ limit: 1, window: 60 }] })
    const headers = { authorization: `Bearer ${key}` }
    const place = await combos.place()
    for (let i = 0; i < 3; i++) expect(sourceOf(await countMessages(place.model, headers))).toBe("estimated")
    expect(sourceOf(await countMessages(model, headers))).toBe("provider")
    const refused = await countMessages(model, headers)
    expect([refused.status, errorIn(refused)["type"], Number(refused.headers["retry-after"]) > 0]).toEqual([429, "rate_limit_error", true])
    expect((await calls()).length).toBe(1)
  })

  it("of a key whose budget is used up is refused, or estimated while another model would answer for it", async () => {
    const { operator } = lab.gateway
    const { calls, model, upstream } = await vendor("tc-spent")
    await operator.price("tc-spent", upstream, { per_request: 2 })
    const { id, key } = await operator.createKey("spent")
    const headers = { authorization: `Bearer ${key}` }
    await operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 1 })
    expect((await lab.chat({ model }, headers)).status).toBe(200)
    await operator.setFlag("GATEWAY_EMERGENCY_FALLBACK", "true")
    expect(sourceOf(await countMessages(model, headers))).toBe("estimated")
    await operator.setFlag("GATEWAY_EMERGENCY_FALLBACK", "false")
    const refused = await countMessages(model, headers)
    expect([refused.status, errorIn(refused)["type"]]).toEqual([429, "rate_limit_error"])
    expect(await calls()).toEqual(["/v1/messages"])
  })

  it("that fails is estimated, has its row, and rests its provider as any failure does", async () => {
    const { calls, model } = await vendor("tc-rests", { status: 429, retryAfter: 600, error: { message: "slow down" } })
    const first = await countMessages(model)
    expect(sourceOf(first)).toBe("estimated")
    expect((await lab.rows(first)).map((row) => [row.outcome, row.upstreamStatus, row.final, row.tokensIn, row.costUsd])).toEqual([["upstream-status", 429, false, 0, 0]])
    expect(sourceOf(await countMessages(model))).toBe("estimated")
    expect((await lab.chat({ model })).status).toBe(429)
    expect(await calls()).toEqual(["/v1/messages/count_tokens"])
  })

  it("that a server does not have says nothing of its models", async () => {
    const { model, upstream } = await vendor("tc-none")
    await lab.sim.rule({ match: { model: upstream }, times: 1, script: { status: 404, error: { message: "no such path" } } })
    expect(sourceOf(await countMessages(model))).toBe("estimated")
    expect((await lab.chat({ model })).status).toBe(200)
  })

  it("is cut when its client leaves, with a row that says so", async () => {
    const requestId = crypto.randomUUID()
    const { model, upstream } = await vendor("tc-left", { neverHead: true })
    const { request } = Http.open(lab.gateway.url, { path: "/v1/messages/count_tokens", body: { model, messages }, headers: { "x-request-id": requestId } })
    await eventually(() => lab.sim.entries({ model: upstream, outcome: "open" }), ({ length }) => length > 0, "the count's call")
    request.destroy()
    const [entry] = await lab.sim.ended({ model: upstream })
    expect(entry?.outcome).toBe("client-aborted")
    await lab.gateway.operator.settled()
    expect((await lab.gateway.rows(requestId)).map(({ outcome, status }) => [outcome, status])).toEqual([["client-abort", 499]])
  })

  it("keeps to the combos of its key, and to names that lead somewhere", async () => {
    const place = await combos.place()
    const [mine, other] = [await combos.combo("priority", [place.model]), await combos.combo("priority", [place.model])]
    const { key } = await lab.gateway.operator.createKey("counts", { allowedCombos: [mine.slice("combo/".length)] })
    const headers = { authorization: `Bearer ${key}` }
    expect((await countMessages(mine, headers)).status).toBe(200)
    const refused = await countMessages(other, headers)
    expect([refused.status, (await lab.chat({ model: other }, headers)).status]).toEqual([403, 403])
    const unknown = await countMessages("combo/nobody")
    expect([unknown.status, errorIn(unknown)["type"]]).toEqual([404, "not_found_error"])
  })
})
