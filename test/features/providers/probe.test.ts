import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { type Candidate, ProviderProbe } from "#src/features/providers/ports/ProviderProbe.ts"
import { Upstream, type UpstreamFailure, type UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { UrlBlocked, UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import * as UpstreamProviderProbe from "#src/features/providers/probe/UpstreamProviderProbe.ts"
import * as Answers from "#src/features/providers/probe/answers.ts"

type Scripted = { readonly status: number; readonly body: string } | UpstreamFailure

const KEY = "sk-canary-key-0123456789"
const openai: Candidate = { provider: "openai", authType: "apikey", credential: Redacted.make(KEY), providerSpecificData: {} }
const list = JSON.stringify({ object: "list", data: [{ id: "gpt-x" }, { id: "gpt-y", name: "Y" }] })

/** Runs one probe against an upstream that answers from a script; every call is noted. */
const probe = (candidate: Candidate, answer: (request: UpstreamRequest) => Scripted, blocked: UrlBlocked["reason"] | null = null) => Effect.gen(function*() {
  const calls: Array<UpstreamRequest> = []
  const layer = UpstreamProviderProbe.layer.pipe(Layer.provide(Layer.mergeAll(
    Layer.succeed(Upstream, {
      dispatch: (request, handler) => {
        calls.push(request)
        const scripted = answer(request)
        queueMicrotask(() => {
          if ("_tag" in scripted) return handler.onFailure(scripted)
          handler.onHead(scripted.status, [])
          const bytes = new TextEncoder().encode(scripted.body)
          const middle = Math.floor(bytes.length / 2)
          handler.onData(bytes.subarray(0, middle))
          handler.onData(bytes.subarray(middle))
          handler.onEnd()
        })
        return { pause: () => {}, resume: () => {}, abort: () => {}, useful: () => {} }
      },
      stats: () => []
    }),
    Layer.succeed(Flags, { isOn: () => false, value: () => "false", source: () => "default" }),
    Layer.succeed(UrlGuard, {
      check: (url) => blocked === null ? Effect.succeed([]) : Effect.fail(new UrlBlocked({ url, reason: blocked, message: blocked })),
      checkAddress: () => null
    }),
    Layer.succeed(Configuration, {
      current: () => ({
        version: 1, connections: [], connectionById: new Map(), activeByProvider: new Map(), nodes: [], nodeById: new Map(), nodeByPrefix: new Map(),
        customModels: [], combos: [], comboMappings: [], aliases: new Map(), settings: new Map(), flagOverrides: new Map(), paramFilters: new Map(), interceptions: new Map(), pricing: new Map(), synced: SyncedModels.none, fileOwned: new Map(), egress: null, simulatorUrl: "http://127.0.0.1:1/v1", simulatorListed: true
      }),
      commit: (write) => write, reload: Effect.void, onChange: () => () => {}
    })
  )))
  const result = yield* Effect.provide(Effect.flatMap(ProviderProbe, (port) => port.probe(candidate)), layer)
  return { calls, result }
})

const headerOf = (request: UpstreamRequest | undefined, name: string) => {
  const at = request?.headers.indexOf(name) ?? -1
  return at < 0 ? undefined : request?.headers[at + 1]
}

describe("probing", () => {
  it.effect("chat-completions family: GET the model list with Bearer", () => Effect.gen(function*() {
    const { calls, result } = yield* probe(openai, () => ({ status: 200, body: list }))
    assert.deepInclude(result, { valid: true, statusCode: 200, method: "models", diagnosis: null })
    assert.deepStrictEqual(result.models, [{ id: "gpt-x", name: null }, { id: "gpt-y", name: "Y" }])
    assert.deepStrictEqual(calls.map((call) => [call.method, call.origin + call.path]), [["GET", "https://api.openai.com/v1/models"]])
    assert.strictEqual(headerOf(calls[0], "authorization"), `Bearer ${KEY}`)
  }))

  it.effect("messages family: x-api-key and anthropic-version; generateContent family: x-goog-api-key", () => Effect.gen(function*() {
    const anthropic = yield* probe({ ...openai, provider: "anthropic" }, () => ({ status: 200, body: JSON.stringify({ data: [{ id: "claude-x", display_name: "Claude" }] }) }))
    assert.strictEqual(headerOf(anthropic.calls[0], "x-api-key"), KEY)
    assert.strictEqual(headerOf(anthropic.calls[0], "anthropic-version"), "2023-06-01")
    assert.deepStrictEqual(anthropic.result.models, [{ id: "claude-x", name: "Claude" }])
    const gemini = yield* probe({ ...openai, provider: "gemini" }, () => ({ status: 200, body: JSON.stringify({ models: [{ name: "models/gemini-x", displayName: "Gemini" }] }) }))
    assert.strictEqual(headerOf(gemini.calls[0], "x-goog-api-key"), KEY)
    assert.deepStrictEqual(gemini.result.models, [{ id: "gemini-x", name: "Gemini" }])
  }))

  it.effect("without a model list, or with something else under its path, one token of chat decides", () => Effect.gen(function*() {
    for (const first of [{ status: 404, body: "" }, { status: 200, body: "<html>" }]) {
      const { calls, result } = yield* probe({ ...openai, model: "m" }, (request) => request.method === "GET" ? first : { status: 200, body: "{}" })
      assert.deepInclude(result, { valid: true, method: "chat" })
      assert.deepInclude(JSON.parse(String(calls[1]?.body)), { model: "m", max_tokens: 1 })
    }
    const minimax = yield* probe({ ...openai, provider: "minimax", model: "m" }, () => ({ status: 200, body: "{}" }))
    assert.deepStrictEqual(minimax.calls.map((call) => call.method), ["POST"])
  }))

  it.effect("a provider without list and chat is unsupported", () => Effect.gen(function*() {
    const { calls, result } = yield* probe({ ...openai, provider: "jina" }, () => ({ status: 200, body: "{}" }))
    assert.deepStrictEqual([result.valid, result.diagnosis?.type, calls.length], [false, "unsupported", 0])
  }))

  it.effect("statuses are told apart", () => Effect.gen(function*() {
    const cases = [
      [401, "", "upstream_auth_error"], [403, "", "upstream_auth_error"], [400, "API key not valid", "upstream_auth_error"], [400, "bad model", "upstream_error"],
      [429, "", "upstream_rate_limited"], [500, "", "upstream_unavailable"], [503, "", "upstream_unavailable"], [402, "", "upstream_error"]
    ] as const
    for (const [status, message, type] of cases) {
      const { result } = yield* probe(openai, () => ({ status, body: JSON.stringify({ error: { message } }) }))
      assert.deepStrictEqual([result.valid, result.statusCode, result.diagnosis?.type], [false, status, type], `${status} ${message}`)
    }
    const oauth = yield* probe({ ...openai, authType: "oauth" }, () => ({ status: 401, body: "" }))
    assert.deepInclude(oauth.result.diagnosis, { type: "token_expired", source: "oauth" })
  }))

  it.effect("network failures are a diagnosis, and so is a target the guard refuses: nothing is sent", () => Effect.gen(function*() {
    const refused = yield* probe(openai, () => ({
      _tag: "UpstreamFailure", reason: "connect-refused", phase: "connect", source: "upstream", retry: "safe", message: "connection refused"
    }))
    assert.deepInclude(refused.result.diagnosis, { type: "network_error", code: "connect-refused" })
    const blocked = yield* probe(openai, () => ({ status: 200, body: list }), "private")
    assert.deepStrictEqual([blocked.result.blocked, blocked.result.valid, blocked.calls.length], [true, false, 0])
    const unknown = yield* probe(openai, () => ({ status: 200, body: list }), "unresolvable")
    assert.deepStrictEqual([unknown.result.blocked, unknown.result.valid, unknown.result.diagnosis?.type, unknown.calls.length], [false, false, "network_error", 0], "a name without an address is not forbidden")
  }))

  it.effect("an upstream that repeats the key does not make us repeat it", () => Effect.gen(function*() {
    const { result } = yield* probe(openai, () => ({ status: 401, body: JSON.stringify({ error: { message: `Incorrect API key provided: ${KEY}. Also sk-other-0123456789.` } }) }))
    assert.strictEqual(result.diagnosis?.message, "Incorrect API key provided: [redacted]. Also [redacted]")
    assert.notInclude(JSON.stringify(result), "canary")
  }))

  it.effect("a node that is not stored yet is asked under its own paths", () => Effect.gen(function*() {
    const { calls } = yield* probe({
      ...openai, provider: "openai-compatible", node: {
        type: "openai-compatible", apiType: "chat", baseUrl: "http://127.0.0.1:9/v1", chatPath: null, modelsPath: "/list", customHeaders: { "X-Team": "blue" }
      }
    }, () => ({ status: 200, body: list }))
    assert.strictEqual(`${calls[0]?.origin}${calls[0]?.path}`, "http://127.0.0.1:9/v1/list")
    assert.strictEqual(headerOf(calls[0], "x-team"), "blue")
  }))

  it.effect("the built-in simulator is asked without the guard", () => Effect.gen(function*() {
    const { calls, result } = yield* probe({ provider: "sim", authType: "none", credential: null, providerSpecificData: {} }, () => ({ status: 200, body: list }), "private")
    assert.strictEqual(result.valid, true)
    assert.strictEqual(calls[0]?.origin, "http://127.0.0.1:1")
  }))

  it("model lists of every form are read, anything else is no list", () => {
    assert.deepStrictEqual(Answers.modelsIn(JSON.stringify([{ id: "a" }, "b", 7, {}])), [{ id: "a", name: null }, { id: "b", name: null }])
    for (const body of ["", "{}", "null", "<html>", "{\"data\":{}}"]) assert.isNull(Answers.modelsIn(body))
    // Reading it would hold the loop.
    assert.isNull(Answers.modelsIn(`[${Array.from({ length: 300_000 }, () => "{}").join(",")}]`))
  })
})
