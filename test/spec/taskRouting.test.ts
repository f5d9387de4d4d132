/** Task routing, background degradation and intents (PUT /api/settings/task-routing, .../background-degradation), over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { taskRoutingDefaults } from "#schemas/words/TaskRouting.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.changeConnection(lab.connection, { defaultModel: "default" })
})
afterAll(() => lab.close())
afterEach(async () => {
  await put({ ...taskRoutingDefaults })
  await degrade({ enabled: false, degradationMap: {}, detectionPatterns: [] })
  await lab.gateway.operator.call("PATCH", "/api/settings", { intentDetectionEnabled: false, intentSimpleMaxWords: 30, intentExtraCodeKeywords: [], intentExtraReasoningKeywords: [], intentExtraSimpleKeywords: [] })
  await lab.gateway.operator.call("POST", path, { action: "reset-stats" })
  await lab.gateway.operator.call("POST", background, { action: "reset-stats" })
})

type Body = Record<string, unknown>
interface Count { detected: number; routed: number; unavailable: number }
interface View extends Body { stats: Count & { byTask: Record<string, Count>; byIntent: Record<string, Count> } }
interface BackgroundView extends Body { stats: { detected: number; redirected: number; unavailable: number; byReason: Record<string, Count> } }

const path = "/api/settings/task-routing"
const background = "/api/settings/background-degradation"
const put = (change: Body) => lab.gateway.operator.call<View>("PUT", path, change)
const degrade = (change: Body) => lab.gateway.operator.call<BackgroundView>("PUT", background, change)
const statsOf = async () => (await lab.gateway.operator.call<View>("GET", path)).stats
const says = (content: unknown) => [{ role: "user", content }]
const code = says("Fix the bug in this function")
const told = ({ headers }: Pick<Http.Reply, "headers">) => [headers["x-gateway-model"], headers["x-gateway-task"]]
/** Ids that nothing puts a prefix to. */
const ask = (model: string, messages: unknown = code, more: Body = {}, headers: Readonly<Record<string, string>> = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/chat/completions", headers, body: { model, messages, ...more } })

describe("task routing", () => {
  it("is off at first, and then changes nothing", async () => {
    const view = await lab.gateway.operator.call<View>("GET", path)
    expect({ ...view, stats: null }).toEqual({ ...taskRoutingDefaults, stats: null })
    expect(view.stats).toMatchObject({ detected: 0, routed: 0, unavailable: 0, byTask: { coding: { detected: 0, routed: 0, unavailable: 0 } } })
    await put({ taskModelMap: { coding: "lab/coder" } })
    expect(told(await ask("auto"))).toEqual(["lab/default", undefined])
    expect((await statsOf()).detected).toBe(0)
  })

  it("sends `auto` to the model of its task, says so, and keeps what was asked for in the ledger", async () => {
    await put({ enabled: true, taskModelMap: { coding: "lab/coder", creative: "lab/poet" } })
    const reply = await ask("auto")
    expect([reply.status, ...told(reply)]).toEqual([200, "lab/coder", "task=coding; source=words; model=lab/coder"])
    expect((await lab.rows(reply)).map(({ model, requestedModel }) => [requestedModel, model])).toEqual([["auto", "coder"]])
    const streamed = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "auto", stream: true, messages: says("Write a poem") } })
    expect(told(streamed)).toEqual(["lab/poet", "task=creative; source=words; model=lab/poet"])
    // A task without a model stays where it is, and so does a model that was asked for by name.
    expect(told(await ask("auto", says("hello there")))).toEqual(["lab/default", undefined])
    expect(told(await ask("lab/mine"))).toEqual(["lab/mine", undefined])
    expect((await statsOf())).toMatchObject({
      detected: 3, routed: 2, unavailable: 0, byTask: { coding: { detected: 1, routed: 1 }, creative: { detected: 1, routed: 1 }, chat: { detected: 1, routed: 0 } }
    })
  })

  it.each([
    ["messages", "/v1/messages", { model: "auto", max_tokens: 50, messages: code }],
    ["responses", "/v1/responses", { model: "auto", input: "Fix the bug in this function" }],
    ["generateContent", "/v1beta/models/auto:generateContent", { contents: [{ role: "user", parts: [{ text: "Fix the bug in this function" }] }] }],
    ["the local model server", "/v1/api/chat", { model: "auto", stream: false, messages: code }],
    ["completions", "/v1/completions", { model: "auto", prompt: "Fix the bug in this function" }]
  ])("reads requests in the format of %s", async (_name, where, body) => {
    await put({ enabled: true, taskModelMap: { coding: "lab/coder" } })
    const reply = await Http.send(lab.gateway.url, { path: where, body })
    expect([reply.status, ...told(reply)]).toEqual([200, "lab/coder", "task=coding; source=words; model=lab/coder"])
    expect((await lab.sim.entries()).at(-1)?.body).toMatchObject({ model: "coder" })
  })

  it("reads large requests in a thread, and finds what a person said before long results of tools", async () => {
    await put({ enabled: true, taskModelMap: { coding: "lab/coder" } })
    const reply = await ask("auto", [
      ...code, { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "call_1", content: "a line of a log\n".repeat(80_000) }
    ])
    expect([reply.status, ...told(reply)]).toEqual([200, "lab/coder", "task=coding; source=words; model=lab/coder"])
  })

  it("takes the task of `auto/<category>` from the id, and leaves ids and headers alone that say how to choose", async () => {
    await put({ enabled: true, taskModelMap: { coding: "lab/coder", analysis: "lab/thinker", vision: "lab/seer", chat: "lab/talker" } })
    expect(told(await ask("auto/reasoning"))).toEqual(["lab/thinker", "task=analysis; source=model; model=lab/thinker"])
    expect(told(await ask("auto/chat"))).toEqual(["lab/talker", "task=chat; source=model; model=lab/talker"])
    for (const model of ["auto/cheap", "auto/lkgp", "auto/coding:fast"]) {
      expect(told(await ask(model)), model).toEqual(["lab/default", undefined])
    }
    expect(told(await ask("auto", code, {}, { "x-gateway-mode": "cheap" }))).toEqual(["lab/default", undefined])
  })

  it("believes the client's X-Gateway-Task, and only that while detection is off", async () => {
    await put({ enabled: true, detectionEnabled: false, taskModelMap: { coding: "lab/coder", creative: "lab/poet" } })
    expect(told(await ask("auto"))).toEqual(["lab/default", undefined])
    expect(told(await ask("auto", code, {}, { "x-gateway-task": "Creative" }))).toEqual(["lab/poet", "task=creative; source=header; model=lab/poet"])
    expect(told(await ask("auto", code, {}, { "x-gateway-task": "nonsense" }))).toEqual(["lab/default", undefined])
    await put({ detectionEnabled: true })
    expect(told(await ask("auto", code, {}, { "x-gateway-task": "creative" }))[0]).toBe("lab/poet")
  })

  it("with appliesTo all takes single models, too, and never a combo", async () => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: "mine", models: ["lab/of-combo"] })
    await put({ enabled: true, appliesTo: "all", taskModelMap: { coding: "lab/coder" } })
    expect(told(await ask("lab/mine"))).toEqual(["lab/coder", "task=coding; source=words; model=lab/coder"])
    expect(told(await ask("mine"))).toEqual(["lab/of-combo", undefined])
    // What does not exist is refused as ever.
    expect((await ask("nowhere/model")).status).toBe((await ask("nowhere/model", says("hello there"))).status)
  })

  it("may send to a combo, whose strategy and fallbacks then hold", async () => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: "coders", models: ["lab/broken-coder", "lab/second-coder"], config: { maxRetries: 0 } })
    await lab.sim.rule({ match: { model: "broken-coder" }, script: { status: 500 } })
    await put({ enabled: true, taskModelMap: { coding: "coders" } })
    const reply = await ask("auto")
    expect([...told(reply), reply.headers["x-gateway-fallback-attempts"]]).toEqual(["lab/second-coder", "task=coding; source=words; model=coders", "1"])
  })

  it("does not ask a model that cannot serve, and says which", async () => {
    await put({ enabled: true, taskModelMap: { coding: "nowhere/coder" } })
    const reply = await ask("auto")
    expect([reply.status, ...told(reply)]).toEqual([200, "lab/default", "task=coding; source=words; unavailable=nowhere/coder"])
    expect(await statsOf()).toMatchObject({ detected: 1, routed: 0, unavailable: 1 })
  })

  it("holds to what a key may use: of the model asked for, and of the model of the task", async () => {
    await put({ enabled: true, appliesTo: "all", taskModelMap: { coding: "lab/coder" } })
    const key = async (allowedModels: ReadonlyArray<string>) => ({ authorization: `Bearer ${(await lab.gateway.operator.createKey("of tasks", { modelAccessMode: "restricted", allowedModels })).key}` })
    expect(told(await ask("lab/mine", code, {}, await key(["lab/mine", "lab/coder"])))[0]).toBe("lab/coder")
    expect(told(await ask("lab/mine", code, {}, await key(["lab/mine"])))).toEqual(["lab/mine", "task=coding; source=words; unavailable=lab/coder"])
    const refused = await ask("lab/mine", code, {}, await key(["lab/coder"]))
    expect([refused.status, errorIn(refused)["code"], refused.headers["x-gateway-task"]]).toEqual([403, "insufficient_permissions", undefined])
  })

  it("tells two tasks apart in the response cache", async () => {
    await put({ enabled: true, taskModelMap: { coding: "lab/coder", creative: "lab/poet" } })
    const still = { temperature: 0 }
    const first = await ask("auto", code, still)
    const again = await ask("auto", code, still)
    expect([first, again].map((reply) => [reply.headers["x-gateway-cache-hit"], reply.headers["x-gateway-task"]])).toEqual([
      ["false", "task=coding; source=words; model=lab/coder"], ["true", "task=coding; source=words; model=lab/coder"]
    ])
    expect((await ask("auto", code, still, { "x-gateway-task": "creative" })).headers["x-gateway-cache-hit"]).toBe("false")
  })

  it("changes the given fields, and refuses others by their names", async () => {
    expect((await put({ taskModelMap: { coding: "lab/a" } }))["taskModelMap"]).toMatchObject({ coding: "lab/a", chat: "" })
    expect((await put({ taskModelMap: { chat: "lab/b" } }))["taskModelMap"]).toMatchObject({ coding: "lab/a", chat: "lab/b" })
    for (const [change, field] of [[{ enabled: 1 }, "enabled"], [{ appliesTo: "some" }, "appliesTo"], [{ taskModelMap: { cooking: "lab/a" } }, "cooking"], [{ taskModelMap: { coding: "x".repeat(201) } }, "taskModelMap.coding"]] as const) {
      const reply = await lab.gateway.operator.raw("PUT", path, change)
      expect([reply.status, reply.text.includes(field)], field).toEqual([400, true])
    }
    expect((await lab.gateway.operator.raw("PUT", path, {})).status).toBe(400)
    expect((await lab.gateway.operator.raw("POST", path, { action: "explode" })).status).toBe(400)
  })

  it("says of which kind a request is without sending it", async () => {
    await put({ taskModelMap: { creative: "lab/poet" } })
    const detect = (body: Body) => lab.gateway.operator.call("POST", path, { action: "detect", body })
    expect(await detect({ messages: says("Write a poem") })).toEqual({ taskType: "creative", source: "words", model: "lab/poet", intent: "simple", background: null })
    expect(await detect({ contents: [{ role: "user", parts: [{ text: "Generate a title for this conversation" }] }] })).toEqual({
      taskType: "background", source: "background", model: null, intent: "simple", background: "title"
    })
    expect((await statsOf()).detected).toBe(0)
  })
})

describe("background degradation", () => {
  const title = says("Generate a concise, 3-5 word title for this conversation")
  const entries = async () => (await lab.gateway.operator.call<ReadonlyArray<Body>>("GET", "/api/compliance/audit-log?action=routing.background_task_redirect"))

  it("sends requests in the background to the cheaper model, by id or pattern, and tells the audit log once", async () => {
    await degrade({ enabled: true, degradationMap: { "lab/dear": "lab/cheap", "lab/big-*": "lab/small" } })
    const reply = await ask("lab/dear", title)
    expect([reply.status, ...told(reply)]).toEqual([200, "lab/cheap", "task=background; source=title; model=lab/cheap"])
    expect((await lab.rows(reply)).map(({ model, requestedModel }) => [requestedModel, model])).toEqual([["lab/dear", "cheap"]])
    expect(told(await ask("lab/dear", title))[0]).toBe("lab/cheap")
    expect(told(await ask("lab/BIG-one", title))[0]).toBe("lab/small")
    expect(told(await ask("lab/other", title))).toEqual(["lab/other", undefined])
    expect(told(await ask("lab/dear", code))).toEqual(["lab/dear", undefined])
    const audited = await eventually(entries, ({ length }) => length >= 2, "two entries")
    expect(audited.map(({ details, target }) => [target, details])).toEqual([
      ["lab/BIG-one", { original_model: "lab/BIG-one", redirected_to: "lab/small", reason: "title", count: 1 }],
      ["lab/dear", { original_model: "lab/dear", redirected_to: "lab/cheap", reason: "title", count: 1 }]
    ])
    expect((await lab.gateway.operator.call<BackgroundView>("GET", background)).stats).toMatchObject({ detected: 3, redirected: 3, unavailable: 0, byReason: { title: { detected: 3, routed: 3 } } })
  })

  it("knows probes, the client's own word and the operator's phrases", async () => {
    await degrade({ enabled: true, degradationMap: { "lab/dear": "lab/cheap" }, detectionPatterns: ["nightly digest"] })
    expect(told(await ask("lab/dear", says("quota"), { max_tokens: 1 }))[1]).toBe("task=background; source=token_probe; model=lab/cheap")
    expect(told(await ask("lab/dear", code, {}, { "x-gateway-task": "background" }))[1]).toBe("task=background; source=header; model=lab/cheap")
    expect(told(await ask("lab/dear", says("The Nightly Digest")))[1]).toBe("task=background; source=pattern; model=lab/cheap")
  })

  it("is off at first, and keeps to what a key may use", async () => {
    await degrade({ degradationMap: { "lab/dear": "lab/cheap" } })
    expect(told(await ask("lab/dear", title))).toEqual(["lab/dear", undefined])
    await degrade({ enabled: true })
    const { key } = await lab.gateway.operator.createKey("dear only", { modelAccessMode: "restricted", allowedModels: ["lab/dear"] })
    expect(told(await ask("lab/dear", title, {}, { authorization: `Bearer ${key}` }))).toEqual(["lab/dear", "task=background; source=title; unavailable=lab/cheap"])
  })

  it("goes before the task's own model", async () => {
    await put({ enabled: true, appliesTo: "all", taskModelMap: { background: "lab/by-task" } })
    expect(told(await ask("lab/dear", title))).toEqual(["lab/by-task", "task=background; source=background; model=lab/by-task"])
    await degrade({ enabled: true, degradationMap: { "lab/dear": "lab/cheap" } })
    expect(told(await ask("lab/dear", title))[0]).toBe("lab/cheap")
  })

  it("refuses what is out of bounds by its field", async () => {
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`lab/m${i}`, "lab/x"]))
    for (const [change, field] of [[{ degradationMap: many }, "degradationMap"], [{ degradationMap: { a: "" } }, "degradationMap"], [{ detectionPatterns: ["ab"] }, "detectionPatterns"], [{ detectionPatterns: "abc" }, "detectionPatterns"]] as const) {
      const reply = await lab.gateway.operator.raw("PUT", background, change)
      expect([reply.status, reply.text.includes(field)], field).toEqual([400, true])
    }
  })
})

describe("the detection of intents", () => {
  const settings = (change: Body) => lab.gateway.operator.call("PATCH", "/api/settings", change)

  it("asks automatic routing for what the request is about", async () => {
    expect(told(await ask("auto"))[1]).toBeUndefined()
    await settings({ intentDetectionEnabled: true })
    const cases = [[code, "intent=code; model=auto/coding"], [says("Prove the theorem"), "intent=reasoning; model=auto/reasoning"], [says("What is the capital of France?"), "intent=simple; model=auto/cheap"]] as const
    for (const [messages, header] of cases) expect(told(await ask("auto", messages))).toEqual(["lab/default", header])
    expect(told(await ask("auto/fast"))[1]).toBeUndefined()
    expect((await statsOf()).byIntent).toMatchObject({ code: { routed: 1 }, reasoning: { routed: 1 }, simple: { routed: 1 } })
  })

  it("goes by the operator's words and number of words", async () => {
    await settings({ intentDetectionEnabled: true, intentSimpleMaxWords: 3, intentExtraCodeKeywords: ["gizmo"], intentExtraReasoningKeywords: ["ponder"], intentExtraSimpleKeywords: ["faq"] })
    const ofText = async (text: string) => told(await ask("auto", says(text)))[1]
    expect([await ofText("look at my gizmo"), await ofText("ponder about life"), await ofText("a faq of more than three words"), await ofText("three words only"), await ofText("four words or more")]).toEqual([
      "intent=code; model=auto/coding", "intent=reasoning; model=auto/reasoning", "intent=simple; model=auto/cheap", "intent=simple; model=auto/cheap", undefined
    ])
  })

  it("gives way to a task that has a model", async () => {
    await settings({ intentDetectionEnabled: true })
    await put({ enabled: true, taskModelMap: { coding: "lab/coder" } })
    expect(told(await ask("auto"))[0]).toBe("lab/coder")
    expect(told(await ask("auto", says("Prove the theorem")))[1]).toBe("intent=reasoning; model=auto/reasoning")
  })
})
