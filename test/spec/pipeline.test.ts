/** Pipeline: one step after the other, each with the answer of the one before it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, messagesIn, saidTo } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "pi")
})
afterAll(() => lab.close())

const tool = { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } }

describe("a pipeline combo", () => {
  it("gives each step its own instruction and the answer before it; the client streams the last answer with its tools", async () => {
    const [draft, check, polish] = [await combos.place({ text: "A draft." }), await combos.place({ text: "A checked draft." }), await combos.place({ text: "The result." })]
    const model = await combos.combo("pipeline", [
      { model: draft.model, prompt: "Draft it." }, { model: check.model, prompt: "Check it." }, { model: polish.model, prompt: "Polish it." }
    ])
    const reply = await lab.chat({ model, stream: true, tools: [tool] })
    expect([reply.status, contentOf(reply.text)]).toEqual([200, "The result."])
    const [first] = await combos.seen(draft)
    const [second] = await combos.seen(check)
    const [third] = await combos.seen(polish)
    expect(messagesIn(first)).toEqual([{ role: "system", content: "Draft it." }, ...messages])
    expect(messagesIn(second)).toEqual([{ role: "system", content: "Check it." }, { role: "user", content: "A draft." }])
    expect(messagesIn(third)).toEqual([{ role: "system", content: "Polish it." }, { role: "user", content: "A checked draft." }])
    expect([first?.stream, second?.stream, third?.stream]).toEqual([false, false, true])
    expect(first?.body).not.toHaveProperty("tools")
    expect(third?.body).toMatchObject({ tools: [{ type: "function", function: { name: "get_time" } }] })
    expect([first, second].every((entry, i) => (entry?.endedAt ?? Infinity) <= ([second, third][i]?.at ?? 0))).toBe(true)
  })

  it("leaves a row for each step, the last one final", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("pipeline", [a.model, b.model]) })
    const rows = await lab.rows(reply)
    expect(rows.map(({ attempt, final, model }) => [attempt, model, final])).toEqual([[1, a.upstream, false], [2, b.upstream, true]])
    expect(answerOf(reply)).toBe(b.name)
  })

  it("may have the same model as several steps", async () => {
    const one = await combos.place()
    const reply = await lab.chat({ model: await combos.combo("pipeline", [{ model: one.model, prompt: "First." }, { model: one.model, prompt: "Second." }]) })
    expect(reply.status).toBe(200)
    expect((await combos.seen(one)).map((entry) => saidTo(entry).split("\n")[0])).toEqual(["First.", "Second."])
  })

  it("repeats a failing step by the combo's rules", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    await lab.sim.rule({ id: a.name, match: { model: a.upstream, nth: 1 }, script: { status: 503 } })
    await lab.sim.rule({ id: `${a.name}-well`, match: { model: a.upstream }, script: { text: "well" } })
    const reply = await lab.chat({ model: await combos.combo("pipeline", [a.model, b.model], { config: { maxRetries: 1, retryDelayMs: 1 } }) })
    expect(reply.status).toBe(200)
    expect(messagesIn((await combos.seen(b))[0])).toEqual([{ role: "user", content: "well" }])
    expect((await lab.rows(reply)).map(({ final }) => final)).toEqual([false, false, true])
  })

  it("a step that keeps failing is 502 that names it, and no later step is asked", async () => {
    const [a, b, c] = [await combos.place(), await combos.place({ status: 400, error: { message: "not like that" } }), await combos.place()]
    const model = await combos.combo("pipeline", [a.model, { model: b.model, label: "the checker" }, c.model], { config: { maxRetries: 0 } })
    const reply = await lab.chat({ model })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "pipeline_step_failed"])
    expect(errorIn(reply)["message"]).toMatch(/^Step 2 of 3 \(the checker\) of pipeline .* failed: not like that/)
    expect((await combos.seen(c)).length).toBe(0)
    expect((await lab.rows(reply)).map(({ final }) => final)).toEqual([false, true])
  })

  it("the last step failing is named, too", async () => {
    const [a, b] = [await combos.place(), await combos.place({ status: 500, error: { message: "no end" } })]
    const reply = await lab.chat({ model: await combos.combo("pipeline", [a.model, { model: b.model, label: "end" }], { config: { maxRetries: 0 } }), stream: true })
    expect(reply.status).toBe(502)
    expect(errorIn(reply)["message"]).toMatch(/^Step 2 of 2 \(end\) .*no end/)
  })

  it("a step that leads nowhere is told before anything is spent", async () => {
    const a = await combos.place()
    const gone = await lab.gateway.operator.createNode({ prefix: "gone", baseUrl: `${lab.sim.url}/v1` })
    const model = await combos.combo("pipeline", [a.model, "gone/model"])
    await lab.gateway.operator.call("DELETE", `/api/provider-nodes/${gone}`)
    const reply = await lab.chat({ model })
    expect(reply.status).toBe(502)
    expect(errorIn(reply)["message"]).toMatch(/^Step 2 of 2 \(gone\/model\)/)
    expect((await combos.seen(a)).length).toBe(0)
  })

  it("what a tool gave goes to the last step alone", async () => {
    const [a, b] = [await combos.place(), await combos.place()]
    const history = [
      ...messages,
      { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "get_time", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "call_1", content: "noon" }
    ]
    const reply = await lab.chat({ model: await combos.combo("pipeline", [a.model, { model: b.model, prompt: "End." }]), messages: history, tools: [tool] })
    expect([reply.status, answerOf(reply)]).toEqual([200, b.name])
    expect((await combos.seen(a)).length).toBe(0)
    expect(messagesIn((await combos.seen(b))[0]).map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"])
  })

  it("a client that leaves between two steps costs no further one", async () => {
    const requestId = crypto.randomUUID()
    const [a, b] = [await combos.place({ neverHead: true }), await combos.place()]
    const opened = Http.open(lab.gateway.url, lab.call({ model: await combos.combo("pipeline", [a.model, b.model]) }, { "x-request-id": requestId }))
    await combos.asked(a)
    opened.request.destroy()
    await lab.sim.ended({ model: a.upstream, outcome: "client-aborted" })
    const rows = await lab.gateway.operator.attempts(requestId, 1)
    expect(rows.map(({ status }) => status)).toEqual([499])
    await lab.gateway.operator.settled()
    expect((await combos.seen(b)).length).toBe(0)
  })
})
