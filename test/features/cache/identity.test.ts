/** What makes two requests the same one: metamorphic, on random bodies. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Identity from "#src/inference/lane/bodies/identity.ts"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const facts = (body: Record<string, unknown>, over: Partial<Identity.Facts> = {}): Identity.Facts => ({
  apiKeyId: "key-1", keyPolicy: "v1", format: "chat-completions", resolved: "lab/echo", body, header: () => undefined, settings: "s1", ...over
})
const signature = (body: Record<string, unknown>, over?: Partial<Identity.Facts>): string => Identity.signatureOf(facts(body, over)) ?? "none"

const base: Record<string, unknown> = {
  model: "lab/echo", temperature: 0, messages: [{ role: "system", content: "Be brief." }, { role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }], tool_choice: "auto", response_format: { type: "text" },
  top_p: 1, max_tokens: 100, seed: 7, stop: ["x"], n: 1, reasoning_effort: "low", logit_bias: { 5: 1 }, presence_penalty: 0
}

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value)

/** Every value of a document with the way to it. */
const places = (value: unknown, way: ReadonlyArray<string | number> = []): ReadonlyArray<ReadonlyArray<string | number>> =>
  Array.isArray(value) ? [way, ...value.flatMap((item, i) => places(item, [...way, i]))]
  : isRecord(value) ? [way, ...Object.entries(value).flatMap(([name, item]) => places(item, [...way, name]))]
  : [way]

const changedAt = (value: unknown, way: ReadonlyArray<string | number>, change: (value: unknown) => unknown): unknown => {
  const [step, ...rest] = way
  if (step === undefined) return change(value)
  if (Array.isArray(value)) return value.map((item, i) => i === step ? changedAt(item, rest, change) : item)
  if (isRecord(value)) return { ...value, [step]: changedAt(value[step], rest, change) }
  return value
}

const another = (value: unknown): unknown =>
  typeof value === "number" ? value + 1 : typeof value === "string" ? `${value}~` : typeof value === "boolean" ? !value : value === null ? 0
  : Array.isArray(value) ? [...value, 0] : { ...(value as object), "~": 1 }

/** The same document with its members in another order, told by `seed`. */
const permuted = (value: unknown, seed: number): unknown =>
  Array.isArray(value) ? value.map((item) => permuted(item, seed))
  : isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, item], i) => [(i * 7919 + seed * 104_729) % 997, name, permuted(item, seed)] as const)
    .sort((a, b) => a[0] - b[0]).map(([, name, item]) => [name, item]))
  : value

describe("signatureOf", () => {
  it.prop("a change anywhere in a shaping member makes another request", { place: whole(0, 10_000) }, ({ place }) => {
    const ways = places(base).filter(([first]) => first !== undefined && first !== "model")
    const way = ways[place % ways.length] as ReadonlyArray<string | number>
    assert.notStrictEqual(signature(changedAt(base, way, another) as Record<string, unknown>), signature(base), way.join("."))
  })

  it.prop("the order of members and blanks change nothing, whatever the document", { document: Schema.Json, seed: whole(0, 1_000) }, ({ document, seed }) => {
    const body = { ...base, extra: document as Json }
    const again = JSON.parse(JSON.stringify(permuted(body, seed), null, 3)) as Record<string, unknown>
    assert.strictEqual(signature(again), signature(JSON.parse(JSON.stringify(body)) as Record<string, unknown>))
  })

  it.prop("two documents share a canonical text only if they are equal", { a: Schema.Json, b: Schema.Json }, ({ a, b }) => {
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(permuted(value, 1)))
    const sorted = (value: unknown): string => JSON.stringify(plain(value), (_, item: unknown) => isRecord(item) ? Object.fromEntries(Object.entries(item).sort(([x], [y]) => x < y ? -1 : 1)) : item)
    assert.strictEqual(Identity.canonical(a) === Identity.canonical(b), sorted(a) === sorted(b))
  })

  it("numbers count by value: 0, 0.0, -0 and 1e2, 100", () => {
    assert.strictEqual(Identity.canonical(JSON.parse('{"a":0.0,"b":1e2,"c":-0}')), '{"a":0,"b":100,"c":0}')
  })

  it("stream, user and other members without effect change nothing; an added unknown member does", () => {
    const idle: ReadonlyArray<readonly [Identity.Facts["format"], string]> = [
      ["chat-completions", "model stream stream_options user metadata store safety_identifier prompt_cache_key prompt_cache_retention"], ["messages", "model stream metadata"],
      ["responses", "model stream stream_options"], ["generateContent", "model stream"], ["local-model-server", "model stream keep_alive"], ["completions", ""]
    ]
    const all = new Set(idle.flatMap(([, names]) => names.split(" ").filter((name) => name !== "")))
    for (const [format, names] of idle) {
      for (const name of all) {
        assert.strictEqual(signature({ ...base, [name]: "anything" }, { format }) === signature(base, { format }), names.split(" ").includes(name), `${format}: ${name}`)
      }
    }
    assert.notStrictEqual(signature({ ...base, some_new_parameter: true }), signature(base))
  })

  it("a response object repeats metadata, user and store: there they count", () => {
    for (const name of ["metadata", "user", "store"]) {
      assert.notStrictEqual(signature({ ...base, [name]: "anything" }, { format: "responses" }), signature(base, { format: "responses" }), name)
    }
  })

  it("the model counts as what it stands for, not as it was written", () => {
    assert.strictEqual(signature({ ...base, model: "an-alias" }), signature(base))
    assert.notStrictEqual(signature(base, { resolved: "lab/other" }), signature(base))
  })

  /** Written out: a header that is forgotten gives one client the answer of another one's request. */
  const shaping = [
    "x-gateway-mode", "x-gateway-budget", "x-gateway-budget-fallback", "x-gateway-effort", "x-gateway-compression", "x-gateway-disabled-guardrails",
    "x-gateway-no-memory", "x-gateway-modality-bridge", "anthropic-beta", "anthropic-version", "openai-beta"
  ]

  it("tenant, key version, format, settings and every shaping header make another request", () => {
    const all = [
      signature(base), signature(base, { apiKeyId: null }), signature(base, { apiKeyId: "key-2" }), signature(base, { keyPolicy: "v2" }),
      signature(base, { format: "messages" }), signature(base, { settings: "s2" }),
      signature(base, { guardrails: "g" }), signature(base, { guardrails: "h" }), signature(base, { memory: "g" }), signature(base, { memory: "h" }),
      ...shaping.flatMap((one) => ["x", "y"].map((value) => signature(base, { header: (name) => name === one ? value : undefined })))
    ]
    assert.strictEqual(new Set(all).size, all.length)
  })

  it("begins with the tenant, which nothing in the body can forge", () => {
    assert.match(signature(base), /^key-1\.[0-9a-f]{64}$/)
    assert.match(signature(base, { apiKeyId: null }), /^anonymous\.[0-9a-f]{64}$/)
  })

  it("a body that is nested too deeply has no identity", () => {
    let deep: unknown = 0
    for (let i = 0; i < 10_000; i++) deep = [deep]
    assert.isNull(Identity.signatureOf(facts({ ...base, deep })))
    assert.isNull(Identity.digestOf("chat-completions", { ...base, deep }))
    const nested = (levels: number, wrap: (value: unknown) => unknown): unknown => levels === 0 ? 0 : wrap(nested(levels - 1, wrap))
    for (const wrap of [(value: unknown) => [value], (value: unknown) => ({ value })]) {
      assert.deepStrictEqual([64, 65].map((levels) => Identity.canonical(nested(levels, wrap)) === null), [false, true])
    }
  })

  it("of a large body is its digest, which tells the same bodies apart", () => {
    const digest = (body: Record<string, unknown>, format: Identity.Facts["format"] = "chat-completions") => Identity.digestOf(format, body)
    assert.match(digest(base) ?? "", /^[0-9a-f]{64}$/)
    assert.strictEqual(digest(base), digest(permuted({ ...base, stream: true, user: "u" }, 5) as Record<string, unknown>))
    assert.notStrictEqual(digest(base), digest({ ...base, seed: 8 }))
    assert.isNull(digest({ ...base, temperature: 1 }), "its answer is not kept")
    assert.isNull(digest(base, "generateContent"))
    assert.notStrictEqual(signature({}, { digest: digest(base) ?? "" }), signature({}, { digest: digest({ ...base, seed: 8 }) ?? "" }))
  })
})

describe("isCacheable", () => {
  it("wants temperature as the number 0, where the format has it", () => {
    assert.isTrue(Identity.isCacheable("chat-completions", { temperature: 0 }))
    assert.isTrue(Identity.isCacheable("messages", { temperature: 0 }))
    assert.isTrue(Identity.isCacheable("responses", { temperature: 0 }))
    assert.isTrue(Identity.isCacheable("generateContent", { generationConfig: { temperature: 0 } }))
    assert.isTrue(Identity.isCacheable("local-model-server", { options: { temperature: 0 } }))
    assert.isTrue(Identity.isCacheable("generateContent", { generation_config: { temperature: 0 } }))
    for (const options of [undefined, null, 0, "0", {}, { temperature: 0.5 }, { temperature: "0" }]) {
      assert.isFalse(Identity.isCacheable("generateContent", { generationConfig: options, generation_config: options }))
      assert.isFalse(Identity.isCacheable("local-model-server", { options }))
    }
    for (const temperature of [undefined, null, "0", 0.1, false, [0]]) assert.isFalse(Identity.isCacheable("chat-completions", { temperature }), String(temperature))
    assert.isFalse(Identity.isCacheable("generateContent", { temperature: 0 }))
    assert.isFalse(Identity.isCacheable("completions", { temperature: 0 }))
    assert.isFalse(Identity.isCacheable("responses", { temperature: 0, background: true }))
  })
})

describe("settingsDigest", () => {
  it("changes with a setting that shapes answers and with a flag, not with one that does not", () => {
    const digest = (settings: Record<string, unknown>, flags: Record<string, string> = {}) =>
      Identity.settingsDigest(new Map(Object.entries(settings)), new Map(Object.entries(flags)))
    assert.notStrictEqual(digest({ customSystemPrompt: "a" }), digest({ customSystemPrompt: "b" }))
    assert.notStrictEqual(digest({}, { A: "true" }), digest({}, { A: "false" }))
    assert.strictEqual(digest({ theme: "dark", semanticCacheTTL: 5 }), digest({ theme: "light" }))
    assert.strictEqual(digest({ a: 1, b: 2 }), digest({ b: 2, a: 1 }))
  })
})
