import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Registry from "#src/providers/Registry.ts"
import {
  compileGlob, makeResolver, resolveModel, type Resolution, type ResolvedModel, type ResolverView, type Unresolved
} from "#src/routing/models/resolveModel.ts"
import { fixture } from "#test/providers/fixture.ts"
import { cpuMs } from "#test/support/late.ts"

const view = (change: Partial<ResolverView> = {}): ResolverView => ({
  registry: fixture,
  nodes: [{ id: "openai-compatible-chat-7f", prefix: "mine" }],
  aliases: new Map(),
  wildcardAliases: [],
  customModels: [],
  activeProviders: new Set(["acme", "openai-compatible-chat-7f", "sim"]),
  simulatorCallable: true,
  noThinkingAliases: true,
  ...change
})

const found = (resolution: Resolution): ResolvedModel => {
  if (resolution._tag !== "Resolved") throw new Error(resolution.message)
  return resolution
}
const refused = (resolution: Resolution): Unresolved => {
  if (resolution._tag !== "Unresolved") throw new Error(`resolved to ${resolution.id}`)
  return resolution
}

describe("<provider>/<model>", () => {
  it("takes the provider id and the alias, and answers the canonical id", () => {
    for (const id of ["acme/small", "ac/small"]) {
      expect(found(resolveModel(view(), id))).toMatchObject({ id: "acme/small", provider: "acme", model: "small", via: "provider" })
    }
  })

  it("keeps the slashes of the model part", () => {
    expect(found(resolveModel(view(), "solo/org/nested"))).toMatchObject({ id: "solo/org/nested", model: "org/nested" })
  })

  it("passes an unknown model of a known provider through, since vendors add models daily", () => {
    expect(found(resolveModel(view(), "acme/brand-new"))).toMatchObject({ model: "brand-new", facts: null })
  })

  it("passes every model of a node through, and shows its prefix, never its generated id", () => {
    expect(found(resolveModel(view(), "mine/any/thing"))).toMatchObject({
      id: "mine/any/thing",
      provider: "openai-compatible-chat-7f",
      model: "any/thing",
      row: null
    })
  })

  it("sends the upstream id of a family, of a custom model of a provider, and of one of a node", () => {
    const custom = view({
      customModels: [
        { provider: "acme", modelId: "nick", upstreamId: "real-name" },
        { provider: "mine", modelId: "nick", upstreamId: "node-name" }
      ]
    })
    expect(found(resolveModel(custom, "acme/family")).model).toBe("vectors")
    expect(found(resolveModel(custom, "ac/nick"))).toMatchObject({ id: "acme/nick", model: "real-name" })
    expect(found(resolveModel(custom, "mine/nick"))).toMatchObject({ id: "mine/nick", model: "node-name" })
  })

  it("knows a model by its dated alias and sends the dated id", () => {
    expect(found(resolveModel(view(), "acme/small-2026-01-01"))).toMatchObject({ model: "small-2026-01-01", facts: { id: "small" } })
  })

  it("finds no provider for an unknown prefix and names it", () => {
    expect(refused(resolveModel(view(), "acmee/small"))).toMatchObject({
      reason: "UnknownProvider", prefix: "acmee", nearMatches: ["acme/small"]
    })
  })

  it("says of a prefix that somebody has what is missing behind it", () => {
    for (const [id, prefix] of [["acme/", "acme"], ["ac/", "ac"], ["mine/", "mine"]] as const) {
      const answer = refused(resolveModel(view(), id))
      expect(answer).toMatchObject({ reason: "ModelNotFound" })
      expect(answer.message).toContain(`the model name after '${prefix}/' is missing`)
    }
    expect(refused(resolveModel(view(), "nobody/")).message).toContain("no provider, alias or node has the prefix 'nobody'")
  })

  it("takes neither an empty model nor an empty provider", () => {
    for (const id of ["acme/", "/small", "/", ""]) expect(refused(resolveModel(view(), id)).reason).toBe("ModelNotFound")
  })
})

describe("bare ids", () => {
  it("resolve to their only provider, connected or not", () => {
    expect(found(resolveModel(view(), "small"))).toMatchObject({ id: "acme/small", via: "bare" })
    expect(found(resolveModel(view(), "claude-plain"))).toMatchObject({ id: "thinkers/claude-plain" })
  })

  it("may hold a slash when no provider has that prefix", () => {
    expect(found(resolveModel(view(), "org/nested"))).toMatchObject({ id: "solo/org/nested" })
  })

  it("choose the only candidate with an active connection", () => {
    expect(found(resolveModel(view(), "shared")).id).toBe("acme/shared")
    expect(found(resolveModel(view({ activeProviders: new Set(["solo"]) }), "shared")).id).toBe("solo/shared")
  })

  it("want a provider, with the candidates, when several or none are active", () => {
    for (const activeProviders of [new Set(["acme", "solo"]), new Set<string>()]) {
      expect(refused(resolveModel(view({ activeProviders }), "shared"))).toMatchObject({
        reason: "ProviderRequired", candidates: ["acme/shared", "solo/shared"]
      })
    }
  })

  it("count custom models of providers and nodes as candidates", () => {
    const custom = view({
      activeProviders: new Set(["openai-compatible-chat-7f"]),
      customModels: [{ provider: "openai-compatible-chat-7f", modelId: "shared" }, { provider: "mine", modelId: "only-mine" }]
    })
    expect(found(resolveModel(custom, "shared"))).toMatchObject({ id: "mine/shared" })
    expect(found(resolveModel(custom, "only-mine"))).toMatchObject({ id: "mine/only-mine", provider: "openai-compatible-chat-7f" })
  })

  it("that nobody serves are not found, name the id and up to three near ones", () => {
    const answer = refused(resolveModel(view(), "smal"))
    expect(answer).toMatchObject({ reason: "ModelNotFound", nearMatches: ["acme/small"] })
    expect(answer.message).toBe("Model 'smal' was not found. Did you mean acme/small?")
    expect(refused(resolveModel(view(), "zzz")).message).toContain("GET /v1/models")
  })
})

describe("aliases", () => {
  it("are asked before <provider>/<model> and may point at another alias", () => {
    const aliases = new Map([["fast", "quick"], ["quick", "ac/small"], ["acme/long", "acme/small"]])
    expect(found(resolveModel(view({ aliases }), "fast"))).toMatchObject({ id: "acme/small", requested: "fast", via: "alias" })
    expect(found(resolveModel(view({ aliases }), "acme/long")).id).toBe("acme/small")
  })

  it("that lead in a circle are not found and name where to look", () => {
    const aliases = new Map([["a", "b"], ["b", "a"]])
    expect(refused(resolveModel(view({ aliases }), "a"))).toMatchObject({ reason: "ModelNotFound", requested: "a" })
    expect(refused(resolveModel(view({ aliases }), "a")).message).toContain("/api/models/alias")
  })

  it("of themselves are no aliases", () => {
    expect(found(resolveModel(view({ aliases: new Map([["small", "small"]]) }), "small")).via).toBe("bare")
  })

  it.prop("always end, whatever they point at", {
    pairs: Schema.Array(Schema.Tuple([Schema.Literals(["a", "b", "c", "d"]), Schema.Literals(["a", "b", "c", "d", "acme/small", "x/y"])])),
    globs: Schema.Array(Schema.Struct({ pattern: Schema.Literals(["*", "a*", "*b", "?"]), target: Schema.Literals(["a", "b", "acme/long"]) }))
  }, ({ pairs, globs }) => {
    const resolve = makeResolver(view({ aliases: new Map(pairs), wildcardAliases: globs }))
    for (const id of ["a", "b", "c", "d"]) expect(resolve(id).requested).toBe(id)
  })
})

describe("wildcard aliases", () => {
  const wildcardAliases = [{ pattern: "gpt-*-mini", target: "acme/small" }, { pattern: "gpt-*", target: "ac/long" }]

  it("match the whole id, the first pattern winning, letter case ignored", () => {
    expect(found(resolveModel(view({ wildcardAliases }), "GPT-5-mini"))).toMatchObject({ id: "acme/small", via: "wildcard" })
    expect(found(resolveModel(view({ wildcardAliases }), "gpt-5")).id).toBe("acme/long")
    expect(refused(resolveModel(view({ wildcardAliases }), "my-gpt-5")).reason).toBe("ModelNotFound")
  })

  it("come after exact aliases and never apply to the target of one", () => {
    const both = view({ wildcardAliases: [{ pattern: "*", target: "acme/small" }], aliases: new Map([["gpt-5", "acme/long"]]) })
    expect(found(resolveModel(both, "gpt-5")).id).toBe("acme/long")
    expect(found(resolveModel(both, "whatever")).id).toBe("acme/small")
    expect(found(resolveModel(both, "acme/small")).id).toBe("acme/small")
  })
})

describe("globs", () => {
  const oracle = (pattern: string, text: string): boolean => {
    const source = [...pattern.toLowerCase()].map((one) =>
      one === "*" ? "[^]*" : one === "?" ? "[^]" : one.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("")
    return new RegExp(`^${source}$`).test(text.toLowerCase())
  }
  const Letters = Schema.Array(Schema.Literals(["a", "b", "*", "?", ".", "("]))

  it.prop("agree with a plain reading of the pattern", { pattern: Letters, text: Letters }, ({ pattern, text }) => {
    const glob = pattern.join("")
    const against = text.join("").replaceAll(/[*?]/g, "a")
    expect(compileGlob(glob)(against), `${glob} on ${against}`).toBe(oracle(glob, against))
  })

  it.prop("take any string as a pattern", { pattern: Schema.String, text: Schema.String }, ({ pattern, text }) => {
    expect(typeof compileGlob(pattern)(text)).toBe("boolean")
  })

  it("stay fast on a pattern that would make a regular expression backtrack for ever", () => {
    const matches = compileGlob(`${"*a".repeat(200)}*b`)
    expect(cpuMs(() => expect(matches("a".repeat(10_000))).toBe(false))).toBeLessThan(200)
  })
})

describe("ids without thinking", () => {
  it("resolve the rest of the id with thinking off, in both spellings", () => {
    for (const prefix of ["claude-3-gateway-no-thinking/", "no-think/"]) {
      expect(found(resolveModel(view(), `${prefix}th/claude-thinks`))).toMatchObject({ id: "thinkers/claude-thinks", noThinking: true })
    }
  })

  it("keep the switch across an alias, and may be an alias's target", () => {
    const aliases = new Map([["calm", "no-think/th/claude-thinks"], ["deep", "th/claude-thinks"]])
    expect(found(resolveModel(view({ aliases }), "calm")).noThinking).toBe(true)
    expect(found(resolveModel(view({ aliases }), "no-think/deep")).noThinking).toBe(true)
    expect(found(resolveModel(view({ aliases }), "deep")).noThinking).toBe(false)
  })

  it("are unknown while NO_THINKING_ALIAS_ENABLED is off", () => {
    expect(refused(resolveModel(view({ noThinkingAliases: false }), "no-think/th/claude-thinks"))).toMatchObject({ reason: "ModelNotFound" })
  })

  it("are refused for a model that rejects disabling", () => {
    expect(refused(resolveModel(view(), "no-think/th/claude-always")).message).toContain("cannot stop thinking")
  })
})

describe("the simulator", () => {
  it("answers by name while it runs, by a bare id while it is listed, and is unknown once it is turned off", () => {
    expect(found(resolveModel(view(), "sim/echo")).provider).toBe("sim")
    const unlisted = view({ activeProviders: new Set(["acme"]) })
    expect(found(resolveModel(unlisted, "sim/echo")).provider).toBe("sim")
    expect(refused(resolveModel(unlisted, "echo")).reason).toBe("ModelNotFound")
    const off = view({ activeProviders: new Set(["acme"]), simulatorCallable: false })
    expect(refused(resolveModel(off, "sim/echo")).message).toContain("GATEWAY_SIM_PROVIDER")
    expect(refused(resolveModel(off, "echo")).reason).toBe("ModelNotFound")
  })
})

describe("a resolver", () => {
  it("asks the steps put in front each time an id starts, and returns their answers", () => {
    const asked: Array<string> = []
    const resolve = makeResolver(view({ aliases: new Map([["best", "my-combo"]]) }), [(one) => {
      asked.push(one.id)
      return one.id === "my-combo" ? { _tag: "Combo" as const, name: one.id, noThinking: one.noThinking } : undefined
    }])
    expect(resolve("no-think/best")).toEqual({ _tag: "Combo", name: "my-combo", noThinking: true })
    expect(asked).toEqual(["no-think/best", "best", "my-combo"])
  })

  it("remembers answers, refusals too, and forgets the oldest", () => {
    const resolve = makeResolver(view())
    const first = resolve("acme/small")
    expect(resolve("acme/small")).toBe(first)
    expect(resolve("zzz")).toBe(resolve("zzz"))
    for (let i = 0; i < 5000; i++) resolve(`acme/m${i}`)
    expect(resolve("acme/small")).not.toBe(first)
    expect(resolve("acme/small")).toEqual(first)
  })

  it("does not remember ids of any length, nor repeat them whole", () => {
    const resolve = makeResolver(view())
    const long = `acme/${"x".repeat(10_000)}`
    expect(resolve(long)).not.toBe(resolve(long))
    expect(refused(resolve("y".repeat(10_000))).message.length).toBeLessThan(300)
  })

  it.prop("answers every string with a value, never an exception", { id: Schema.String }, ({ id }) => {
    expect(["Resolved", "Unresolved"]).toContain(resolveModel(view(), id)._tag)
  })

  it("resolves every shipped model by id and by alias to the same canonical id", () => {
    const registry = Registry.builtin
    const resolve = makeResolver(view({ registry, nodes: [], activeProviders: new Set(registry.byId.keys()) }))
    for (const row of registry.all) {
      for (const model of row.models) {
        expect(found(resolve(`${row.id}/${model.id}`)).facts).toBe(model)
        expect(found(resolve(`${row.alias}/${model.id}`)).id).toBe(`${row.id}/${model.id}`)
      }
    }
  })
})
