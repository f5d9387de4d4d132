/** The pure rules of other servers' tools: names, patterns, waits, and what is masked. */
import { describe, expect, it } from "vitest"
import * as Messages from "#src/features/mcpServers/client/messages.ts"
import * as Health from "#src/features/mcpServers/health.ts"
import * as ToolNames from "#src/features/mcpServers/toolNames.ts"
import * as ToolTurns from "#src/inference/conversations/toolLoop/toolTurns.ts"

describe("names of tools", () => {
  it("have the characters and the length that every vendor takes, and differ for tools whose beginnings are the same", () => {
    const long = (end: string) => ToolNames.offered("server", `${"a/b ".repeat(40)}${end}`)
    for (const name of [ToolNames.offered("s", "x.y/z ü"), ToolNames.offered("a".repeat(32), "b".repeat(128)), long("1")]) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(ToolNames.offered("docs", "read_page")).toBe("docs__read_page")
    expect(long("1")).not.toBe(long("2"))
    expect(long("1")).toBe(long("1"))
  })

  it("are named by a server or by patterns of the whole name", () => {
    expect(ToolNames.names(["docs"], "docs", "docs__read")).toBe(true)
    expect(ToolNames.names(["doc"], "docs", "docs__read")).toBe(false)
    expect(ToolNames.names(["docs__r*"], "docs", "docs__read")).toBe(true)
    expect(ToolNames.names(["*__read"], "docs", "docs__write")).toBe(false)
    expect(ToolNames.names([], "docs", "docs__read")).toBe(false)
  })

  it("are asked for by servers, patterns or all of them", () => {
    const fits = (header: string) => ["web__a", "web__b", "docs__a", "webs__a"].filter(ToolTurns.asking(header))
    expect([fits("web"), fits("web__a, docs"), fits("*"), fits("all"), fits("*__a"), fits(""), fits("other")]).toEqual([
      ["web__a", "web__b"], ["web__a", "docs__a"], ["web__a", "web__b", "docs__a", "webs__a"], ["web__a", "web__b", "docs__a", "webs__a"],
      ["web__a", "docs__a", "webs__a"], [], []
    ])
  })
})

describe("a server that fails", () => {
  it("is tried again after waits that double up to a minute, and keeps the time of its first failure", () => {
    const problem = { reason: "unreachable", message: "away" } as const
    let health: Health.Health = { status: "connecting", sinceMs: 0 }
    const waits: Array<number> = []
    for (let failures = 1; failures <= 10; failures++) {
      const now = failures * 100_000
      health = Health.failed(health, failures, problem, now)
      if (health.status === "failing") waits.push(health.nextTryMs - now)
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
    expect(health).toMatchObject({ sinceMs: 100_000, failures: 10 })
  })
})

describe("what a server says", () => {
  it("never holds its own credential, plain or escaped", () => {
    const secret = "se\"cret\\one"
    const mask = Messages.masker([secret])
    expect(mask(`it is ${secret}`)).toBe("it is [redacted]")
    expect(mask(JSON.stringify({ said: `it is ${secret}` }))).toBe("{\"said\":\"it is [redacted]\"}")
    expect(mask("nothing")).toBe("nothing")
  })

  it("is read as messages of the protocol, one or a batch, and anything else as none", () => {
    expect(Messages.messagesOf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}")).toHaveLength(1)
    expect(Messages.messagesOf("[{\"jsonrpc\":\"2.0\",\"method\":\"a\"},{\"jsonrpc\":\"2.0\",\"method\":\"b\"}]")).toHaveLength(2)
    for (const text of ["", "{", "null", "1", "{}", "[1]", "{\"jsonrpc\":\"1.0\"}"]) expect(Messages.messagesOf(text)).toBeNull()
  })
})
