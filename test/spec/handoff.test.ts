/** Context hand-off when another account or model goes on with a session: strategy `context-relay` and flag UNIVERSAL_CONTEXT_HANDOFF_ENABLED. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, messagesIn, type Place, saidTo } from "#test/support/combos.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "ha")
})
beforeEach(() => lab.gateway.operator.clearFlags())
afterAll(() => lab.close())

/** A window of 1000 tokens: some 4 kB of prompt are above its threshold. */
const small = { context_length: 1_000 }
const long = (words: string) => [
  { role: "system", content: "Be kind." },
  { role: "user", content: `${words} ${"and more of it ".repeat(120)}` },
  { role: "assistant", content: `I said: ${"this and that ".repeat(120)}` },
  { role: "user", content: "What now?" }
]

let sessions = 0
/** The first answers once and is then away; asks twice in one session. */
const change = async (model: string, first: Place, body: Record<string, unknown> = {}, headers: Record<string, string> = { "x-session-id": `s-${++sessions}` }) => {
  const begun = await lab.chat({ model, messages: [{ role: "user", content: "Hello." }] }, headers)
  expect([begun.status, answerOf(begun)]).toEqual([200, first.name])
  for (const connection of first.connections) await lab.gateway.operator.changeConnection(connection, { isActive: false })
  return await lab.chat({ model, messages: long("Once upon a time"), ...body }, headers)
}

describe("a context-relay combo", () => {
  it("puts a summary of the older messages in front when another model goes on", async () => {
    const [a, b, scribe] = [await combos.place(), await combos.place(), await combos.place({ text: "They told a story." })]
    const model = await combos.combo("context-relay", [a.model, b.model], { ...small, config: { handoffModel: scribe.model } })
    const reply = await change(model, a)
    expect([reply.status, answerOf(reply)]).toEqual([200, b.name])
    const [asked, ...more] = await combos.seen(scribe)
    expect(more).toEqual([])
    expect(saidTo(asked)).toContain("Once upon a time")
    expect(saidTo(asked)).not.toContain("What now?")
    const [entry] = await combos.seen(b)
    const said = messagesIn(entry)
    expect(said[0]?.content).toContain("They told a story.")
    expect(said.slice(1).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"])
    const rows = await lab.rows(reply)
    expect(rows.map(({ attempt, final, model: of }) => [attempt, of, final])).toEqual([[1, scribe.upstream, false], [2, b.upstream, true]])
    expect(Number(reply.headers["x-gateway-tokens-out"])).toBe(rows.reduce((sum, { tokensOut }) => sum + tokensOut, 0))
  })

  it("does so once for a change", async () => {
    const [a, b, scribe] = [await combos.place(), await combos.place(), await combos.place()]
    const headers = { "x-session-id": `s-${++sessions}` }
    const model = await combos.combo("context-relay", [a.model, b.model], { ...small, config: { handoffModel: scribe.model } })
    await change(model, a, {}, headers)
    expect((await lab.chat({ model, messages: long("again") }, headers)).status).toBe(200)
    expect((await combos.seen(scribe)).length).toBe(1)
    expect(messagesIn((await combos.seen(b))[1])).toEqual(long("again"))
  })

  it("also when the first target fails on the way, and for another account of the same model", async () => {
    const [twice, scribe] = [await combos.place({}, 2), await combos.place()]
    const headers = { "x-session-id": `s-${++sessions}` }
    const model = await combos.combo("context-relay", [twice.model], { ...small, config: { handoffModel: scribe.model, maxRetries: 0 } })
    await lab.chat({ model, messages: [{ role: "user", content: "Hello." }] }, headers)
    await lab.sim.rule({ id: twice.name, match: { model: twice.upstream, key: `${twice.name}-credential-number-0` }, script: { status: 500 } })
    await lab.sim.rule({ match: { model: twice.upstream }, script: { text: "the other account" } })
    const reply = await lab.chat({ model, messages: long("Once") }, headers)
    expect([reply.status, answerOf(reply)]).toEqual([200, "the other account"])
    expect((await combos.seen(scribe)).length).toBe(1)
    expect(messagesIn((await combos.seen(twice)).at(-1)).length).toBe(5)
    expect((await lab.rows(reply)).filter(({ final }) => final).length).toBe(1)
  })

  it("without handoffModel the target that goes on makes it", async () => {
    const [a, b] = [await combos.place(), await combos.place({ text: "a summary, or an answer" })]
    const reply = await change(await combos.combo("context-relay", [a.model, b.model], small), a)
    expect(reply.status).toBe(200)
    const [summary, answer] = await combos.seen(b)
    expect(saidTo(summary)).toContain("Summarise the conversation")
    expect(messagesIn(answer)[0]?.content).toContain("a summary, or an answer")
  })

  it("older messages that would not fit stand aside for their summary", async () => {
    const [a, b, scribe] = [await combos.place(), await combos.place(), await combos.place({ text: "A long story." })]
    const model = await combos.combo("context-relay", [a.model, b.model], { ...small, config: { handoffModel: scribe.model } })
    const reply = await change(model, a, { messages: long("word ".repeat(2_000)) })
    expect(reply.status).toBe(200)
    expect(messagesIn((await combos.seen(b))[0]).map(({ role }) => role)).toEqual(["system", "system", "user"])
  })

  it("is told in the request's decision: from where to where, and what became of the summary", async () => {
    interface Decided { readonly decision: { readonly handoff: Record<string, unknown> | null } }
    const decided = async (reply: { readonly headers: Readonly<Record<string, string>> }) =>
      (await lab.gateway.operator.call<Decided>("GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"] ?? ""}`)).decision.handoff
    for (const [script, summary] of [[{ text: "A story." }, "given"], [{ status: 500 }, "failed"]] as const) {
      const [a, b, scribe] = [await combos.place(), await combos.place(), await combos.place(script)]
      const headers = { "x-session-id": `s-${++sessions}` }
      const model = await combos.combo("context-relay", [a.model, b.model], { ...small, config: { handoffModel: scribe.model } })
      expect(await decided(await change(model, a, {}, headers))).toEqual({
        from: { provider: a.name, model: a.upstream, connectionId: a.connections[0] }, to: { provider: b.name, model: b.upstream, connectionId: b.connections[0] },
        summary, by: scribe.model, ms: expect.any(Number) as unknown
      })
      expect(await decided(await lab.chat({ model, messages: long("again") }, headers))).toBeNull()
    }
  })

  it("goes on without a summary that cannot be made", async () => {
    const [a, b, scribe] = [await combos.place(), await combos.place(), await combos.place({ status: 500 })]
    const model = await combos.combo("context-relay", [a.model, b.model], { ...small, config: { handoffModel: scribe.model } })
    const reply = await change(model, a)
    expect([reply.status, answerOf(reply)]).toEqual([200, b.name])
    expect(messagesIn((await combos.seen(b))[0])).toEqual(long("Once upon a time"))
    expect((await lab.rows(reply)).map(({ final }) => final)).toEqual([false, true])
  })

  it("needs none for a short prompt, without a session, or with a large window", async () => {
    const scribe = await combos.place()
    const config = { handoffModel: scribe.model }
    for (const [more, body, headers] of [
      [small, { messages: [{ role: "user", content: "short" }] }, undefined],
      [small, {}, {}],
      [{ context_length: 100_000 }, {}, undefined]
    ] as const) {
      const [a, b] = [await combos.place(), await combos.place()]
      const reply = await change(await combos.combo("context-relay", [a.model, b.model], { ...more, config }), a, body, headers)
      expect([reply.status, answerOf(reply)]).toEqual([200, b.name])
    }
    expect((await combos.seen(scribe)).length).toBe(0)
  })
})

describe("any other combo", () => {
  it("hands over when its model changes, unless the flag is off", async () => {
    const scribe = await combos.place()
    for (const count of [1, 1]) {
      const [a, b] = [await combos.place(), await combos.place()]
      const reply = await change(await combos.combo("priority", [a.model, b.model], { ...small, config: { handoffModel: scribe.model } }), a)
      expect(reply.status).toBe(200)
      expect((await combos.seen(scribe)).length).toBe(count)
      await lab.gateway.operator.setFlag("UNIVERSAL_CONTEXT_HANDOFF_ENABLED", "false")
    }
  })

  it("not when only its account changes", async () => {
    const [twice, scribe] = [await combos.place({}, 2), await combos.place()]
    const headers = { "x-session-id": `s-${++sessions}` }
    const model = await combos.combo("priority", [twice.model], { ...small, config: { handoffModel: scribe.model } })
    await lab.chat({ model, messages: [{ role: "user", content: "Hello." }] }, headers)
    await lab.gateway.operator.changeConnection(twice.connections[0] ?? "", { isActive: false })
    expect((await lab.chat({ model, messages: long("Once") }, headers)).status).toBe(200)
    expect((await combos.seen(scribe)).length).toBe(0)
  })
})
