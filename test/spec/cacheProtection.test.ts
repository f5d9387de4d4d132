/** `context_cache_protection` of a combo: a conversation stays with the target that holds the cache of its prompt, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf, type Place } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "kept")
})
afterAll(() => lab.close())

const protect = { context_cache_protection: true }
const pair = async (strategy: string, more: Record<string, unknown> = protect) => {
  const [a, b] = [await combos.place(), await combos.place()]
  return { a, b, combo: await combos.combo(strategy, [a.model, b.model], { config: { stickyRoundRobinLimit: 1, maxRetries: 0 }, ...more }) }
}

type Client = "chat" | "messages"
/** Which place answered. */
const ask = async (model: string, session: string | null, { client = "chat", system = "", stream = false, turn = "hi" }: { client?: Client; system?: string; stream?: boolean; turn?: string } = {}) => {
  const messages = [{ role: "user", content: turn }]
  const reply = await Http.send(lab.gateway.url, {
    path: client === "chat" ? "/v1/chat/completions" : "/v1/messages", headers: session === null ? {} : { "x-session-id": session },
    body: client === "chat" ? { model, stream, messages: [{ role: "system", content: system }, ...messages] } : { model, stream, max_tokens: 50, system, messages }
  })
  expect(reply.status, reply.text).toBe(200)
  return String(reply.headers["x-gateway-provider"])
}
const several = async (count: number, one: () => Promise<string>) => {
  const said: Array<string> = []
  for (let i = 0; i < count; i++) said.push(await one())
  return said
}
const turns = ({ name: a }: Place, { name: b }: Place) => [a, b, a, b]

describe("a combo that protects cached prefixes", () => {
  it("keeps a session with the target that answered it, in each format, whole and streamed; another session takes its turn", async () => {
    const { a, b, combo } = await pair("round-robin")
    expect(await ask(combo, "one")).toBe(a.name)
    expect(await ask(combo, "two")).toBe(b.name)
    expect(await several(2, () => ask(combo, "one"))).toEqual([a.name, a.name])
    expect(await several(2, () => ask(combo, "two", { stream: true }))).toEqual([b.name, b.name])
    expect(await several(2, () => ask(combo, "one", { client: "messages", stream: true }))).toEqual([a.name, a.name])
  })

  it("keeps a conversation without a session by its long beginning, and knows no short one", async () => {
    const { a, b, combo } = await pair("round-robin")
    const system = "You are careful. ".repeat(200)
    let turn = 0
    expect(new Set(await several(4, () => ask(combo, null, { system, turn: `turn ${++turn}` }))).size).toBe(1)
    expect(await several(3, () => ask(combo, null))).toEqual(expect.arrayContaining([a.name, b.name]))
  })

  it("moves with the conversation when its target fails, and does not move back", async () => {
    const { a, b, combo } = await pair("priority")
    expect(await ask(combo, "moving")).toBe(a.name)
    await lab.sim.rule({ id: a.name, match: { model: a.upstream }, script: { status: 503 } })
    expect(await ask(combo, "moving")).toBe(b.name)
    await lab.sim.rule({ id: a.name, match: { model: a.upstream }, script: { text: a.name } })
    expect(await several(2, () => ask(combo, "moving"))).toEqual([b.name, b.name])
    expect(await ask(combo, "fresh")).toBe(a.name)
  })

  it("keeps its place inside another combo", async () => {
    const inner = await pair("round-robin")
    const outer = await combos.combo("priority", [{ kind: "combo-ref", comboName: inner.combo.slice("combo/".length) }], { config: { nestedComboMode: "execute" } })
    const first = await ask(outer, "nested")
    expect(await several(3, () => ask(outer, "nested"))).toEqual([first, first, first])
  })

  it("is switched on for one combo at a time, and off again", async () => {
    const { a, b, combo } = await pair("round-robin", {})
    expect(await several(4, () => ask(combo, "free"))).toEqual(turns(a, b))
  })
})
