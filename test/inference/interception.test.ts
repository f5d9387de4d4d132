/** The pure rules of tools that the gateway runs in the place of vendors: which they are, what is said in their place, what may be used. */
import { describe, expect, it } from "vitest"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { interceptionDefaults } from "#schemas/tools/InterceptionRules.ts"
import * as Interception from "#src/inference/conversations/toolLoop/interception.ts"
import { chance } from "#test/support/chance.ts"

const both = { interceptSearch: true, interceptFetch: true, fetchBackend: null } as const
const conversation = (part: Partial<Conversation>): Conversation => ({
  format: "messages", turns: [], tools: [], toolChoice: null, settings: {}, extras: [], ...part
} as unknown as Conversation)
const hosted = (type: string, value: unknown = { type }) => ({ kind: "hosted", format: "messages", type, value }) as const
const named = (name: string) => ({ kind: "function", name, description: null, parameters: null, strict: null, cache: null }) as const

describe("tools of vendors", () => {
  it("are known by every name that a format has for them, and by no other", () => {
    const kinds = (tool: unknown) => [...Interception.wanted(both, { tools: [tool] })]
    for (const type of ["web_search", "web_search_20250305", "web_search_20260209", "web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26"]) expect([type, kinds({ type })]).toEqual([type, ["search"]])
    for (const member of ["googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval"]) expect([member, kinds({ [member]: {} })]).toEqual([member, ["search"]])
    for (const tool of [{ type: "web_fetch_20250910" }, { urlContext: {} }, { url_context: {} }]) expect(kinds(tool)).toEqual(["fetch"])
    for (const tool of [{ type: "function", function: { name: "web_search" } }, { name: "web_search", input_schema: {} }, { type: "web_searcher" }, { type: "code_execution_20250522" }, null, "web_search"]) expect(kinds(tool)).toEqual([])
    expect([...Interception.wanted({ ...both, interceptSearch: false }, { tools: [{ type: "web_search" }, { type: "web_fetch" }], web_search_options: {} })]).toEqual(["fetch"])
    expect([...Interception.wanted(both, { tools: "web_search", web_search_options: null })]).toEqual([])
  })

  it("have no rules where none acts; a model's own word counts first", () => {
    expect(Interception.rulesOf(new Map())).toBeNull()
    expect(Interception.rulesOf(new Map<string, unknown>([["c", interceptionDefaults], ["d", "nonsense"]]))).toBeNull()
    const rules = Interception.rulesOf(new Map([["c", { ...interceptionDefaults, fetchBackend: "jina", models: { m: { interceptFetch: true }, n: { fetchBackend: null } } }]]))
    expect([rules?.("c", "m"), rules?.("c", "n")?.fetchBackend, rules?.("c", "toString")?.interceptFetch, rules?.("d", "m"), rules?.(null, "m")])
      .toEqual([{ interceptSearch: false, interceptFetch: true, fetchBackend: "jina" }, null, false, null, null])
  })
})

describe("functions in their place", () => {
  it("are one for each kind, with a name that no tool of the client has; all other tools stay, in their order", () => {
    const { below, one: oneOf } = chance(7)
    const some: ReadonlyArray<Conversation["tools"][number]> = [
      ...["web_search", "web_search_2", "web_search_3", "web_fetch", "other"].map(named), ...["web_search_20250305", "web_fetch_20250910", "code_execution_20250522"].map((type) => hosted(type))
    ]
    for (let round = 0; round < 500; round++) {
      const given = Array.from({ length: below(9) }, () => oneOf(some))
      const tools = given.filter((tool, i) => tool.kind === "hosted" || given.findIndex((other) => other.kind === "function" && other.name === tool.name) === i)
      const { conversation: { tools: after }, functions } = Interception.replaced(conversation({ tools }), new Set(["search", "fetch"] as const))
      const isTaken = (tool: typeof tools[number]) => tool.kind === "hosted" && !tool.type.startsWith("code")
      const kept = tools.filter((tool) => !isTaken(tool))
      expect(after.filter((tool) => tool.kind === "hosted" || !functions.has(tool.name))).toEqual(kept)
      const names = after.flatMap((tool) => tool.kind === "hosted" ? [] : [tool.name])
      expect(new Set(names).size).toBe(names.length)
      expect(functions.size).toBe(new Set(tools.filter(isTaken).map((tool) => tool.kind === "hosted" ? tool.type : "")).size)
    }
  })

  it("are called where a choice forced the vendor's tool, and only where they stand", () => {
    const choose = (toolChoice: Conversation["toolChoice"], tools: Conversation["tools"]) => Interception.replaced(conversation({ tools, toolChoice }), new Set(["search"] as const)).conversation.toolChoice
    const tool = hosted("web_search_20250305", { type: "web_search_20250305", name: "web_search" })
    expect(choose({ kind: "hosted", type: "web_search_20250305", value: {} }, [tool])).toEqual({ kind: "tool", name: "web_search" })
    expect(choose({ kind: "tool", name: "web_search" }, [tool])).toEqual({ kind: "tool", name: "web_search" })
    expect(choose({ kind: "tool", name: "web_search" }, [named("web_search"), tool])).toEqual({ kind: "tool", name: "web_search" })
    expect(choose({ kind: "allowed", names: ["web_search_20250305", "other"], required: true }, [named("web_search"), named("other"), tool])).toEqual({ kind: "allowed", names: ["web_search_2", "other"], required: true })
    const code = { kind: "hosted", type: "code_execution_20250522", value: {} } as const
    expect(choose(code, [tool, hosted("code_execution_20250522")])).toEqual(code)
  })
})

describe("domains", () => {
  const bounds = (part: Partial<Interception.Bounds>): Interception.Bounds => ({ maxUses: null, allowed: [], blocked: [], country: null, characters: 100, ...part })

  it("hold their subdomains and no other name that ends like them; a path holds what begins with it", () => {
    const may = (url: string, part: Partial<Interception.Bounds>) => Interception.mayUse(bounds(part), url)
    expect(["https://a.com/", "https://x.a.com/y", "https://ba.com/", "https://a.com.evil.test/", "no address"].map((url) => may(url, { allowed: ["a.com"] }))).toEqual([true, true, false, false, false])
    expect(["https://a.com/docs/x", "https://a.com/blog"].map((url) => may(url, { allowed: ["a.com/docs"] }))).toEqual([true, false])
    expect(["https://x.a.com/", "https://b.com/"].map((url) => may(url, { blocked: ["a.com"] }))).toEqual([false, true])
    expect(may("https://a.com/", { allowed: ["a.com"], blocked: ["a.com"] })).toBe(false)
  })

  it("of a search are told to it where it takes them; a page beyond them is never shown", () => {
    expect(Interception.searchOf({ query: "q" }, bounds({ allowed: ["a.com/docs", "a.com"], blocked: ["b.com", "c.com/x"] }))).toEqual({ query: "q", max_results: 5, filters: { include_domains: ["a.com"], exclude_domains: ["b.com"] } })
    expect(Interception.searchOf({ query: "q" }, bounds({ allowed: Array.from({ length: 21 }, (_, i) => `d${i}.com`) }))).toEqual({ query: "q", max_results: 5 })
    expect([Interception.searchOf({ query: " " }, bounds({})), Interception.searchOf({ query: 7 }, bounds({})), Interception.fetchOf({}, null)]).toEqual([null, null, null])
    const results = ["https://a.com/1", "https://b.com/2"].map((url) => ({ title: url, url, snippet: "" }))
    expect(Interception.foundIn({ results }, bounds({ blocked: ["b.com"] }))).toBe("1. https://a.com/1\nhttps://a.com/1")
    expect(Interception.foundIn({ results: "none" }, bounds({}))).toBe("Nothing was found.")
  })

  it("a long page is cut", () => {
    expect(Interception.pageIn({ url: "https://a.com/", content: "x".repeat(150), metadata: { title: "T" } }, bounds({}))).toBe(`T\nhttps://a.com/\n${"x".repeat(100)}\n[50 more characters were left out]`)
  })
})
