/** Tools of vendors that the gateway runs itself: searches and pages, in every format, with rows, costs, bounds and rights. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { html, type Pages, startPages } from "#test/support/pages.ts"

const QUERY_PRICE = 0.001
let lab: Lab
let pages: Pages
let count = 0

type Body = Readonly<Record<string, unknown>>
interface ToolCall { readonly name: string; readonly arguments: Readonly<Record<string, string>> }

beforeAll(async () => {
  pages = await startPages({ "/page": html("<title>Leave</title><p>Thirty days a year.</p>") })
  lab = await startLab({ network: pages.network })
  await lab.gateway.operator.createConnection({ provider: "serper-search", apiKey: "serper-credential-000001", providerSpecificData: { baseUrl: `${lab.sim.url}/serper` } })
  await rules({ interceptSearch: true, interceptFetch: true })
})
afterAll(async () => {
  await lab.close()
  await pages.stop()
})

const rules = (body: Body, connection = lab.connection) => lab.gateway.operator.call<Body>("PUT", `/api/providers/${connection}/interception-rules`, body)
/** A model that calls these tools in its first answers, one list each, and then says what the tool answered. */
const model = async (...turns: ReadonlyArray<ReadonlyArray<ToolCall>>): Promise<string> => {
  const name = `hosted-${++count}`
  for (const toolCalls of turns) await lab.sim.rule({ match: { model: name }, times: 1, script: { toolCalls } })
  return name
}
const search = (query: string, name = "web_search"): ToolCall => ({ name, arguments: { query } })
const fetches = (url: string): ToolCall => ({ name: "web_fetch", arguments: { url } })
const bodies = async (name: string) => (await lab.sim.entries({})).filter((entry) => entry.model === name).map(({ body }) => body as Record<string, unknown>)
const searches = async (query: string) => (await lab.sim.entries({ path: "/serper/search" })).map(({ body }) => body as Body).filter(({ q }) => String(q).includes(query))
const listIn = <A>(body: Body | undefined, member: string): ReadonlyArray<A> => (body?.[member] ?? []) as ReadonlyArray<A>
const toldTo = (body: Body | undefined) => listIn<{ readonly role: string; readonly content: string }>(body, "messages").filter(({ role }) => role === "tool").map(({ content }) => content)
const toolsOf = (body: Body | undefined) => listIn<{ readonly type: string; readonly function?: { readonly name: string } }>(body, "tools").map((tool) => tool.function?.name ?? tool.type)
const question = "What is new?"
const messages = (id: string, tool: Body, more: Body = {}, headers: Readonly<Record<string, string>> = {}) => Http.send(lab.gateway.url, {
  path: "/v1/messages", headers, body: { model: id.includes("/") ? id : `lab/${id}`, max_tokens: 100, messages: [{ role: "user", content: question }], tools: [tool], ...more }
})
const searchTool = { type: "web_search_20250305", name: "web_search" }
const fetchTool = { type: "web_fetch_20250910", name: "web_fetch" }

describe("a search", () => {
  it("of the model is run by the gateway, the model is asked again, and each call has its row under the request's id", async () => {
    const name = await model([search("rows of it")])
    const reply = await messages(name, searchTool)
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([200, { type: "message", stop_reason: "end_turn", content: [{ type: "text", text: expect.stringContaining("Page 1 about rows of it") as string }] }])
    const [first, second, ...more] = await bodies(name)
    expect(more).toEqual([])
    expect(toolsOf(first)).toEqual(["web_search"])
    expect(toldTo(second)).toEqual([expect.stringContaining("https://www.example.com/pages/1")])
    const rows = await lab.rows(reply)
    const of = (endpoint: string) => rows.filter((row) => row.endpoint === endpoint).map(({ attempt, costUsd, final, provider }) => [provider === lab.node ? "lab" : provider, attempt, final, costUsd])
    expect(of("/v1/messages").map(([provider, attempt, final]) => [provider, attempt, final])).toEqual([["lab", 1, false], ["lab", 2, true]])
    expect(of("/v1/search")).toEqual([["serper-search", 1, true, QUERY_PRICE]])
    const sum = rows.reduce((all, { costUsd }) => all + costUsd, 0)
    expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(sum, 9)
    const { decision } = await lab.gateway.operator.call<{ decision: Body }>("GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"] ?? ""}`)
    expect(decision["requestedModel"]).toBe(`lab/${name}`)
  })

  it("that the model repeats costs once, and several searches of one request are each made", async () => {
    const name = await model([search("made twice"), search("made also")], [search("made twice")])
    const reply = await messages(name, searchTool)
    expect(toldTo((await bodies(name))[2])).toEqual(["made twice", "made also", "made twice"].map((query) => expect.stringContaining(`Page 1 about ${query}`) as string))
    expect([(await searches("made twice")).length, (await searches("made also")).length]).toEqual([1, 1])
    const sum = (await lab.rows(reply)).reduce((all, { costUsd }) => all + costUsd, 0)
    expect(sum).toBeGreaterThanOrEqual(2 * QUERY_PRICE)
    expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(sum, 9)
  })

  it.each([false, true])("is served in every format that has such a tool; stream: %s", async (stream) => {
    const asks: ReadonlyArray<readonly [string, (model: string) => Body]> = [
      ["/v1/messages", (id) => ({ model: id, stream, max_tokens: 100, messages: [{ role: "user", content: question }], tools: [searchTool], tool_choice: { type: "tool", name: "web_search" } })],
      ["/v1/responses", (id) => ({ model: id, stream, input: question, tools: [{ type: "web_search_preview" }], tool_choice: { type: "web_search_preview" } })],
      ["/v1/responses", (id) => ({ model: id, stream, input: question, tools: [{ type: "web_search" }] })],
      ["/v1/chat/completions", (id) => ({ model: id, stream, messages: [{ role: "user", content: question }], web_search_options: {} })],
      [`/v1beta/models/MODEL:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, () => ({ contents: [{ role: "user", parts: [{ text: question }] }], tools: [{ googleSearch: {} }] })]
    ]
    for (const [path, body] of asks) {
      const name = await model([search("formats")])
      const reply = await Http.send(lab.gateway.url, { path: path.replace("MODEL", encodeURIComponent(`lab/${name}`)), headers: {}, body: body(`lab/${name}`) })
      expect(reply.status, `${path}: ${reply.text}`).toBe(200)
      const asked = await bodies(name)
      expect([path, asked.map(toolsOf), asked[0]?.["web_search_options"]]).toEqual([path, [["web_search"], ["web_search"]], undefined])
      expect(stream ? reply.text.replaceAll(/[^a-z]/gi, "") : reply.text, path).toMatch(stream ? /about.*formats/ : /Page 1 about formats/)
      expect(reply.text, path).not.toMatch(/tool_use|function_call"|functionCall|tool_calls":\[/)
    }
  })

  it("keeps to the bounds of the client's tool: how often, which domains, from which country", async () => {
    const name = await model([search("bounded one"), search("bounded two")])
    await messages(name, { ...searchTool, max_uses: 1, blocked_domains: ["example.com"], user_location: { type: "approximate", country: "DE" } })
    expect(toldTo((await bodies(name))[1])).toEqual(["Nothing was found.", expect.stringContaining("max_uses")])
    expect(await searches("bounded")).toMatchObject([{ q: expect.stringMatching(/^bounded one.*-site:example\.com/) as string, gl: "de" }])
  })

  it("stands beside the client's own tools, whose names stay theirs", async () => {
    const own = { name: "local_time", input_schema: { type: "object", properties: {} } }
    const name = await model([{ name: "local_time", arguments: {} }, search("beside")])
    const reply = await messages(name, searchTool, { tools: [searchTool, own] })
    expect(JSON.parse(reply.text)).toMatchObject({ stop_reason: "tool_use", content: [{ type: "tool_use", name: "local_time" }] })
    expect(await searches("beside")).toEqual([])
    const taken = await model([search("numbered", "web_search_2")])
    await Http.send(lab.gateway.url, {
      path: "/v1/responses", headers: {},
      body: { model: `lab/${taken}`, input: question, tools: [{ type: "web_search" }, { type: "function", name: "web_search", parameters: { type: "object", properties: {} } }] }
    })
    expect(toolsOf((await bodies(taken))[0])).toEqual(["web_search_2", "web_search"])
    expect((await searches("numbered")).length).toBe(1)
  })

  it.each([["first", 0], ["in the middle", 60], ["last", 120]])("is found among more definitions of tools than a thread tells the loop: %s", async (where, place) => {
    const own = Array.from({ length: 120 }, (_, i) => ({ name: `own_${i}`, description: "w ".repeat(2_000), input_schema: { type: "object", properties: {} } }))
    const query = `large and ${where}`
    const name = await model([search(query)])
    const tools: ReadonlyArray<unknown> = [...own.slice(0, place), searchTool, ...own.slice(place)]
    const reply = await messages(name, searchTool, { tools })
    expect([reply.status, (await searches(query)).length]).toEqual([200, 1])
    const [asked] = await bodies(name)
    expect(toolsOf(asked)).toEqual(expect.arrayContaining(["web_search", "own_0", "own_119"]))
    expect(listIn(asked, "tools")).toHaveLength(121)
  })

  it("is the key's own: a key that may not search has an error for its model", async () => {
    const { key } = await lab.gateway.operator.createKey("no searches", { allowedEndpoints: ["chat"] })
    const name = await model([search("forbidden")])
    const reply = await messages(name, searchTool, {}, { authorization: `Bearer ${key}` })
    expect([reply.status, toldTo((await bodies(name))[1]), await searches("forbidden")]).toEqual([200, [expect.stringContaining("search")], []])
  })

  it("that fails is told to the model as an error", async () => {
    await lab.sim.rule({ match: { path: "/serper/search" }, times: 1, script: { status: 400, error: { message: "no such search" } } })
    const name = await model([search("failing")], [{ name: "web_search", arguments: {} }])
    expect((await messages(name, searchTool)).status).toBe(200)
    expect(toldTo((await bodies(name))[2])).toEqual([expect.stringContaining("no such search"), expect.stringContaining("argument is missing")])
  })

  it("does not go with several choices", async () => {
    const reply = await lab.chat({ model: await model(), n: 2, web_search_options: {} })
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("several choices")])
  })
})

describe("a page", () => {
  it("is read by the gateway, within the guard of addresses and the domains of the client's tool", async () => {
    const name = await model([fetches(`${pages.origin}/page`), fetches("https://127.0.0.1/secret")], [fetches("https://elsewhere.test/")])
    const reply = await messages(name, { ...fetchTool, allowed_domains: ["upstream.test", "127.0.0.1"] })
    expect(reply.status).toBe(200)
    expect(toldTo((await bodies(name))[2])).toEqual([
      expect.stringContaining("Thirty days a year."), expect.stringContaining("127.0.0.1 is refused"), expect.stringContaining("domain may not be read")
    ])
    expect(pages.asked).toEqual(["/page"])
    expect((await lab.rows(reply)).filter(({ endpoint }) => endpoint === "/v1/web/fetch").map(({ provider }) => provider)).toEqual(["rs-trafilatura"])
  })

  it("comes from the rule's backend", async () => {
    await lab.gateway.operator.createConnection({ provider: "firecrawl", apiKey: "firecrawl-credential-01", providerSpecificData: { baseUrl: `${lab.sim.url}/firecrawl` } })
    await lab.gateway.operator.createConnection({ provider: "jina-reader", apiKey: "jina-credential-00001", providerSpecificData: { baseUrl: `${lab.sim.url}/jina` } })
    await rules({ interceptSearch: true, interceptFetch: true, fetchBackend: "jina" })
    const reply = await messages(await model([fetches(`${pages.origin}/page`)]), fetchTool)
    expect((await lab.rows(reply)).filter(({ endpoint }) => endpoint === "/v1/web/fetch").map(({ provider }) => provider)).toEqual(["jina-reader"])
    await rules({ interceptSearch: true, interceptFetch: true })
  })
})

describe("the rules", () => {
  it("act per model, are stored as they are sent, and a proxy is refused", async () => {
    const quiet = await model([search("quiet")])
    const stored = { interceptSearch: true, interceptFetch: false, fetchBackend: null, fetchProxyUrl: null, models: { [quiet]: { interceptSearch: false } } }
    expect(await rules(stored)).toEqual(stored)
    expect(await lab.gateway.operator.call("GET", `/api/providers/${lab.connection}/interception-rules`)).toEqual(stored)
    const reply = await messages(quiet, searchTool)
    expect([JSON.parse(reply.text), await searches("quiet")]).toMatchObject([{ stop_reason: "tool_use" }, []])
    const pagesOff = await model([fetches(`${pages.origin}/page`)])
    await messages(pagesOff, fetchTool)
    expect(toolsOf((await bodies(pagesOff))[0])).toEqual([])
    const refused = await lab.gateway.operator.raw("PUT", `/api/providers/${lab.connection}/interception-rules`, { fetchProxyUrl: "http://proxy.test" })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("not_supported_yet")])
    await rules({ interceptSearch: true, interceptFetch: true })
  })

  it("of the first target hold for all targets of a request; without one the vendor's tool stays what it was", async () => {
    const { operator } = lab.gateway
    const native = await operator.createNode({ type: "anthropic-compatible", prefix: "native", baseUrl: `${lab.sim.url}/v1` })
    await operator.createConnection({ provider: native, apiKey: "native-credential-0001" })
    const [ruled, plain] = [await model([search("ruled")]), await model()]
    await operator.call("POST", "/api/combos", { name: "plain-first", strategy: "priority", models: [`native/${plain}`, `lab/${ruled}`] })
    await messages("", searchTool, { model: "plain-first" })
    expect((await bodies(plain)).map(({ tools }) => tools)).toEqual([[searchTool]])
    await operator.call("POST", "/api/combos", { name: "ruled-first", strategy: "priority", models: [`lab/${ruled}`, `native/${plain}`] })
    expect((await messages("", searchTool, { model: "ruled-first" })).text).toContain("about ruled")
  })

  it("that are gone leave requests as they were", async () => {
    await rules({})
    const name = await model([search("gone")])
    await messages(name, searchTool)
    expect([toolsOf((await bodies(name))[0]), await searches("gone")]).toEqual([[], []])
  })
})
