/** POST /v1/embeddings and its twin below a provider, over HTTP: what is refused, where a request goes, what it costs and what it leaves. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TruthEntry } from "#src/simulator/TruthLog.ts"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ resilience: "awake", environment: { GATEWAY_EMERGENCY_FALLBACK_MODEL: "lab/em-gift" } })
  combos = combosOf(lab, "em")
})
afterAll(() => lab.close())

type Headers = Readonly<Record<string, string>>
const embed = (body: Readonly<Record<string, unknown>>, headers: Headers = {}, path = "/v1/embeddings") => Http.send(lab.gateway.url, { path, headers, body })
const bodyIn = (entry: TruthEntry | undefined) => entry?.body as Record<string, unknown> | undefined
const vectorsIn = (reply: Http.Reply) => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as { model: string; data: ReadonlyArray<{ index: number; embedding: ReadonlyArray<number> | string }>; usage: { prompt_tokens: number } }
}
const seen = (model: string) => lab.sim.entries({ model })

describe("a request for embeddings", () => {
  it("is forwarded as it came but for the model, with what a vendor adds", async () => {
    const reply = await embed({ model: "lab/em-own", input: ["a", "b"], dimensions: 4, task: "retrieval.query", truncate: true, normalized: false })
    expect(vectorsIn(reply)).toMatchObject({ object: "list", model: "lab/em-own", data: [{ index: 0 }, { index: 1 }] })
    const [entry] = await seen("em-own")
    expect(bodyIn(entry)).toEqual({ model: "em-own", input: ["a", "b"], dimensions: 4, task: "retrieval.query", truncate: true, normalized: false })
  })

  it.each([
    ["no input", {}, "input"],
    ["an empty list", { input: [] }, "input"],
    ["a number", { input: 7 }, "input"],
    ["a fraction", { input: [1.5] }, "input"],
    ["texts beside tokens", { input: ["a", 1] }, "input"],
    ["an empty list of tokens", { input: [[1], []] }, "input"],
    ["a structured item", { input: [{ type: "text", text: "a" }] }, "input[0]"],
    ["a native item", { input: ["a", { image: "https://example.com/a.png" }] }, "input[1]"],
    ["another encoding", { input: "a", encoding_format: "binary" }, "encoding_format"],
    ["no dimension", { input: "a", dimensions: 0 }, "dimensions"]
  ] as const)("with %s is refused by the name of the field", async (_name, body, param) => {
    const reply = await embed({ model: "lab/em-refused", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ type: "invalid_request_error", code: "bad_request", param })])
    expect((await seen("em-refused")).length).toBe(0)
  })

  it.each([
    ["a prefix that nobody has", "nobody/model", "Unknown embedding provider: nobody"],
    ["a provider that makes none", "anthropic/claude-sonnet-4-5", "Unknown embedding provider: anthropic"],
    ["a provider without a credential", "voyage/voyage-4", "No credentials for embedding provider: voyage"]
  ])("for %s is refused in the words of the contract", async (_name, model, message) => {
    const reply = await embed({ model, input: "a" })
    expect([reply.status, errorIn(reply)]).toEqual([400, { message, type: "invalid_request_error", code: "bad_request" }])
  })

  it("for a model that talks is refused, and a model that does not exist is not found", async () => {
    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-em-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const talks = await embed({ model: "openai/gpt-4o-mini", input: "a" })
    expect([talks.status, errorIn(talks)["code"], String(errorIn(talks)["message"])]).toEqual([400, "bad_request", expect.stringContaining("makes no embeddings")])
    expect((await embed({ model: "no-such-model", input: "a" })).status).toBe(404)
  })

  it("by a bare id or a provider's alias is answered by the canonical id", async () => {
    const bare = await embed({ model: "text-embedding-3-small", input: "a" })
    expect([vectorsIn(bare).model, bare.headers["x-gateway-model"]]).toEqual(["openai/text-embedding-3-small", "openai/text-embedding-3-small"])
  })

  it("below a provider takes the model with or without its prefix, and refuses another's", async () => {
    const path = "/v1/providers/openai/embeddings"
    for (const model of ["text-embedding-3-large", "openai/text-embedding-3-large"]) {
      expect(vectorsIn(await embed({ model, input: "a" }, {}, path)).model).toBe("openai/text-embedding-3-large")
    }
    const other = await embed({ model: "gemini/gemini-embedding-001", input: "a" }, {}, path)
    expect([other.status, errorIn(other)["code"]]).toEqual([400, "model_mismatch"])
    const nobody = await embed({ model: "a", input: "a" }, {}, "/v1/providers/nobody/embeddings")
    expect([nobody.status, errorIn(nobody)["message"]]).toEqual([400, "Unknown embedding provider: nobody"])
  })

  it("leaves one row with its tokens and its cost, which the headers tell", async () => {
    await lab.gateway.operator.price(lab.node, "em-priced", { input: 2, output: 100 })
    await lab.sim.rule({ match: { model: "em-priced" }, script: { usage: { promptTokens: 500, completionTokens: 0, totalTokens: 500 } } })
    const reply = await embed({ model: "lab/em-priced", input: ["a", "b"] })
    expect(vectorsIn(reply).usage.prompt_tokens).toBe(500)
    expect(reply.headers).toMatchObject({
      "x-gateway-response-cost": "0.0010000000", "x-gateway-tokens-in": "500", "x-gateway-tokens-out": "0", "x-gateway-provider": "lab", "x-gateway-cache-hit": "false"
    })
    expect(reply.headers["x-gateway-decision"]).toMatch(/^strategy=single; provider=lab; latency_ms=\d+$/)
    expect(await lab.rows(reply)).toMatchObject([{
      endpoint: "/v1/embeddings", provider: lab.node, model: "em-priced", sourceFormat: "embeddings", targetFormat: "embeddings",
      tokensIn: 500, tokensOut: 0, costUsd: 0.001, outcome: "completed", estimated: false, final: true
    }])
  })

  it("whose server counts nothing has its input estimated, tokens as so many", async () => {
    await lab.sim.rule({ match: { model: "em-uncounted" }, script: { usage: "omit" } })
    const reply = await embed({ model: "lab/em-uncounted", input: Array.from({ length: 40 }, (_, i) => i) })
    expect(vectorsIn(reply).data.length).toBe(1)
    const [row] = await lab.rows(reply)
    expect([row?.estimated, row?.tokensOut]).toEqual([true, 0])
    expect(row?.tokensIn).toBeGreaterThan(30)
    expect(row?.tokensIn).toBeLessThan(100)
  })

  it("gets its vectors in the order and the encoding that it asked for, whatever the server does", async () => {
    const data = [{ object: "embedding", index: 1, embedding: [0.5, -1] }, { object: "embedding", index: 0, embedding: [2, 0.25] }]
    await lab.sim.rule({ match: { model: "em-shuffled" }, script: { status: 200, body: { object: "list", data, model: "x", usage: { prompt_tokens: 3, total_tokens: 3 } } } })
    const ask = (more: Record<string, unknown>) => embed({ model: "lab/em-shuffled", input: ["a", "b"], ...more })
    expect(vectorsIn(await ask({})).data).toEqual([{ object: "embedding", index: 0, embedding: [2, 0.25] }, { object: "embedding", index: 1, embedding: [0.5, -1] }])
    const coded = vectorsIn(await ask({ encoding_format: "base64" })).data.map(({ embedding }) => [...new Float32Array(new Uint8Array(Buffer.from(embedding as string, "base64")).buffer)])
    expect(coded).toEqual([[2, 0.25], [0.5, -1]])
  })

  it("that gets fewer vectors than it has items is not answered with them", async () => {
    await lab.sim.rule({ match: { model: "em-short" }, script: { status: 200, body: { object: "list", data: [{ object: "embedding", index: 0, embedding: [1] }], model: "x" } } })
    const reply = await embed({ model: "lab/em-short", input: ["a", "b"] })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })

  it("of many texts is read by a thread of its own, and answered whole", { timeout: 180_000 }, async () => {
    const input = Array.from({ length: 1_500 }, (_, i) => `text ${i} ${"word ".repeat(40)}`)
    const reply = await embed({ model: "lab/em-large", input, dimensions: 2, metadata: { disabledGuardrails: true, mine: 1 } })
    expect(vectorsIn(reply).data.length).toBe(1_500)
    const [entry] = await seen("em-large")
    expect(bodyIn(entry)).toEqual({ model: "em-large", input, dimensions: 2, metadata: { mine: 1 } })
  })

  it("in another format than its server's is said in the server's words; what it cannot say is named or refused", async () => {
    await lab.gateway.operator.createConnection({ provider: "gemini", apiKey: "AIza-em-0000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
    const reply = await embed({ model: "gemini/gemini-embedding-001", input: ["a", "b"], dimensions: 3, task_type: "RETRIEVAL_QUERY", user: "me" })
    expect(vectorsIn(reply).data.map(({ embedding }) => embedding.length)).toEqual([3, 3])
    expect(reply.headers["x-gateway-omitted"]).toBe("user")
    const [entry] = await seen("gemini-embedding-001")
    const shared = { model: "models/gemini-embedding-001", taskType: "RETRIEVAL_QUERY", outputDimensionality: 3 }
    expect(bodyIn(entry)).toEqual({ requests: [{ ...shared, content: { parts: [{ text: "a" }] } }, { ...shared, content: { parts: [{ text: "b" }] } }] })
    const tokens = await embed({ model: "gemini/gemini-embedding-001", input: [[1], [2]] })
    expect([tokens.status, errorIn(tokens)["param"]]).toEqual([400, "input"])
  })
})

describe("a combo of embedding models", () => {
  it("falls back to the next target, and leaves a row for each", async () => {
    const [bad, good] = [await combos.place({ status: 503, error: { message: "away" } }), await combos.place()]
    const model = await combos.combo("priority", [bad.model, good.model], { config: { maxRetries: 0 } })
    const reply = await embed({ model, input: ["a", "b", "c"] }, { "x-gateway-explain": "true" })
    expect([vectorsIn(reply).model, vectorsIn(reply).data.length]).toEqual([good.model, 3])
    expect(reply.headers).toMatchObject({ "x-gateway-fallback-attempts": "1", "x-gateway-decision": expect.stringContaining("strategy=priority") })
    expect(JSON.parse(reply.headers["x-gateway-trace"] ?? "{}")).toMatchObject({ strategy: "priority", failed: [{ status: 503 }] })
    expect((await lab.rows(reply)).map(({ final, outcome }) => [outcome, final])).toEqual([["upstream-status", false], ["completed", true]])
  })

  it("remembers who rests: the next request does not ask it", async () => {
    const [bad, good] = [await combos.place({ status: 429, retryAfter: 600, error: { message: "slow down" } }), await combos.place()]
    const model = await combos.combo("priority", [bad.model, good.model], { config: { maxRetries: 0 } })
    for (let i = 0; i < 2; i++) expect(vectorsIn(await embed({ model, input: "a" })).model).toBe(good.model)
    expect((await combos.seen(bad)).length).toBe(1)
    const direct = await embed({ model: bad.model, input: "a" })
    expect([direct.status, Number(direct.headers["retry-after"]) > 0]).toEqual([429, true])
  })

  it("can be explained before it is asked", async () => {
    const place = await combos.place()
    const model = await combos.combo("priority", [place.model])
    const explained = await lab.gateway.operator.call<{ targets: ReadonlyArray<{ model: string; format: string }> }>("POST", "/api/routing/explain", { model, format: "embeddings" })
    expect(explained.targets).toMatchObject([{ model: place.model, format: "embeddings" }])
    expect((await combos.seen(place)).length).toBe(0)
  })
})

describe("a key", () => {
  const auth = ({ key }: { readonly key: string }) => ({ authorization: `Bearer ${key}` })

  it("that may not use embeddings, or not this model, is refused before anything is sent", async () => {
    const { operator } = lab.gateway
    const talks = await operator.createKey("talks", { allowedEndpoints: ["chat"] })
    expect((await embed({ model: "lab/em-denied", input: "a" }, auth(talks))).status).toBe(403)
    const other = await operator.createKey("other", { allowedModels: ["lab/em-other"] })
    expect((await embed({ model: "lab/em-denied", input: "a" }, auth(other))).status).toBe(403)
    const embeds = await operator.createKey("embeds", { allowedEndpoints: ["embeddings"] })
    vectorsIn(await embed({ model: "lab/em-allowed", input: "a" }, auth(embeds)))
    expect((await lab.chat({ model: "em-allowed" }, auth(embeds))).status).toBe(403)
    expect((await seen("em-denied")).length).toBe(0)
  })

  it("whose budget is used up is refused, and no other model makes its vectors", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "em-dear", { input: 100, output: 0 })
    await lab.sim.rule({ match: { model: "em-dear" }, script: { usage: { promptTokens: 6_000, completionTokens: 0, totalTokens: 6_000 } } })
    const key = await operator.createKey("spent")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 1 })
    await operator.setFlag("GATEWAY_EMERGENCY_FALLBACK", "true")
    const ask = () => embed({ model: "lab/em-dear", input: "a" }, auth(key))
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    const refused = await ask()
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
    expect((await seen("em-dear")).length).toBe(2)
  })

  it("whose token limit is reached is refused", async () => {
    const { operator } = lab.gateway
    await lab.sim.rule({ match: { model: "em-limited" }, script: { usage: { promptTokens: 90, completionTokens: 0, totalTokens: 90 } } })
    const key = await operator.createKey("limited")
    await operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: 100 })
    const ask = () => embed({ model: "lab/em-limited", input: "a short text" }, auth(key))
    // A limit is passed by one call at most.
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    const refused = await ask()
    expect([refused.status, Number(refused.headers["retry-after"]) > 0]).toEqual([429, true])
  })

  it("sends the same request twice under one Idempotency-Key and pays for one", async () => {
    const headers = { "idempotency-key": "em-once" }
    const [first, again] = [await embed({ model: "lab/em-once", input: "a" }, headers), await embed({ model: "lab/em-once", input: "a" }, headers)]
    expect([again.headers["x-gateway-idempotent"], again.bytes.equals(first.bytes)]).toEqual(["true", true])
    expect((await seen("em-once")).length).toBe(1)
  })

  it("does not ask the usage command by embedding its words", async () => {
    const key = await lab.gateway.operator.createKey("command", { allowUsageCommand: true })
    expect(vectorsIn(await embed({ model: "lab/em-command", input: "/usage" }, auth(key))).data.length).toBe(1)
  })
})

describe("the list of embedding models", () => {
  it("names those of a node that makes embeddings", async () => {
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "vectors", baseUrl: `${lab.sim.url}/v1`, apiType: "embeddings" })
    await operator.createConnection({ provider: node, apiKey: "vectors-credential-000001" })
    await operator.call("POST", "/api/provider-models", { provider: "vectors", modelId: "own-embed", modelName: "Own" })
    const list = await eventually(
      async () => JSON.parse((await Http.send(lab.gateway.url, { method: "GET", path: "/v1/embeddings" })).text) as { object: string; data: ReadonlyArray<{ id: string; type: string }> },
      ({ data }) => data.some(({ id }) => id === "vectors/own-embed"), "the node's model in the list"
    )
    expect([list.object, new Set(list.data.map(({ type }) => type))]).toEqual(["list", new Set(["embedding"])])
    expect(vectorsIn(await embed({ model: "vectors/own-embed", input: "a" })).model).toBe("vectors/own-embed")
    const talk = await lab.chat({ model: "vectors/own-embed" })
    expect(talk.status).toBeGreaterThanOrEqual(400)
  })
})
