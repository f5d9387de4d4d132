/** Each strategy of a combo by what its clients see, and what else decides which target is asked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  // Failures make an order only by what they say: hints count, guesses do not.
  await lab.gateway.operator.call("PATCH", "/api/resilience", {
    connectionCooldown: { local: { baseCooldownMs: 0 } }, providerBreaker: { local: { degradationThreshold: 50, failureThreshold: 100 } }
  })
})
afterAll(() => lab.close())

let made = 0
interface Place {
  /** What it answers. */
  readonly name: string
  readonly model: string
  readonly connection: string
  readonly node: string
}

/** A provider of its own that answers its name, unless the script says otherwise. */
const place = async (script: Record<string, unknown> = {}, times?: number): Promise<Place> => {
  const name = `s${++made}`
  const [connection = ""] = await lab.pool(name, [`${name}-credential-number-0`])
  const match = { model: `m-${name}` }
  await lab.sim.rule({ id: name, match, script: { text: name, ...script }, ...(times === undefined ? {} : { times }) })
  if (times !== undefined) await lab.sim.rule({ id: `${name}-after`, match, script: { text: name } })
  const { connection: record } = await lab.gateway.operator.call<{ connection: { provider: string } }>("GET", `/api/providers/${connection}`)
  return { name, model: `${name}/m-${name}`, connection, node: record.provider }
}
const places = async (count: number): Promise<ReadonlyArray<Place>> => {
  const all: Array<Place> = []
  for (let i = 0; i < count; i++) all.push(await place())
  return all
}
const namesOf = (all: ReadonlyArray<Place>): ReadonlyArray<string> => all.map(({ name }) => name)

/** Makes a combo; answers the model id it is asked for by. */
const combo = async (strategy: string, models: ReadonlyArray<unknown>, more: Record<string, unknown> = {}): Promise<string> => {
  const name = `${strategy}-${++made}`
  await lab.gateway.operator.call("POST", "/api/combos", { name, models, strategy, ...more })
  return `combo/${name}`
}
const answerOf = (reply: Http.Reply): string =>
  (JSON.parse(reply.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content ?? ""

/** Who answered, one request after the other. */
const ask = async (model: string, times: number, more: Record<string, unknown> = {}): Promise<ReadonlyArray<string>> => {
  const said: Array<string> = []
  for (let i = 0; i < times; i++) {
    const reply = await lab.chat({ model, ...more })
    expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""])
    said.push(answerOf(reply))
  }
  return said
}
const modelsOf = (all: ReadonlyArray<Place>): ReadonlyArray<string> => all.map(({ model }) => model)
const saying = (content: string) => ({ messages: [{ role: "user", content }] })

describe("automatic routing", () => {
  it("auto and auto/fast answer from the connections that have a model; auto/fast prefers the fast one", async () => {
    const [slow, fast] = [await place({ latencyMs: 800 }), await place()]
    // The lab's own connection is no part of the pool.
    await lab.gateway.operator.changeConnection(lab.connection, { isActive: false })
    for (const { connection, name } of [slow, fast]) await lab.gateway.operator.changeConnection(connection, { defaultModel: `m-${name}` })
    for (const one of [slow, fast, slow, fast]) await ask(one.model, 1)
    const plain = await Http.send(lab.gateway.url, { ...lab.call({ model: "" }), body: { model: "auto", ...saying("Hello.") } })
    for (const name of [answerOf(plain), ...await ask("auto/lkgp", 2)]) expect(namesOf([slow, fast])).toContain(name)
    const said = await ask("auto/fast", 10)
    expect(said.filter((name) => name === fast.name).length).toBeGreaterThanOrEqual(7)
    for (const { connection } of [slow, fast]) await lab.gateway.operator.changeConnection(connection, { defaultModel: null })
  })
})

describe("a strategy", () => {
  it("priority: the first, always", async () => {
    const all = await places(3)
    expect(new Set(await ask(await combo("priority", modelsOf(all)), 4))).toEqual(new Set([all[0]?.name]))
  })

  it("weighted: by weight, and never one without", async () => {
    const [none, often, seldom] = await places(3) as [Place, Place, Place]
    const said = await ask(await combo("weighted", [
      { model: none.model, weight: 0 }, { model: often.model, weight: 60 }, { model: seldom.model, weight: 40 }
    ]), 40)
    expect(new Set(said)).toEqual(new Set([often.name, seldom.name]))
  })

  it("round-robin: in turn, each for its uses", async () => {
    const all = await places(3)
    const [a, b, c] = namesOf(all)
    expect(await ask(await combo("round-robin", modelsOf(all), { config: { stickyRoundRobinLimit: 2 } }), 8)).toEqual([a, a, b, b, c, c, a, a])
  })

  it("random: everybody", async () => {
    const all = await places(2)
    expect(new Set(await ask(await combo("random", modelsOf(all)), 40))).toEqual(new Set(namesOf(all)))
  })

  it("strict-random: everybody once a round", async () => {
    const all = await places(3)
    const said = await ask(await combo("strict-random", modelsOf(all)), 9)
    for (let round = 0; round < 3; round++) expect(said.slice(3 * round, 3 * round + 3).toSorted()).toEqual([...namesOf(all)].toSorted())
  })

  it("least-used: the one with the fewest uses", async () => {
    const all = await places(3) as [Place, Place, Place]
    await ask(all[0].model, 2)
    await ask(all[1].model, 1)
    const said = await ask(await combo("least-used", modelsOf(all)), 3)
    expect(said.toSorted()).toEqual([all[1].name, all[2].name, all[2].name].toSorted())
  })

  it("p2c: of two the less loaded one", async () => {
    const [busy, idle] = [await place({ text: "busy ".repeat(50_000), paceMs: 5 }), await place()]
    const held = await lab.stream({ model: busy.model })
    await held.until((text) => text.includes("content"))
    const said = await ask(await combo("p2c", [busy.model, idle.model]), 6)
    held.leave()
    expect(new Set(said)).toEqual(new Set([idle.name]))
  })

  it("cost-optimized: the cheapest, unknown prices last", async () => {
    const [unknown, dear, cheap] = await places(3) as [Place, Place, Place]
    await lab.gateway.operator.price(dear.node, `m-${dear.name}`, { input: 10, output: 30 })
    await lab.gateway.operator.price(cheap.node, `m-${cheap.name}`, { input: 1, output: 2 })
    expect(await ask(await combo("cost-optimized", modelsOf([unknown, dear, cheap])), 2)).toEqual([cheap.name, cheap.name])
  })

  it("lkgp: the one that answered last, also when the first is well again", async () => {
    const [first, second] = [await place({ status: 503 }, 1), await place()]
    const model = await combo("lkgp", [{ model: first.model }, { model: second.model }], { config: { maxRetries: 0, explorationRate: 0 } })
    const said = await ask(model, 4)
    // Whoever was asked first, the one that answered stays.
    expect(new Set(said).size).toBe(1)
  })

  it("fill-first: one until it rests, then the next", async () => {
    const [first, second] = [await place({ status: 429, retryAfter: 600 }), await place()]
    const model = await combo("fill-first", modelsOf([first, second]), { config: { maxRetries: 0 } })
    expect(await ask(model, 3)).toEqual([second.name, second.name, second.name])
    expect((await lab.sim.entries({ model: `m-${first.name}` })).length).toBe(1)
  })

  it("cache-optimized: the same beginning goes to the same target, others spread", async () => {
    const all = await places(3)
    const model = await combo("cache-optimized", modelsOf(all))
    const homes = new Set<string>()
    for (let prompt = 0; prompt < 12; prompt++) {
      const said = await ask(model, 2, saying(`Document ${prompt}: ${"words and more words ".repeat(40)}`))
      expect(said[0]).toBe(said[1])
      homes.add(said[0] ?? "")
    }
    expect(homes.size).toBeGreaterThan(1)
  })

  it("context-optimized: the smallest window that holds the request", async () => {
    const provider = "openai"
    await lab.gateway.operator.createConnection({ provider, apiKey: "sk-windows-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const [large, small] = ["gpt-5.6-luna", "gpt-5.4-nano"]
    for (const name of [large, small]) await lab.sim.rule({ match: { model: name }, script: { text: name } })
    const model = await combo("context-optimized", [`${provider}/${large}`, `${provider}/${small}`])
    expect(await ask(model, 1)).toEqual([small])
    expect(await ask(model, 1, saying("many words in a row ".repeat(100_000)))).toEqual([large])
  })
})

describe("nested combos", () => {
  it("flatten puts the inner targets in place, in their listed order", async () => {
    const [a, b, c] = [await place(), await place(), await place()]
    const inner = await combo("round-robin", modelsOf([a, b]), { config: { stickyRoundRobinLimit: 1 } })
    const outer = await combo("priority", [{ kind: "combo-ref", comboName: inner.slice("combo/".length) }, c.model])
    expect(await ask(outer, 3)).toEqual([a.name, a.name, a.name])
  })

  it("execute lets the inner combo order its own", async () => {
    const [a, b, c] = [await place(), await place(), await place()]
    const inner = await combo("round-robin", modelsOf([a, b]), { config: { stickyRoundRobinLimit: 1 } })
    const outer = await combo("priority", [{ kind: "combo-ref", comboName: inner.slice("combo/".length) }, c.model], { config: { nestedComboMode: "execute" } })
    expect(await ask(outer, 4)).toEqual([a.name, b.name, a.name, b.name])
  })

  it.each(["flatten", "execute"])("%s: when all of the inner one fail, the outer one goes on", async (nestedComboMode) => {
    const [a, b, c] = [await place({ status: 503 }), await place({ status: 502 }), await place()]
    const inner = await combo("priority", modelsOf([a, b]))
    const outer = await combo("priority", [{ kind: "combo-ref", comboName: inner.slice("combo/".length) }, c.model], { config: { nestedComboMode, maxRetries: 0 } })
    const reply = await lab.chat({ model: outer })
    expect([reply.status, answerOf(reply), reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, c.name, "2"])
  })

  it("a circle is refused when it is made", async () => {
    const { operator } = lab.gateway
    const { id } = await operator.call<{ id: string }>("POST", "/api/combos", { name: "circle-a", models: [] })
    await operator.call("POST", "/api/combos", { name: "circle-b", models: [{ kind: "combo-ref", comboName: "circle-a" }] })
    expect((await operator.raw("PUT", `/api/combos/${id}`, { models: [{ kind: "combo-ref", comboName: "circle-b" }] })).status).toBe(400)
  })
})

describe("what bounds a combo", () => {
  it("a key's allowedCombos", async () => {
    const [one] = await places(1) as [Place]
    const [mine, other] = [await combo("priority", [one.model]), await combo("priority", [one.model])]
    const { key } = await lab.gateway.operator.createKey("bounded", { allowedCombos: [mine.slice("combo/".length)] })
    const headers = { authorization: `Bearer ${key}` }
    expect((await lab.chat({ model: mine }, headers)).status).toBe(200)
    expect((await lab.chat({ model: other }, headers)).status).toBe(403)
  })

  it("tool_filter_regex: the upstream sees only the tools it matches", async () => {
    const [one] = await places(1) as [Place]
    const model = await combo("priority", [one.model], { tool_filter_regex: "^get_" })
    const toolOf = (name: string) => ({ type: "function", function: { name, parameters: { type: "object", properties: {} } } })
    expect((await lab.chat({ model, tools: [toolOf("get_weather"), toolOf("drop_tables"), toolOf("get_time")] })).status).toBe(200)
    const [entry] = await lab.sim.entries({ model: `m-${one.name}` })
    const sent = entry?.body as { tools: ReadonlyArray<{ function: { name: string } }> } | undefined
    expect(sent?.tools.map((tool) => tool.function.name)).toEqual(["get_weather", "get_time"])
  })

  it("X-Gateway-Budget: the dearer ones leave; strict and nobody left is 402, else the cheapest answers", async () => {
    const [dear, cheap] = await places(2) as [Place, Place]
    await lab.gateway.operator.price(dear.node, `m-${dear.name}`, { input: 10_000, output: 10_000 })
    await lab.gateway.operator.price(cheap.node, `m-${cheap.name}`, { input: 10, output: 10 })
    const model = await combo("auto", modelsOf([dear, cheap]), { config: { explorationRate: 0 } })
    const within = await lab.chat({ model }, { "x-gateway-budget": "1" })
    expect([within.status, answerOf(within)]).toEqual([200, cheap.name])
    const strict = await lab.chat({ model }, { "x-gateway-budget": "0.000001", "x-gateway-budget-fallback": "strict" })
    expect([strict.status, errorIn(strict)["code"]]).toEqual([402, "payment_required"])
    const soft = await lab.chat({ model }, { "x-gateway-budget": "0.000001" })
    expect([soft.status, answerOf(soft)]).toEqual([200, cheap.name])
    expect((await lab.sim.entries({ model: `m-${dear.name}` })).length).toBe(0)
  })

  it("X-Gateway-Budget: an answer counts with what the client lets it have, in each format's field", async () => {
    const [one] = await places(1) as [Place]
    await lab.gateway.operator.price(one.node, `m-${one.name}`, { input: 0, output: 1_000 })
    const model = await combo("auto", modelsOf([one]), { config: { explorationRate: 0 } })
    // An answer of 1,000 tokens costs 1 USD, one of 100 a tenth of it.
    const ask = async (path: string, body: Record<string, unknown>) => (await Http.send(lab.gateway.url, {
      path, headers: { "x-gateway-budget": "0.2", "x-gateway-budget-fallback": "strict" }, body: { model, ...body }
    })).status
    expect(await ask("/v1/chat/completions", { messages })).toBe(402)
    for (const cap of [{ max_tokens: 100 }, { max_completion_tokens: 100 }]) expect([cap, await ask("/v1/chat/completions", { messages, ...cap })]).toEqual([cap, 200])
    expect(await ask("/v1/chat/completions", { messages, max_tokens: 300 })).toBe(402)
    expect([await ask("/v1/messages", { messages, max_tokens: 100 }), await ask("/v1/responses", { input: "Hello", max_output_tokens: 100 })]).toEqual([200, 200])
  })
})

describe("a dry run", () => {
  it.each(["priority", "round-robin", "fill-first", "least-used", "cost-optimized", "strict-random"])("%s: says what then happens", async (strategy) => {
    const all = await places(3) as [Place, Place, Place]
    for (const [at, { name, node }] of all.entries()) await lab.gateway.operator.price(node, `m-${name}`, { input: 9 - at, output: 9 - at })
    const model = await combo(strategy, modelsOf(all), { config: { stickyRoundRobinLimit: 1 } })
    // A deck of cards is shuffled by its first draw.
    if (strategy === "strict-random") await ask(model, 1)
    for (let i = 0; i < 2; i++) {
      const dry = await lab.gateway.operator.call<{ targets: ReadonlyArray<{ position: number | null; model: string }> }>("POST", "/api/routing/explain", { model })
      const first = dry.targets.find(({ position }) => position === 1)?.model
      const [said] = await ask(model, 1)
      expect(first).toBe(`${said}/m-${said}`)
    }
  })
})
