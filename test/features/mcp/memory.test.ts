/** Tools over what is remembered: an agent's own entries, and none of others. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { agentOf, type McpLab, startMcp } from "./lab.ts"

let lab: McpLab
beforeAll(async () => {
  lab = await startMcp("streamable-http")
})
afterAll(() => lab.close())

interface Result {
  readonly data?: { readonly memories?: ReadonlyArray<{ readonly key: string }>; readonly count?: number; readonly totalTokens?: number }
  readonly error?: { readonly code: string }
}

const agent = async (...scopes: ReadonlyArray<string>) => {
  const one = await agentOf(lab, ...scopes)
  return { ...one, call: (name: string, args: Record<string, unknown>): Promise<Result> => one.call(`memory_${name}`, args) }
}

describe("the tools of memory", () => {
  it("add, find and clear an agent's own entries", async () => {
    const own = await agent("read:memory", "write:memory")
    const add = (key: string, content: string, type = "factual") => own.call("add", { apiKeyId: own.id, type, key, content, metadata: { by: "agent" } })
    const added = await add("pets", "the cat is called Miso")
    expect(added).toEqual({ success: true, data: { memory: { id: expect.any(String) as string, apiKeyId: own.id, type: "factual", key: "pets" }, message: "Remembered pets" } })
    await add("work", "writes firmware in Rust", "episodic")
    await add("food", "no peanuts")
    const found = async (args: Record<string, unknown>) => {
      const { data } = await own.call("search", { apiKeyId: own.id, ...args })
      return [data?.memories?.map(({ key }) => key), data?.count, data?.totalTokens]
    }
    expect(await found({})).toEqual([["food", "work", "pets"], 3, 28])
    expect(await found({ query: "the cat" })).toEqual([["pets"], 1, 10])
    expect(await found({ type: "episodic" })).toEqual([["work"], 1, 11])
    expect(await found({ limit: 1 })).toEqual([["food"], 1, 7])
    expect(await found({ maxTokens: 18 })).toEqual([["food", "work"], 2, 18])
    expect((await own.call("clear", { apiKeyId: own.id, type: "episodic" })).data).toEqual({ deletedCount: 1, message: "Forgot 1 entry" })
    expect((await own.call("clear", { apiKeyId: own.id, olderThan: "2001-01-01" })).data).toMatchObject({ deletedCount: 0 })
    expect((await own.call("clear", { apiKeyId: own.id })).data).toMatchObject({ deletedCount: 2 })
    const { entries } = await lab.gateway.operator.call<{ readonly entries: ReadonlyArray<unknown> }>("GET", "/api/mcp/audit")
    expect(JSON.stringify(entries)).not.toContain("Miso")
    await own.close()
  })

  it("refuse other keys' entries, and callers without their scopes", async () => {
    const [own, other, reader] = [await agent("read:memory", "write:memory"), await agent("read:memory", "write:memory"), await agent("read:memory")]
    await other.call("add", { apiKeyId: other.id, type: "factual", key: "secret", content: "other's" })
    for (const apiKeyId of [other.id, ""]) {
      expect((await own.call("search", { apiKeyId })).error?.code).toBe("AUTH_004")
      expect((await own.call("add", { apiKeyId, type: "factual", key: "k", content: "c" })).error?.code).toBe("AUTH_004")
      expect((await own.call("clear", { apiKeyId })).error?.code).toBe("AUTH_004")
    }
    expect((await reader.call("clear", { apiKeyId: reader.id })).error?.code).toBe("scope_denied:write:memory")
    expect((await other.call("search", { apiKeyId: other.id })).data).toMatchObject({ count: 1 })
    const manager = await agent("manage")
    expect((await manager.call("search", { apiKeyId: other.id })).data).toMatchObject({ count: 1 })
    await Promise.all([own, other, reader, manager].map((one) => one.close()))
  })
})
