/** A registry of four small providers for tests that must not change when a vendor does. */
import type { Model, Provider } from "#schemas/Provider.ts"
import * as Registry from "#src/providers/Registry.ts"

const provider = (row: Partial<Provider> & Pick<Provider, "id" | "alias" | "name" | "models">): Provider => ({
  baseUrl: `https://api.${row.id}.example/v1`,
  wireFormat: "chat-completions",
  auth: { type: "bearer" },
  chatPath: "/chat/completions",
  modelsPath: "/models",
  authKinds: ["apikey"],
  category: "apikey",
  freeTier: false,
  env: ["FIXTURE_API_KEY"],
  modalities: ["chat"],
  source: { date: "2026-01-01", urls: [] },
  ...row
})

const chat = (id: string, more: Partial<Model> = {}): Model => ({
  id,
  name: id.toUpperCase(),
  kind: "chat",
  contextWindow: 100_000,
  maxOutputTokens: 10_000,
  inputModalities: ["text"],
  outputModalities: ["text"],
  capabilities: ["tools"],
  ...more
})

export const rows: ReadonlyArray<Provider> = [
  provider({
    id: "acme",
    alias: "ac",
    name: "Acme",
    models: [
      chat("small", { aliases: ["small-2026-01-01"], price: { input: 1, output: 4, cached: 0.1 } }),
      chat("long", { price: { input: 2, output: 4, long: { above: 200_000, input: 4, output: 8 } } }),
      chat("free-form"),
      chat("shared"),
      { id: "vectors", name: "Vectors", kind: "embedding", dimensions: 8, inputModalities: ["text", "image"], price: { input: 0.5 } },
      { id: "family", name: "Family", kind: "embedding", upstreamId: "vectors" },
      { id: "paint", name: "Paint", kind: "image", outputModalities: ["image"] },
      { id: "voice", name: "Voice", kind: "audio", inputModalities: ["text"], outputModalities: ["audio"] }
    ]
  }),
  provider({
    id: "thinkers",
    alias: "th",
    name: "Thinkers",
    wireFormat: "messages",
    models: [
      chat("claude-thinks", { capabilities: ["tools", "reasoning"] }),
      chat("claude-always", { capabilities: ["reasoning"], noThinkingAlias: false }),
      chat("claude-plain"),
      chat("other-thinks", { capabilities: ["reasoning"], noThinkingAlias: true })
    ]
  }),
  provider({ id: "solo", alias: "solo", name: "Solo", models: [chat("shared"), chat("org/nested")] }),
  provider({
    id: "sim",
    alias: "sim",
    name: "Simulator",
    baseUrl: "",
    auth: { type: "none" },
    authKinds: ["none"],
    category: "local",
    models: [chat("echo")]
  })
]

export const fixture = Registry.make(rows)
