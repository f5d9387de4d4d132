/** What a combo asks of an answer before the client may have it (`responseValidation`), over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

let made = 0
const combo = async (scripts: ReadonlyArray<Record<string, unknown>>, responseValidation: Record<string, unknown> | null, config: Record<string, unknown> = {}) => {
  const name = `ruled-${++made}`
  for (const [index, script] of scripts.entries()) await lab.sim.rule({ match: { model: `${name}-${index}` }, script })
  await lab.gateway.operator.call("POST", "/api/combos", {
    name, models: scripts.map((_, index) => `lab/${name}-${index}`),
    config: { ...config, ...(responseValidation === null ? {} : { responseValidation }) }
  })
  return { model: `combo/${name}`, calls: (index: number) => lab.sim.entries({ model: `${name}-${index}` }) }
}
const answerOf = (reply: { readonly text: string }): string =>
  (JSON.parse(reply.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content ?? ""
const rowsOf = async (reply: Parameters<Lab["rows"]>[0]) => (await lab.rows(reply)).map(({ errorCode, final, outcome }) => [outcome, errorCode, final])

const SECRET = "an answer nobody may repeat"
const rules: ReadonlyArray<readonly [string, Record<string, unknown>, { readonly bad: Record<string, unknown>; readonly good: Record<string, unknown> }, string]> = [
  ["forbiddenSubstrings", { forbiddenSubstrings: ["never", "nobody"] }, { bad: { text: SECRET }, good: { text: "fine" } }, "forbiddenSubstrings[1]"],
  ["requiredSubstrings", { requiredSubstrings: ["an", "END"] }, { bad: { text: SECRET }, good: { text: "an END" } }, "requiredSubstrings[1]"],
  ["minContentLength", { minContentLength: 40 }, { bad: { text: SECRET }, good: { text: "x".repeat(40) } }, "minContentLength"],
  [
    "jsonPathPredicates", { jsonPathPredicates: [{ path: "$.choices[0].message.content", condition: "exists" }, { path: "$['choices'][0].finish_reason", condition: "notEquals", value: "length" }] },
    { bad: { text: SECRET, finishReason: "length" }, good: { text: "whole" } }, "jsonPathPredicates[1]"
  ]
]

describe("an answer that breaks a rule", () => {
  it("is paid for: the cost that the client is told is that of both calls, and so is the cost that a cached answer saves", async () => {
    const { model } = await combo([{ text: SECRET }, { text: "fine" }], { forbiddenSubstrings: ["nobody"] }, { maxRetries: 0 })
    for (const index of [0, 1]) await lab.gateway.operator.price(lab.node, `${model.slice(6)}-${index}`, { input: 1, output: 10 })
    const reply = await lab.chat({ model, temperature: 0 })
    const costs = (await lab.rows(reply)).map(({ costUsd }) => costUsd)
    expect(costs.map((cost) => cost > 0)).toEqual([true, true])
    expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(costs[0]! + costs[1]!, 10)
    const hit = await lab.chat({ model, temperature: 0 })
    expect(hit.headers).toMatchObject({ "x-gateway-cache": "HIT", "x-gateway-cost-saved": reply.headers["x-gateway-response-cost"] })
  })

  for (const [name, validation, { bad, good }, rule] of rules) {
    it(`${name}: the next target is asked, whole or streamed; nothing of the first reaches the client`, async () => {
      const { calls, model } = await combo([bad, good], validation)
      const whole = await lab.chat({ model })
      expect([whole.status, answerOf(whole), whole.headers["x-gateway-fallback-attempts"]]).toEqual([200, good["text"], "1"])
      expect(await rowsOf(whole)).toEqual([["policy", "response_validation_failed", false], ["completed", null, true]])
      const streamed = await lab.chat({ model, stream: true })
      expect([streamed.status, contentOf(streamed.text)]).toEqual([200, good["text"]])
      expect(streamed.text).not.toContain("nobody")
      expect(await rowsOf(streamed)).toEqual([["policy", "response_validation_failed", false], ["completed", null, true]])
      expect((await calls(0)).length).toBe(2)
    })

    it(`${name}: the last target's refusal is a 502 that names the rule, not the answer`, async () => {
      const { model } = await combo([bad], validation)
      for (const stream of [false, true]) {
        const reply = await lab.chat({ model, stream })
        expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "response_validation_failed"])
        expect(errorIn(reply)["message"]).toContain(rule)
        expect(reply.text).not.toContain(SECRET)
        // The model worked for it: its tokens are counted.
        const [row] = await lab.rows(reply)
        expect([row?.final, row?.status, (row?.tokensOut ?? 0) > 0]).toEqual([true, 502, true])
      }
    })
  }

  it("has its tokens counted, by the gateway when the upstream counted none", async () => {
    const { model } = await combo([{ text: "a few words", usage: "omit" }], { requiredSubstrings: ["yes"] })
    for (const stream of [false, true]) {
      const [row] = await lab.rows(await lab.chat({ model, stream }))
      expect([row?.estimated, (row?.tokensOut ?? 0) > 0, (row?.tokensIn ?? 0) > 0]).toEqual([true, true, true])
    }
  })

  it("is not asked of the same target again", async () => {
    const { calls, model } = await combo([{ text: "no" }, { text: "no" }], { requiredSubstrings: ["yes"] }, { maxRetries: 3, retryDelayMs: 0 })
    expect((await lab.chat({ model })).status).toBe(502)
    expect([(await calls(0)).length, (await calls(1)).length]).toEqual([1, 1])
  })
})

describe("rules over another format", () => {
  it("see the text and the document that this client is given", async () => {
    const { model } = await combo([{ text: "too short" }, { text: "long enough to pass" }], {
      minContentLength: 12, jsonPathPredicates: [{ path: "$.content[0].type", condition: "equals", value: "text" }, { path: "$.stop_reason", condition: "nonEmpty" }]
    })
    for (const stream of [false, true]) {
      const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", headers: { "anthropic-version": "2023-06-01" }, body: { model, messages, max_tokens: 100, stream } })
      expect([reply.status, reply.text.includes("too"), reply.text.includes("long")]).toEqual([200, false, true])
    }
  })
})

describe("a stream of a combo with rules", () => {
  it("is held until its end: not one byte of content before its rules were asked", async () => {
    const { calls, model } = await combo([{ text: "one two three four", tokenSize: 4, paceMs: 40 }], { minContentLength: 3 })
    const opened = await lab.stream({ model })
    const { text } = await opened.ended
    expect(contentOf(text)).toBe("one two three four")
    const [entry] = await calls(0)
    const [row] = await lab.rows(opened)
    // The head is sent with the content, after the upstream's last frame.
    expect(row?.ttftMs ?? 0).toBeLessThan((entry?.lastFrameAt ?? 0) - (entry?.at ?? 0) + 1_000)
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true)
  })

  it("that was cut is no answer", async () => {
    const { model } = await combo([{ text: "one two three four", tokenSize: 4, resetAfter: { frames: 3 } }, { text: "whole" }], { minContentLength: 3 })
    expect(contentOf((await lab.chat({ model, stream: true })).text)).toBe("whole")
  })

  it("above its bound is refused", async () => {
    const { model } = await combo([{ text: "x".repeat(5 * 1024 * 1024), tokenSize: 64 * 1024 }, { text: "small" }], { minContentLength: 3 })
    const reply = await lab.chat({ model, stream: true })
    expect(contentOf(reply.text)).toBe("small")
    expect((await rowsOf(reply))[0]).toEqual(["policy", "response_validation_failed", false])
  })
})

describe("an empty answer", () => {
  const empty = { text: "" }

  it("of a combo's target is none: the next is asked", async () => {
    const { model } = await combo([empty, { text: "something" }], null)
    const reply = await lab.chat({ model })
    expect(answerOf(reply)).toBe("something")
    expect((await rowsOf(reply))[0]).toEqual(["policy", "response_validation_failed", false])
  })

  it("streamed by a combo with rules is none either", async () => {
    const { model } = await combo([empty, { text: "something" }], { forbiddenSubstrings: ["else"] })
    const reply = await lab.chat({ model, stream: true })
    expect(contentOf(reply.text)).toBe("something")
    expect((await rowsOf(reply))[0]).toEqual(["policy", "response_validation_failed", false])
  })

  it("with a tool call is an answer, and rules about text are not asked of it", async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }]
    const call = { text: "", toolCalls: [{ name: "look", arguments: {} }] }
    for (const validation of [null, { minContentLength: 20 }]) {
      const { calls, model } = await combo([call, { text: "something" }], validation)
      for (const stream of [false, true]) expect((await lab.chat({ model, tools, stream })).text).toContain("look")
      expect((await calls(1)).length).toBe(0)
    }
  })

  it("of a single model is given as it is", async () => {
    await lab.sim.rule({ match: { model: "says-nothing" }, script: empty })
    const reply = await lab.chat({ model: "says-nothing" })
    expect([reply.status, answerOf(reply)]).toEqual([200, ""])
  })
})

describe("a breaker whose probe brings an answer that is refused", () => {
  let other: Lab
  beforeAll(async () => {
    other = await startLab({ resilience: "awake" })
    await other.gateway.operator.call("PATCH", "/api/resilience", {
      connectionCooldown: { local: { baseCooldownMs: 0 } }, providerBreaker: { local: { resetTimeoutMs: 1_000 } }
    })
  })
  afterAll(() => other.close())
  const stateOf = async (provider: string): Promise<string> => {
    const { breakers } = await other.gateway.operator.call<{ breakers: ReadonlyArray<{ provider: string; state: string }> }>("GET", "/api/resilience")
    return breakers.find((one) => one.provider === provider)?.state ?? "closed"
  }

  it.each([
    ["whole", false, { text: "no" }], ["streamed", true, { text: "no" }], ["empty", false, { text: "" }],
    ["too large to be held", true, { text: "x".repeat(5 * 1024 * 1024), tokenSize: 64 * 1024 }]
  ] as const)("is closed by it, %s: the upstream is well", async (name, stream, script) => {
    const prefix = `probe-${name.replaceAll(" ", "-")}`
    await other.pool(prefix, [`${prefix}-credential-number-0`])
    await other.sim.rule({ id: prefix, match: { model: prefix }, script: { status: 503 } })
    await other.gateway.operator.call("POST", "/api/combos", {
      name: prefix, models: [`${prefix}/${prefix}`], config: { maxRetries: 0, responseValidation: { requiredSubstrings: ["yes"] } }
    })
    const ask = () => other.chat({ model: `combo/${prefix}`, stream })
    for (const _ of [1, 2]) expect((await ask()).status).toBe(503)
    expect(await stateOf(prefix)).toBe("open")
    await other.sim.rule({ id: prefix, match: { model: prefix }, script })
    await eventually(() => stateOf(prefix), (state) => state === "half-open", "half-open")
    const reply = await ask()
    expect([reply.status, errorIn(reply)["code"], await stateOf(prefix)]).toEqual([502, "response_validation_failed", "closed"])
  })
})

describe("the management API", () => {
  it("refuses a path that nobody could follow", async () => {
    const reply = await lab.gateway.operator.raw("POST", "/api/combos", {
      name: "bad-path", models: ["lab/x"], config: { responseValidation: { jsonPathPredicates: [{ path: "$..x[*]", condition: "exists" }] } }
    })
    expect(reply.status).toBe(400)
    expect(reply.text).toContain("jsonPathPredicates")
  })
})
