import { describe, expect, it } from "vitest"
import * as Redacted from "effect/Redacted"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { builtin } from "#src/providers/Registry.ts"
import { makePlanner } from "#src/routing/plan.ts"
import { connection } from "#test/suites/records.ts"

const snapshot = (...connections: ReadonlyArray<Connection>): Snapshot => ({
  version: 1, connections, connectionById: new Map(connections.map((one) => [one.id, one])),
  activeByProvider: new Map(connections.map((one) => [one.provider, [one]])), nodes: [], nodeById: new Map(), nodeByPrefix: new Map(), customModels: [], combos: [], comboMappings: [],
  aliases: new Map(), settings: new Map(), flagOverrides: new Map(), paramFilters: new Map(), interceptions: new Map(), pricing: new Map(), synced: SyncedModels.none, fileOwned: new Map(), simulatorUrl: null, egress: null, simulatorListed: false
})

const first = (one: Connection, model: string, face: FormatName = "chat-completions"): Target => {
  const plan = makePlanner({ snapshot: snapshot(one), registry: builtin, noThinkingAliases: false, thinkingLevels: false, priceOf: () => null }).plan(model, face)
  if (plan instanceof PublicError) throw new Error(plan.message)
  return plan[0] as Target
}

const document = Redacted.make(JSON.stringify({ project_id: "p", client_email: "a@b", private_key: "canary" }))

describe("targets of exchanged credentials", () => {
  it("name the connection whose token is asked for, hold no secret, and carry the body rules of the main path", () => {
    for (const face of ["messages", "chat-completions"] as const) {
      const target = first(connection({ id: "c-1", provider: "vertex-anthropic", apiKey: document }), "vertex-anthropic/claude-sonnet-4-5@20250929", face)
      expect(target).toMatchObject({ wireFormat: "messages", tokenFrom: "c-1", bodyRules: { drop: ["model"] } })
      expect(target.path).toMatch(/:rawPredict$/)
      expect(target.streamPath).toMatch(/:streamRawPredict$/)
      expect(target.headers.join()).not.toContain("canary")
    }
    const gemini = first(connection({ id: "c-2", provider: "vertex", apiKey: document }), "vertex/gemini-2.5-pro", "messages")
    expect(gemini).toMatchObject({ wireFormat: "generateContent", tokenFrom: "c-2", bodyRules: null })
    expect(gemini.path).toContain("/publishers/google/")
  })

  it("an API key's target is whole: nothing is asked before its call", () => {
    const target = first(connection({ provider: "openai", apiKey: Redacted.make("sk") }), "openai/gpt-4o-mini")
    expect(target).toMatchObject({ tokenFrom: null, bodyRules: null })
    expect(target.headers).toContain("Bearer sk")
  })
})
