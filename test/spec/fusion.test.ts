/** Fusion: a panel answers at once, a judge makes one answer of theirs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, messagesIn, saidTo } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import { watchLate } from "#test/support/late.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ environment: { SSE_HEARTBEAT_INTERVAL_MS: "400", GATEWAY_EARLY_KEEPALIVE_MS: "300" } })
  combos = combosOf(lab, "fu")
})
afterAll(() => lab.close())

const tool = { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } }
const modelsOf = (...places: ReadonlyArray<{ readonly model: string }>) => places.map(({ model }) => model)
/** Nobody waits long for stragglers. */
const brisk = { stragglerGraceMs: 50 }

describe("a fusion combo", () => {
  it("asks the whole panel without stream and tools, and the judge with their answers, anonymous and in the client's stream", async () => {
    const [a, b, judge] = [await combos.place({ text: "Answer of the first." }), await combos.place({ text: "Answer of the second." }), await combos.place({ text: "The verdict." })]
    const model = await combos.combo("fusion", modelsOf(a, b), { config: { judgeModel: judge.model }, system_message: "Be exact." })
    const reply = await lab.chat({ model, stream: true })
    expect([reply.status, contentOf(reply.text)]).toEqual([200, "The verdict."])
    expect(reply.headers["x-gateway-decision"]).toMatch(/^strategy=fusion; /)
    expect(reply.headers["x-gateway-model"]).toBe(judge.model)
    for (const place of [a, b]) {
      const [entry, ...more] = await combos.seen(place)
      expect(more).toEqual([])
      expect(entry?.stream).toBe(false)
      expect(messagesIn(entry)).toEqual([{ role: "system", content: "Be exact." }, ...messages])
    }
    const [asked] = await combos.seen(judge)
    expect(asked?.stream).toBe(true)
    const said = saidTo(asked)
    for (const part of ["Be exact.", messages[0].content, "Answer of the first.", "Answer of the second."]) expect(said).toContain(part)
    for (const name of [a.name, b.name, a.model, b.model, judge.name]) expect(said).not.toContain(name)
  })

  it("without judgeModel the first of the panel judges", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b)) })
    expect([reply.status, answerOf(reply)]).toEqual([200, a.name])
    expect([(await combos.seen(a)).length, (await combos.seen(b)).length]).toEqual([2, 1])
  })

  it("leaves one row for every call under one request, one of them final, and says the cost of all", async () => {
    const [a, b, judge] = [await combos.place(), await combos.place(), await combos.place()]
    for (const { name, upstream } of [a, b, judge]) {
      const node = (await lab.gateway.operator.call<{ nodes: ReadonlyArray<{ id: string; prefix: string }> }>("GET", "/api/provider-nodes")).nodes.find(({ prefix }) => prefix === name)
      await lab.gateway.operator.price(node?.id ?? "", upstream, { input: 1_000, output: 2_000 })
    }
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b), { config: { judgeModel: judge.model } }) })
    const rows = await lab.rows(reply)
    expect(rows.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect(rows.map(({ final, model }) => final ? model : null)).toEqual([null, null, judge.upstream])
    expect(rows.every(({ outcome, sourceFormat }) => outcome === "completed" && sourceFormat === "chat-completions")).toBe(true)
    const cost = rows.reduce((sum, { costUsd }) => sum + costUsd, 0)
    expect(cost).toBeGreaterThan(0)
    expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(cost, 6)
    expect(Number(reply.headers["x-gateway-tokens-out"])).toBe(rows.reduce((sum, { tokensOut }) => sum + tokensOut, 0))
  })

  it("a model with two connections sits in the panel once, and its second connection stands in for the first", async () => {
    const [twice, other] = [await combos.place({}, 2), await combos.place()]
    await lab.sim.rule({ id: twice.name, match: { model: twice.upstream, nth: 1 }, script: { status: 500 } })
    await lab.sim.rule({ id: `${twice.name}-well`, match: { model: twice.upstream }, script: { text: "well" } })
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(twice, other), { config: { judgeModel: other.model } }) })
    expect(reply.status).toBe(200)
    const seen = await combos.seen(twice)
    expect(seen.map(({ key, status }) => [status, key?.last4])).toEqual([[500, "er-0"], [200, "er-1"]])
    expect(saidTo((await combos.seen(other))[1])).toContain("well")
  })

  it("goes on after the quorum and its grace; the straggler is cut and its row says so", async () => {
    const [a, b, slow] = [await combos.place(), await combos.place(), await combos.place({ neverHead: true })]
    const model = await combos.combo("fusion", modelsOf(slow, a, b), { config: { judgeModel: a.model, fusionTuning: brisk } })
    const reply = await lab.chat({ model })
    expect([reply.status, answerOf(reply)]).toEqual([200, a.name])
    const [cut] = await lab.sim.ended({ model: slow.upstream })
    expect(cut?.outcome).toBe("client-aborted")
    const row = (await lab.rows(reply)).find(({ model: of }) => of === slow.upstream)
    expect([row?.outcome, row?.errorCode, row?.final]).toEqual(["policy", "panel_closed", false])
  })

  it("panelHardTimeoutMs ends the wait for a quorum", async () => {
    const [a, slow] = [await combos.place(), await combos.place({ neverHead: true })]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(slow, a), { config: { fusionTuning: { panelHardTimeoutMs: 1_500 } } }) })
    expect([reply.status, answerOf(reply)]).toEqual([200, a.name])
    expect((await combos.seen(a)).length).toBe(1)
  })

  it.each([false, true])("one answer is returned as it is, stream: %s", async (stream) => {
    const [a, b] = [await combos.place({ status: 500 }), await combos.place({ text: "The only one." })]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b)), stream })
    expect([reply.status, stream ? contentOf(reply.text) : answerOf(reply)]).toEqual([200, "The only one."])
    if (stream) expect(reply.text.trimEnd().endsWith("data: [DONE]")).toBe(true)
    expect((await combos.seen(b)).length).toBe(1)
    const rows = await lab.rows(reply)
    expect(rows.filter(({ final }) => final).map(({ model }) => model)).toEqual([b.upstream])
    expect(reply.headers["x-gateway-model"]).toBe(b.model)
  })

  it("one answer is returned in the client's own format", async () => {
    const [a, b] = [await combos.place({ status: 500 }), await combos.place({ text: "The only one." })]
    const model = await combos.combo("fusion", modelsOf(a, b))
    for (const stream of [false, true]) {
      const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", body: { model, max_tokens: 100, messages, stream } })
      expect(reply.status).toBe(200)
      expect(reply.text).toContain("The only one.")
      if (stream) expect(reply.text.match(/event: message_stop/g)?.length).toBe(1)
      else expect((JSON.parse(reply.text) as { type: string }).type).toBe("message")
    }
  })

  it("no answer is 503 that says why, and one row is final", async () => {
    const [a, b] = [await combos.place({ status: 500, error: { message: "broken a" } }), await combos.place({ status: 429, retryAfter: 7, error: { message: "busy b" } })]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b)) })
    expect(reply.status).toBe(503)
    const { message } = errorIn(reply)
    expect(message).toContain("broken a")
    expect(message).toContain("busy b")
    expect(reply.headers["retry-after"]).toBe("7")
    expect((await lab.rows(reply)).filter(({ final }) => final).length).toBe(1)
  })

  it("a request with tools goes to the judge alone, as it is", async () => {
    const [a, b, judge] = [await combos.place(), await combos.place(), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b), { config: { judgeModel: judge.model } }), tools: [tool] })
    expect([reply.status, answerOf(reply)]).toEqual([200, judge.name])
    expect([(await combos.seen(a)).length, (await combos.seen(b)).length]).toEqual([0, 0])
    const [entry] = await combos.seen(judge)
    expect(entry?.body).toMatchObject({ tools: [tool] })
    expect(messagesIn(entry)).toEqual(messages)
    const bare = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b)), tools: [tool] })
    expect([bare.status, answerOf(bare)]).toEqual([200, a.name])
  })

  it("a judge that leads nowhere is told before anything is spent", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    // A judge that never led anywhere is refused when its combo is written; this one is deleted later.
    const gone = await lab.gateway.operator.createNode({ prefix: "nobody", baseUrl: `${lab.sim.url}/v1` })
    const model = await combos.combo("fusion", modelsOf(a, b), { config: { judgeModel: "nobody/knows-it" } })
    await lab.gateway.operator.call("DELETE", `/api/provider-nodes/${gone}`)
    const reply = await lab.chat({ model })
    expect(reply.status).toBeGreaterThanOrEqual(400)
    expect(reply.status).toBeLessThan(500)
    expect(errorIn(reply)["message"]).toContain("nobody/knows-it")
    expect((await combos.seen(a)).length).toBe(0)
  })

  it("when the judge fails, the panel judges", async () => {
    const [a, b, judge] = [await combos.place(), await combos.place(), await combos.place({ status: 500 })]
    const model = await combos.combo("fusion", modelsOf(a, b), { config: { judgeModel: judge.model, maxRetries: 0 } })
    const reply = await lab.chat({ model })
    expect([reply.status, answerOf(reply)]).toEqual([200, a.name])
    expect((await lab.rows(reply)).filter(({ final }) => final).map(({ attempt }) => attempt)).toEqual([4])
  })

  it("stays within the calls that one request may cost beyond one for each model", async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => combos.place({ status: 500 }, 4)))
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(...all)) })
    expect(reply.status).toBe(503)
    const rows = await lab.rows(reply)
    // One for each of the panel, and GATEWAY_MAX_ATTEMPTS - 1 fallbacks in all; calls of the same moment may overlap.
    expect(rows.length).toBeLessThanOrEqual(4 + 5 + 3)
    expect(rows.length).toBeLessThan(16)
  })

  it("a client that leaves cuts the panel at once, and every row is a client's abort", async () => {
    const requestId = crypto.randomUUID()
    const all = [await combos.place({ neverHead: true }), await combos.place({ neverHead: true }), await combos.place({ neverHead: true })]
    const opened = Http.open(lab.gateway.url, lab.call({ model: await combos.combo("fusion", modelsOf(...all)) }, { "x-request-id": requestId }))
    for (const place of all) await combos.asked(place)
    const late = watchLate()
    const at = performance.timeOrigin + performance.now()
    opened.request.destroy()
    const ends: Array<number> = []
    for (const { upstream } of all) ends.push((await lab.sim.ended({ model: upstream, outcome: "client-aborted" }))[0]?.abortedAt ?? Infinity)
    // The promise is 50 ms; two busy processes beside this one have made 52 of the usual 5.
    expect(Math.max(...ends) - at).toBeLessThan(250 + late())
    const rows = await lab.gateway.operator.attempts(requestId, 3)
    expect(rows.map(({ status }) => status)).toEqual([499, 499, 499])
    const own = await lab.gateway.rows(requestId)
    expect(own.map(({ outcome }) => outcome)).toEqual(["client-abort", "client-abort", "client-abort"])
    expect(own.filter(({ final }) => final).length).toBe(1)
  })

  it("a silent stream gets its head and heartbeats while the panel works", async () => {
    const [a, b] = [await combos.place({ latencyMs: 2_500 }), await combos.place({ latencyMs: 2_500, text: "late" })]
    const opened = await lab.stream({ model: await combos.combo("fusion", modelsOf(b, a)) })
    expect(opened.status).toBe(200)
    const before = await opened.until((text) => (text.match(/^: keepalive/gm) ?? []).length >= 2)
    expect(before).not.toContain("data:")
    expect((await combos.seen(b)).length).toBe(1)
    const { text, whole } = await opened.ended
    expect([contentOf(text), whole]).toEqual(["late", true])
  })

  it("an error behind an early head comes as a frame of the stream", async () => {
    const [a, b] = [await combos.place({ status: 500, latencyMs: 1_500 }), await combos.place({ status: 500, latencyMs: 1_500 })]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b)), stream: true })
    expect(reply.status).toBe(200)
    expect(reply.text.match(/"error"/g)?.length).toBe(1)
    expect(reply.text.trimEnd().endsWith("data: [DONE]")).toBe(true)
  })

  it("counts as one request of its combo, with every call of it", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    const model = await combos.combo("fusion", modelsOf(a, b))
    await lab.chat({ model })
    const name = model.slice("combo/".length)
    const { metrics } = await lab.gateway.operator.call<{ metrics: { requests: number; successes: number; targets: Record<string, { requests: number; model: string }> } }>("GET", `/api/combos/metrics?combo=${name}`)
    expect([metrics.requests, metrics.successes]).toEqual([1, 1])
    expect(Object.fromEntries(Object.values(metrics.targets).map((target) => [target.model, target.requests]))).toEqual({ [a.model]: 2, [b.model]: 1 })
  })

  it("a shutdown ends it with the gateway's error, whatever the panel does", async () => {
    const other = await startLab({ environment: { SHUTDOWN_TIMEOUT_MS: "200" } })
    const places = combosOf(other, "sd")
    const all = [await places.place({ neverHead: true }), await places.place({ neverHead: true })]
    const reply = other.chat({ model: await places.combo("fusion", modelsOf(...all), { config: { judgeModel: all[0]?.model } }) })
    for (const place of all) await places.asked(place)
    await other.close()
    expect([(await reply).status, errorIn(await reply)["code"]]).toEqual([503, "shutting_down"])
  })

  it("nothing of it is left running", async () => {
    const { gap, live } = await lab.gateway.operator.settled()
    expect([gap, live]).toEqual([0, 0])
  })
})
