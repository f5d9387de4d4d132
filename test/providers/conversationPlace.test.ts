/** Where conversations go when a model is called in another format than its provider's. */
import { describe, expect, it } from "vitest"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import * as ConversationPlace from "#src/providers/conversationPlace.ts"
import { builtin } from "#src/providers/Registry.ts"

const node = (more: Partial<Parameters<typeof ConversationPlace.ofNode>[0]> = {}) => ({ type: "openai-compatible" as const, apiType: "chat" as const, chatPath: null, ...more })
const paths = (place: ConversationPlace.ConversationPlace | null) => place === null ? null : [place.family, place.path, place.streamPath]

describe("the place of a model at a node", () => {
  it.each<readonly [FamilyName | null, string, string]>([
    [null, "/chat/completions", "/chat/completions"], ["chat-completions", "/chat/completions", "/chat/completions"], ["messages", "/messages", "/messages"],
    ["responses", "/responses", "/responses"], ["generateContent", "/models/{model}:generateContent", "/models/{model}:streamGenerateContent?alt=sse"]
  ])("in %s", (wanted, path, streamPath) => expect(paths(ConversationPlace.ofNode(node(), wanted))).toEqual([wanted ?? "chat-completions", path, streamPath]))

  it("stands beside a path of its own, keeps that for its own format, and below the base URL where that ends in another way", () => {
    const deep = node({ chatPath: "/api/v3/chat/completions" })
    expect(paths(ConversationPlace.ofNode(deep, "messages"))).toEqual(["messages", "/api/v3/messages", "/api/v3/messages"])
    expect(paths(ConversationPlace.ofNode(deep, "chat-completions"))?.[1]).toBe("/api/v3/chat/completions")
    expect(paths(ConversationPlace.ofNode(node({ chatPath: "/talk" }), "messages"))?.[1]).toBe("/messages")
    expect(paths(ConversationPlace.ofNode(node({ type: "anthropic-compatible", chatPath: "/x/messages" }), "responses"))?.[1]).toBe("/x/responses")
  })

  it("is none at a node for other requests", () => expect(ConversationPlace.ofNode(node({ apiType: "embeddings" }), "messages")).toBeNull())
})

describe("the place of a model at a provider of the registry", () => {
  const of = (id: string, wanted: FamilyName | null) => {
    const row = builtin.byId.get(id)
    if (row === undefined) throw new Error(`no ${id}`)
    return paths(ConversationPlace.ofRow(row, wanted))
  }

  it("is the row's own where it has the format, else beside its main one", () => {
    expect(of("deepseek", "messages")?.[1]).toBe("https://api.deepseek.com/anthropic/v1/messages")
    expect(of("deepseek", "responses")?.[1]).toBe("/responses")
    expect(of("anthropic", "chat-completions")?.[1]).toBe("/chat/completions")
    expect(of("cohere", "messages")?.[1]).toBe("/compatibility/v1/messages")
    expect(of("gemini", null)).toEqual(["generateContent", "/models/{model}:generateContent", "/models/{model}:streamGenerateContent?alt=sse"])
  })

  it("is none where a provider talks in no format", () => {
    const silent = builtin.all.find(({ chatPath }) => chatPath === null)
    if (silent === undefined) throw new Error("every provider talks")
    expect([ConversationPlace.ofRow(silent, "messages"), ConversationPlace.ofRow(silent, null)]).toEqual([null, null])
  })
})
