/** What a key may ask for: its lists under each name of a model, its issuer's lists, and what combos bring with them. */
import { describe, expect, it } from "vitest"
import type { Target } from "#actors/request/ports/Target.ts"
import { type ApiKey, type ApiKeyPolicy, defaultPolicy } from "#schemas/records/ApiKey.ts"
import * as Rights from "#src/routing/Rights.ts"

const key = (policy: Partial<ApiKeyPolicy>, more: Partial<ApiKey> = {}): ApiKey => ({
  id: "k", name: "k", keyHash: "", keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, createdAt: "", updatedAt: "",
  lastUsedAt: null, revokedAt: null, policy: { ...defaultPolicy, ...policy }, ...more
})

const directory: Rights.Directory = {
  aliases: new Map([["quick", "openai/gpt-4o"]]),
  meantBy: (id) => id === "quick" || id === "gpt-4o" ? { publicModel: "openai/gpt-4o", thinking: null } : id === "o3-high" ? { publicModel: "openai/o3", thinking: "high" } : null,
  isPublic: ({ model }) => !model.includes("private")
}
const target = (more: Partial<Target> = {}): Target =>
  ({ provider: "openai", providerAlias: "oai", publicModel: "openai/gpt-4o", model: "gpt-4o", thinking: null, connection: { id: "c-1" }, ...more }) as Target
const of = (policy: Partial<ApiKeyPolicy>, more: Partial<ApiKey> = {}) => Rights.of(key(policy, more), directory)
const may = (policy: Partial<ApiKeyPolicy>, asked: Rights.RequestedAs, one = target()) => (of(policy)?.ofTarget(one, asked) ?? null) === null

describe("the rights of a key", () => {
  it("are none to ask for while nothing is listed", () => {
    expect([of({}), Rights.printOf(key({})), Rights.printOf(key({ noLog: true, maxSessions: 3 }))]).toEqual([null, "", ""])
    expect(Rights.printOf(key({ preferredConnections: ["c-1"] }))).not.toBe("")
  })

  it("refuse a blocked model under each of its names, in any letter case", () => {
    const names = ["openai/gpt-4o", "oai/gpt-4o", "gpt-4o", "GPT-4O", "OpenAI/*", "*/gpt-4?", "quick", "q*"]
    for (const name of names) expect([name, may({ blockedModels: [name] }, null)]).toEqual([name, false])
    for (const name of ["anthropic/gpt-4o", "gpt-4", "gpt-4o-mini", "o3"]) expect([name, may({ blockedModels: [name] }, null)]).toEqual([name, true])
    // The id that was asked for is a name, too, wherever it leads.
    expect(may({ blockedModels: ["mine"] }, "mine")).toBe(false)
    // The model that goes upstream, whatever it is called here.
    expect(may({ blockedModels: ["openai/gpt-4o"] }, null, target({ publicModel: "openai/fast" }))).toBe(false)
  })

  it("refuse a variant with its model, and a blocked variant alone", () => {
    const o3 = { publicModel: "openai/o3", model: "o3" }
    for (const thinking of [null, "off", "on", "low", "high"] as const) expect(may({ blockedModels: ["openai/o3"] }, null, target({ ...o3, thinking }))).toBe(false)
    for (const name of ["o3-high", "openai/o3-high"]) {
      expect([may({ blockedModels: [name] }, null, target({ ...o3, thinking: "high" })), may({ blockedModels: [name] }, null, target(o3))]).toEqual([false, true])
    }
    for (const name of ["claude-3-gateway-no-thinking/openai/o3", "no-think/o3"]) {
      expect([may({ blockedModels: [name] }, null, target({ ...o3, thinking: "off" })), may({ blockedModels: [name] }, null, target(o3))]).toEqual([false, true])
    }
  })

  it("ask blockedModels before allowedModels; restricted with an empty list allows nothing", () => {
    const restricted = { modelAccessMode: "restricted" } as const
    expect(may({ ...restricted }, "oai/gpt-4o")).toBe(false)
    for (const name of ["openai/*", "oai/gpt-4o", "gpt-4o", "quick"]) expect([name, may({ ...restricted, allowedModels: [name] }, "openai/gpt-4o")]).toEqual([name, true])
    expect(may({ ...restricted, allowedModels: ["openai/*"], blockedModels: ["*/gpt-4?"] }, "openai/gpt-4o")).toBe(false)
    expect(may({ ...restricted, allowedModels: ["mine"] }, "mine")).toBe(true)
    expect(may({ ...restricted, allowedModels: ["o3-high"] }, "x", target({ publicModel: "openai/o3", model: "o3", thinking: "high" }))).toBe(true)
    expect(may({ ...restricted, allowedModels: ["o3-high"] }, "x", target({ publicModel: "openai/o3", model: "o3" }))).toBe(false)
  })

  it("let a combo bring models that are not listed, but none that is blocked; automatic routing brings none", () => {
    const policy = { modelAccessMode: "restricted", allowedModels: ["auto"] } as const
    expect([may(policy, null), may(policy, "")]).toEqual([true, false])
    expect(may({ ...policy, blockedModels: ["gpt-4o"] }, null)).toBe(false)
    expect(may({ ...policy, allowedModels: ["auto", "openai/*"] }, "")).toBe(true)
  })

  it("let a combo be asked for by allowedCombos, else by the lists of models; a blocked one never", () => {
    const combo = (policy: Partial<ApiKeyPolicy>, granted = false) => (of(policy)?.ofCombo("mapped", "mine", granted) ?? null) === null
    expect(combo({ allowedCombos: ["mine"], modelAccessMode: "restricted" })).toBe(true)
    expect([combo({ allowedCombos: ["other"] }), combo({ allowedCombos: ["other"] }, true)]).toEqual([false, true])
    expect(combo({ modelAccessMode: "restricted", allowedModels: ["combo/mine"] })).toBe(true)
    expect(combo({ modelAccessMode: "restricted", allowedModels: ["openai/*"] })).toBe(false)
    for (const name of ["mine", "mapped", "combo/mine", "combo/*"]) {
      expect([combo({ allowedCombos: ["mine"], blockedModels: [name] }), combo({ blockedModels: [name] }, true)]).toEqual([false, false])
    }
  })

  it("keep to the connections of the key", () => {
    expect([may({ allowedConnections: ["c-1"] }, null), may({ allowedConnections: ["c-2"] }, null), may({ connectionAccessMode: "restricted" }, null)]).toEqual([true, false, false])
    expect(may({ allowedConnections: ["c-1"] }, null, target({ connection: null }))).toBe(false)
    expect(of({ allowedConnections: ["c-2"] })?.ofTarget(target(), null)?.message).toBe("This API key may not use this connection of 'openai/gpt-4o'.")
    expect(of({ blockedModels: ["quick"], allowedConnections: ["c-2"] })?.ofTarget(target(), null)?.message).toBe("This API key may not use the model 'openai/gpt-4o'.")
  })

  it("keep to the groups of connections of the key, beside its list", () => {
    const grouped = (group: string | null) => target({ connection: { id: "c-1", group } as Target["connection"] })
    const may_ = (policy: Partial<ApiKeyPolicy>) => [grouped("a"), grouped("b"), grouped(null), target({ connection: null })].map((one) => may(policy, null, one))
    expect(may_({})).toEqual([true, true, true, true])
    expect(may_({ allowedQuotas: ["a"] })).toEqual([true, false, false, false])
    expect(may_({ allowedQuotas: ["a", "b"], allowedConnections: ["c-1"] })).toEqual([true, true, false, false])
    expect(may_({ allowedQuotas: ["a"], allowedConnections: ["c-2"] })).toEqual([false, false, false, false])
    expect(Rights.printOf(key({ allowedQuotas: ["a"] }))).not.toBe(Rights.printOf(key({ allowedQuotas: ["b"] })))
  })

  it("leave a key with disableNonPublicModels what is public, in combos too, and say so of ids that lead nowhere", () => {
    const hidden = target({ publicModel: "openai/private-1", model: "private-1" })
    expect([may({ disableNonPublicModels: true }, "openai/gpt-4o"), may({ disableNonPublicModels: true }, "openai/private-1", hidden), may({ disableNonPublicModels: true }, null, hidden)]).toEqual([true, false, false])
    expect(of({ disableNonPublicModels: true })?.ofName("unknown")?.code).toBe("insufficient_permissions")
    expect(Rights.printOf(key({ disableNonPublicModels: true }))).not.toBe(Rights.printOf(key({})))
  })

  it("are those of the issuer, too; without it nothing is left", () => {
    const issued = (issuer: ApiKey | null | undefined, policy: Partial<ApiKeyPolicy> = {}) => {
      const rights = of(policy, { issuerId: "i", ...(issuer === undefined ? {} : { issuer }) })
      return (rights?.ofTarget(target(), "openai/gpt-4o") ?? null) === null
    }
    expect([issued(key({})), issued(key({ blockedModels: ["quick"] })), issued(key({ allowedConnections: ["c-2"] })), issued(null), issued(undefined)]).toEqual([true, false, false, false, false])
    expect(issued(key({ modelAccessMode: "restricted", allowedModels: ["openai/*"] }), { modelAccessMode: "restricted", allowedModels: ["gpt-4o"] })).toBe(true)
    const prints = [null, key({}), key({ blockedModels: ["x"] })].map((issuer) => Rights.printOf(key({}, { issuerId: "i", issuer })))
    expect([new Set(prints).size, prints[1]]).toEqual([3, ""])
  })
})
