/** Counting tokens for whatever a client may call (supplement 2.7, 11.10): combos, mappings and automatic routing, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
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
