/** Batches with the vendor's own client: made, run line by line under the rules of their key, listed, cancelled and deleted. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chatLine, Client, line } from "#test/features/batches/support.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const PERMANENT = "sk-permanent-key-of-the-environment"

let lab: Lab
let client: Client
const clientOf = async (name: string, policy: Record<string, unknown> = {}): Promise<Client> => {
  return new Client(lab.gateway.url, await lab.gateway.operator.createKey(name, policy))
}
beforeAll(async () => {
  lab = await startLab({ environment: { GATEWAY_API_KEY: PERMANENT } })
  client = await clientOf("batches")
})
afterAll(() => lab.close())

const send = (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: unknown) => Http.send(lab.gateway.url, { method, path, headers, body })

describe("a batch", () => {
  it("answers each of its lines once, in their order, with truthful counts and one row of the ledger each", async () => {
    const made = await client.create(Array.from({ length: 9 }, (_, n) => chatLine(`q-${n}`, "lab/b-nine", { stream: n === 3 })), { metadata: { purpose: "test" } })
    expect(made).toMatchObject({ id: expect.stringMatching(/^batch_[0-9a-f]{24}$/), object: "batch", status: "validating", metadata: { purpose: "test" }, request_counts: { total: 0, completed: 0, failed: 0 } })
    const over = await client.over(made.id)
    expect(over).toMatchObject({ status: "completed", model: "lab/b-nine", errors: null, error_file_id: null, request_counts: { total: 9, completed: 9, failed: 0 } })
    const answers = await client.answers(over.output_file_id)
    expect(answers.map(({ custom_id }) => custom_id)).toEqual(Array.from({ length: 9 }, (_, n) => `q-${n}`))
    const [first] = answers
    expect(first).toMatchObject({ id: expect.stringMatching(/^batch_req_/), error: null, response: { status_code: 200, body: { object: "chat.completion" } } })
    const total = answers.reduce((sum, { response }) => sum + (response!.body["usage"] as { total_tokens: number }).total_tokens, 0)
    expect(over.usage?.total_tokens).toBe(total)
    for (const { response } of answers) {
      const rows = await lab.gateway.rows(response!.request_id)
      expect(rows.map(({ apiKeyId, outcome }) => [apiKeyId, outcome])).toEqual([[client.keyId, "completed"]])
    }
    expect((await lab.sim.entries({ model: "b-nine" })).length).toBe(9)
  })

  it("on a node alone leaves none of its answers kept for repeats", async () => {
    const kept = async () => (await lab.gateway.operator.call<{ idempotency: { activeKeys: number } }>("GET", "/api/cache/stats")).idempotency.activeKeys
    const before = await kept()
    await client.over((await client.create(Array.from({ length: 6 }, (_, n) => chatLine(`q-${n}`, "lab/b-once")))).id)
    expect(await kept()).toBeLessThanOrEqual(before)
  })

  it.each([
    ["/v1/responses", { model: "lab/b-each", input: "Hi" }, "output"],
    ["/v1/messages", { model: "lab/b-each", messages: [{ role: "user", content: "Hi" }], max_tokens: 9 }, "content"],
    ["/v1/completions", { model: "lab/b-each", prompt: "Hi" }, "choices"],
    ["/v1/embeddings", { model: "lab/b-each", input: "Hi" }, "data"]
  ])("asks %s", async (endpoint, body, member) => {
    const made = await client.create([line("one", body, endpoint)], { endpoint: endpoint as never })
    const over = await client.over(made.id)
    const answers = await client.answers(over.output_file_id)
    expect(answers.map(({ custom_id, response }) => [custom_id, response?.status_code])).toEqual([["one", 200]])
    expect(answers[0]!.response!.body).toHaveProperty(member)
    expect(over.usage!.input_tokens).toBeGreaterThan(0)
  })

  it.each([
    ["/v1/moderations", { model: "lab/b-each", input: "Hi" }, "results"],
    ["/v1/images/generations", { model: "lab/b-each", prompt: "a lighthouse" }, "data"],
    ["/v1/videos/generations", { model: "lab/b-each", prompt: "a lighthouse" }, "data"]
  ])("asks %s, too", async (endpoint, body, member) => {
    const over = await client.over((await client.create([line("one", body, endpoint)], { endpoint: endpoint as never })).id)
    const [answer] = await client.answers(over.output_file_id)
    expect([answer?.response?.status_code, answer?.response?.body]).toEqual([200, expect.objectContaining({ [member]: expect.anything() as unknown })])
  })

  it("goes through combos: what falls back has a row for each call, at the price of a single request", async () => {
    const { operator } = lab.gateway
    await lab.sim.rule({ match: { model: "b-broken" }, script: { status: 500 } })
    await operator.price(lab.node, "b-spare", { input: 3, output: 15 })
    await operator.call("POST", "/api/combos", { name: "batched", models: ["lab/b-broken", "lab/b-spare"] })
    const over = await client.over((await client.create([chatLine("one", "combo/batched")])).id)
    expect(over.request_counts).toEqual({ total: 1, completed: 1, failed: 0 })
    const [answer] = await client.answers(over.output_file_id)
    const rows = [...await lab.gateway.rows(answer!.response!.request_id)].sort((a, b) => a.attempt - b.attempt)
    expect(rows.map(({ model, outcome }) => [model, outcome])).toEqual([["b-broken", "upstream-status"], ["b-spare", "completed"]])
    const direct = await lab.rows(await lab.chat({ model: "lab/b-spare", max_tokens: 16 }))
    expect(rows[1]?.costUsd).toBe(direct[0]?.costUsd)
    expect(rows[1]?.costUsd).toBeGreaterThan(0)
  })

  it("keeps to the rate of its key, and waits for a place", async () => {
    const paced = await clientOf("paced", { rateLimits: [{ limit: 2, window: 1 }] })
    const over = await paced.over((await paced.create(Array.from({ length: 5 }, (_, n) => chatLine(`p-${n}`, "lab/b-paced")))).id, 60_000)
    expect(over.request_counts).toEqual({ total: 5, completed: 5, failed: 0 })
    expect((await lab.sim.entries({ model: "b-paced" })).length).toBe(5)
  }, 180_000)

  it("keeps lines that fail apart, with the error as a client would get it", async () => {
    const made = await client.create([chatLine("good", "lab/b-mixed"), chatLine("bad", "nowhere/at-all"), line("worse", { messages: [] })])
    const over = await client.over(made.id)
    expect(over).toMatchObject({ status: "completed", model: null, request_counts: { total: 3, completed: 1, failed: 2 } })
    expect((await client.answers(over.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(["good"])
    const errors = await client.answers(over.error_file_id)
    expect(errors.map(({ custom_id }) => custom_id)).toEqual(["bad", "worse"])
    for (const { response } of errors) {
      expect(response!.status_code).toBeGreaterThanOrEqual(400)
      expect(response!.body).toHaveProperty("error.message")
    }
  })

  it("waits as long as a 429 asks, and then asks again", async () => {
    await lab.sim.rule({ match: { model: "b-limited" }, times: 2, script: { status: 429, headers: { "retry-after": "1" } } })
    const over = await client.over((await client.create([chatLine("later", "lab/b-limited")])).id)
    expect(over.request_counts).toEqual({ total: 1, completed: 1, failed: 0 })
  })

  it("runs as its key: what the key may not use is refused line by line", async () => {
    const narrow = await clientOf("narrow", { modelAccessMode: "restricted", allowedModels: ["lab/b-allowed"] })
    const over = await narrow.over((await narrow.create([chatLine("yes", "lab/b-allowed"), chatLine("no", "lab/b-forbidden")])).id)
    expect(over.request_counts).toEqual({ total: 2, completed: 1, failed: 1 })
    const [error] = await narrow.answers(over.error_file_id)
    expect(error).toMatchObject({ custom_id: "no", response: { status_code: 403 } })
    expect(await lab.sim.entries({ model: "b-forbidden" })).toEqual([])
  })

  it.each([
    ["a line that is no JSON", [chatLine("a", "lab/m"), "{broken", chatLine("b", "lab/m")], "invalid_json_line", 2],
    ["a custom_id that came before", [chatLine("a", "lab/m"), chatLine("b", "lab/m"), chatLine("a", "lab/m")], "duplicate_custom_id", 3],
    ["another url than the batch's", [line("a", {}, "/v1/embeddings")], "invalid_url", 1],
    ["another method", [JSON.stringify({ custom_id: "a", method: "GET", url: "/v1/chat/completions", body: {} })], "invalid_method", 1],
    ["no custom_id", [JSON.stringify({ method: "POST", url: "/v1/chat/completions", body: {} })], "invalid_custom_id", 1],
    ["a body that is no object", [JSON.stringify({ custom_id: "a", method: "POST", url: "/v1/chat/completions", body: [] })], "invalid_body", 1],
    ["no lines", ["", "  "], "empty_file", null]
  ])("with %s fails before any line is run, and says which", async (_, lines, code, at) => {
    const before = (await lab.sim.entries()).length
    const over = await client.over((await client.create(lines)).id)
    expect(over).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null, errors: { object: "list", data: [{ code, line: at }] }, request_counts: { total: 0, completed: 0, failed: 0 } })
    if (at !== null) expect(over.errors!.data![0]!.message).toContain(`Line ${at}`)
    expect((await lab.sim.entries()).length).toBe(before)
  })
})

describe("a batch is cancelled", () => {
  it("and keeps the answers that it has", async () => {
    await lab.sim.rule({ match: { model: "b-held" }, script: { latencyMs: 60_000 } })
    const made = await client.create([...Array.from({ length: 4 }, (_, n) => chatLine(`quick-${n}`, "lab/b-quick")), ...Array.from({ length: 20 }, (_, n) => chatLine(`held-${n}`, "lab/b-held"))])
    await eventually(() => client.openai.batches.retrieve(made.id), ({ request_counts }) => request_counts!.completed === 4, "four answers")
    const cancelling = await client.openai.batches.cancel(made.id)
    expect(cancelling.status).toBe("cancelling")
    expect((await client.openai.batches.cancel(made.id)).status).toMatch(/^cancell/)
    const over = await client.over(made.id, 60_000)
    expect(over).toMatchObject({ status: "cancelled", request_counts: { total: 24, completed: 4, failed: 0 } })
    expect((await client.answers(over.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(["quick-0", "quick-1", "quick-2", "quick-3"])
    await expect(client.openai.batches.cancel(made.id)).rejects.toMatchObject({ status: 400 })
  }, 180_000)
})

describe("batches belong to their key", () => {
  it("which lists and deletes its own only", async () => {
    const [mine, other] = [await clientOf("mine"), await clientOf("other")]
    const ids: Array<string> = []
    for (const n of [1, 2, 3]) ids.unshift((await mine.over((await mine.create([chatLine(`${n}`, "lab/b-list")])).id)).id)
    const listed: Array<string> = []
    for await (const { id } of mine.openai.batches.list({ limit: 2 })) listed.push(id)
    expect(listed).toEqual(ids)
    expect((await other.openai.batches.list()).data).toEqual([])
    const [id] = ids
    await expect(other.openai.batches.retrieve(id!)).rejects.toMatchObject({ status: 404 })
    await expect(other.openai.batches.cancel(id!)).rejects.toMatchObject({ status: 404 })
    expect((await send("DELETE", `/v1/batches/${id}`, { authorization: `Bearer ${other.key}` })).status).toBe(404)
    expect(JSON.parse((await send("DELETE", `/v1/batches/${id}`, { authorization: `Bearer ${mine.key}` })).text)).toEqual({ id, object: "batch", deleted: true })
    await expect(mine.openai.batches.retrieve(id!)).rejects.toMatchObject({ status: 404 })
    const gone = JSON.parse((await send("DELETE", "/api/v1/batches/delete-completed", { authorization: `Bearer ${mine.key}` })).text) as object
    expect(gone).toEqual({ deleted: true, deletedBatches: 2, deletedFiles: 4 })
    expect((await mine.openai.batches.list()).data).toEqual([])
  })

  it("and an operator sees all of them", async () => {
    const made = await client.create([chatLine("seen", "lab/b-seen")])
    const { operator } = lab.gateway
    expect((await operator.call<{ data: ReadonlyArray<{ id: string; api_key_id: string }> }>("GET", "/api/batches?limit=1")).data).toMatchObject([{ id: made.id, api_key_id: client.keyId }])
    expect((await operator.call<{ id: string }>("GET", `/v1/batches/${made.id}`)).id).toBe(made.id)
    await client.over(made.id)
  })

  it("which may be one of the environment", async () => {
    const permanent = new Client(lab.gateway.url, { id: "env:GATEWAY_API_KEY", key: PERMANENT })
    const over = await permanent.over((await permanent.create([chatLine("p", "lab/b-permanent")])).id)
    expect(over.request_counts).toEqual({ total: 1, completed: 1, failed: 0 })
    const [answer] = await permanent.answers(over.output_file_id)
    expect((await lab.gateway.rows(answer!.response!.request_id)).map(({ apiKeyId }) => apiKeyId)).toEqual([permanent.keyId])
    await expect(client.openai.batches.retrieve(over.id)).rejects.toMatchObject({ status: 404 })
  })

  it("and an operator's runs without one, also while keys are required", async () => {
    const { operator } = lab.gateway
    const input_file_id = await client.upload(`${chatLine("o", "lab/b-operator")}\n`)
    await operator.setFlag("REQUIRE_API_KEY", "true")
    const made = await operator.call<{ id: string }>("POST", "/v1/batches", { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" })
    const over = await eventually(() => operator.call<{ status: string; request_counts: object; api_key_id: null }>("GET", `/api/batches/${made.id}`), ({ status }) => status === "completed", "the operator's batch")
    expect(over).toMatchObject({ api_key_id: null, request_counts: { total: 1, completed: 1, failed: 0 } })
    await operator.setFlag("REQUIRE_API_KEY", "false")
    await expect(client.openai.batches.retrieve(made.id)).rejects.toMatchObject({ status: 404 })
  })

  it("and are refused to callers without a valid one", async () => {
    for (const headers of [{}, { authorization: "Bearer nonsense" }]) {
      for (const [method, path] of [["GET", "/v1/batches"], ["GET", "/v1/batches/batch_x"], ["POST", "/v1/batches/batch_x/cancel"], ["DELETE", "/v1/batches/batch_x"], ["DELETE", "/api/v1/batches/delete-completed"]] as const) {
        expect((await send(method, path, headers)).status, `${method} ${path}`).toBe(401)
      }
    }
  })

  it("a running one is not deleted", async () => {
    await lab.sim.rule({ match: { model: "b-running" }, script: { latencyMs: 60_000 } })
    const made = await client.create([chatLine("r", "lab/b-running")])
    expect((await send("DELETE", `/v1/batches/${made.id}`, { authorization: `Bearer ${client.key}` })).status).toBe(409)
    await client.openai.batches.cancel(made.id)
  })
})

describe("a batch is refused", () => {
  it.each([
    ["a number for a file", { input_file_id: 5 }, "input_file_id"],
    ["no window", { completion_window: undefined }, "completion_window"],
    ["a number in its metadata", { metadata: { count: 5 } }, "metadata.count"],
    ["an unknown field", { priority: 1 }, "priority"]
  ])("with the field in the words of the vendor's API: %s", async (_, change, param) => {
    const body = { input_file_id: "file-none", endpoint: "/v1/chat/completions", completion_window: "24h", ...change }
    await expect(client.openai.batches.create(body as never)).rejects.toMatchObject({
      status: 400, code: "bad_request", type: "invalid_request_error", param, message: expect.stringContaining(`'${param}'`) as unknown
    })
  })

  it("and so are lists of batches and files, callers without a key, bodies that are no JSON, and methods", async () => {
    const as = { authorization: `Bearer ${client.key}` }
    const json = { ...as, "content-type": "application/json" }
    const said = [
      [await send("GET", "/v1/batches?limit=0", as), 400, "invalid_request_error", "bad_request", "limit"],
      [await send("GET", "/v1/files?order=up", as), 400, "invalid_request_error", "bad_request", "order"],
      [await send("GET", "/v1/files?purposes=batch", as), 400, "invalid_request_error", "bad_request", "purposes"],
      [await Http.send(lab.gateway.url, { path: "/v1/batches", headers: json, body: "{" }), 400, "invalid_request_error", "invalid_json", "body"],
      [await send("GET", "/v1/files", {}), 401, "authentication_error", "AUTH_001", undefined],
      [await send("GET", "/v1/batches/batch_x", {}), 401, "authentication_error", "AUTH_001", undefined],
      [await send("PATCH", "/v1/batches", as), 405, "invalid_request_error", "method_not_allowed", undefined],
      [await send("PUT", "/v1/files/file-x", as), 405, "invalid_request_error", "method_not_allowed", undefined]
    ] as const
    for (const [{ status, text }, ...expected] of said) {
      const { error, ...rest } = JSON.parse(text) as { readonly error: Record<string, string> }
      expect([status, error["type"], error["code"], error["param"], rest], text).toEqual([...expected, {}])
    }
  })

  it("but not members that say null for nothing", async () => {
    const batch = await client.create([chatLine("a", "lab/null-members")], { metadata: null, output_expires_after: null } as never)
    expect([batch.object, batch.metadata]).toEqual(["batch", null])
  })

  it.each([
    ["an unknown file", { input_file_id: "file-none" }, "input_file_id"],
    ["an endpoint that takes none", { endpoint: "/v1/rerank" }, "endpoint"],
    ["another window", { completion_window: "48h" }, "completion_window"],
    ["metadata that is too long", { metadata: { key: "x".repeat(513) } }, "metadata"],
    ["files that are kept too short", { output_expires_after: { anchor: "created_at", seconds: 60 } }, "output_expires_after"]
  ])("with %s", async (_, fields, field) => {
    const error = await client.create([chatLine("a", "lab/m")], fields as never).then(() => null, (error: { status: number; message: string; error: unknown }) => error)
    expect(error?.status).toBe(400)
    expect(JSON.stringify(error?.error)).toContain(field)
  })

  it("with a file of another purpose, or another key's", async () => {
    const other = await clientOf("thief")
    const [mine, wrong] = [await client.upload(chatLine("a", "lab/m")), await client.upload(chatLine("a", "lab/m"), "user_data")]
    const create = (by: Client, input_file_id: string) => by.openai.batches.create({ input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" })
    await expect(create(other, mine)).rejects.toMatchObject({ status: 400 })
    await expect(create(client, wrong)).rejects.toMatchObject({ status: 400 })
  })
})
