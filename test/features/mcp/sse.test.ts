/** The MCP server over HTTP with SSE, the transport of the first protocol version. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { frame, type McpLab, opening, overSse, startMcp, textOf } from "./lab.ts"

let lab: McpLab
let key: string

beforeAll(async () => {
  lab = await startMcp("sse", { environment: { MCP_TOOL_DENY: "cache_flush", MCP_TOOL_ALLOW: "gateway_list_combos, cache_flush,route_request" } })
  key = (await lab.gateway.operator.createKey("agent", { scopes: ["mcp:connect", "*"] })).key
})

afterAll(() => lab.close())

describe("HTTP with SSE", () => {
  it("the official client lists what the operator allows and did not deny, and calls it", async () => {
    const client = await overSse(lab.gateway.url, key)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["gateway_list_combos", "gateway_route_request"])
    expect(textOf(await client.callTool({ name: "gateway_list_combos", arguments: {} }))).toContain("best")
    await expect(client.callTool({ name: "gateway_cache_flush", arguments: {} })).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })

  it("a slow call tells its progress over the stream, and its cancellation ends it", async () => {
    const client = await overSse(lab.gateway.url, key)
    await lab.sim.rule({ match: { model: "endless" }, script: { latencyMs: 60_000 } })
    const stop = new AbortController()
    const told: Array<number> = []
    const calling = client.callTool(
      { name: "gateway_route_request", arguments: { model: "lab/endless", messages: [{ role: "user", content: "Wait" }] } }, undefined,
      { signal: stop.signal, onprogress: ({ progress }) => void told.push(progress) }
    )
    const lost = expect(calling).rejects.toThrow()
    await eventually(() => Promise.resolve(told.length), (count) => count > 0, "progress")
    await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 1, "the call's start")
    stop.abort()
    await lost
    await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 0, "the call's end")
    await client.close()
  })

  it("a frame without a session, before the opening or that is no JSON is refused", async () => {
    const headers = { authorization: `Bearer ${key}` }
    const send = (path: string, body: unknown) => Http.send(lab.gateway.url, { path, headers, body })
    const opened = await Http.stream(lab.gateway.url, { path: "/api/mcp/sse", headers: { ...headers, accept: "text/event-stream" } })
    const text = await opened.until((seen) => seen.includes("\n\n"))
    const address = /^data: (.+)$/m.exec(text)?.[1] ?? ""
    for (const [reply, code] of [
      [await send("/api/mcp/sse", frame("tools/list")), -32000], [await send("/api/mcp/sse?sessionId=unknown", frame("tools/list")), -32000],
      [await send(address, frame("tools/list")), -32000], [await send(address, "{"), -32700]
    ] as const) expect([reply.status, JSON.parse(reply.text)]).toMatchObject([400, { error: { code } }])
    expect((await send(address, opening("2024-11-05"))).status).toBe(202)
    expect(await opened.until((seen) => seen.includes("protocolVersion"))).toContain("2024-11-05")
    opened.leave()
    await eventually(() => send(address, frame("tools/list")), ({ status }) => status === 400, "the session's end")
  })

  it("the stream ends with its key", async () => {
    const { gateway: { operator, url } } = lab
    const own = await operator.createKey("deleted", { scopes: ["mcp:connect"] })
    const opened = await Http.stream(url, { method: "GET", path: "/api/mcp/sse", headers: { accept: "text/event-stream", authorization: `Bearer ${own.key}` } })
    await opened.until((seen) => seen.includes("\n\n"))
    await operator.call("DELETE", `/api/keys/${own.id}`)
    expect(await opened.ended).toMatchObject({ whole: true })
  })
})
