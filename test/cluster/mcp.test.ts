/** Sessions of MCP clients behind a balancer: every frame goes to the other node than the one before. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { frame, opening, post, session, textOf } from "#test/features/mcp/lab.ts"

const { missing, postgres } = await findServers()

describe.skipIf(missing !== null)(`MCP on two nodes${missing === null ? "" : ` (${missing})`}`, () => {
  let common: Ground
  let cluster: Cluster
  let key: string
  const url = (index: number): string => cluster.nodes[index % 2]!.url

  beforeAll(async () => {
    common = await ground(postgres)
    cluster = await startCluster(common, [{}, {}])
    const { operator } = cluster.nodes[0]!
    await operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: "streamable-http" })
    key = (await operator.createKey("agent", { scopes: ["mcp:connect", "*"] })).key
    await converged(cluster.nodes[0]!)
  })

  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  it("the official client keeps its session when each frame meets the other node", async () => {
    let count = 0
    const client = new Client({ name: "a test", version: "1" })
    const transport = new StreamableHTTPClientTransport(new URL(`${url(0)}/api/mcp/stream`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
      fetch: (to, init) => fetch(new URL(new URL(to).pathname, url(count++)), init)
    })
    await client.connect(transport as Parameters<Client["connect"]>[0])
    for (let i = 0; i < 6; i++) expect(textOf(await client.callTool({ name: "gateway_get_health", arguments: {} }))).toContain("uptime")
    await client.close()
  })

  it("a session that one node ended is over on the other", async () => {
    const headers = await session(url(0), key)
    expect((await post(url(1), key, frame("tools/list"), headers)).status).toBe(200)
    await Http.send(url(1), { method: "DELETE", path: "/api/mcp/stream", headers: { authorization: `Bearer ${key}`, ...headers } })
    expect((await post(url(0), key, frame("tools/list"), headers)).status).toBe(400)
  })

  it("a stream that broke off on one node goes on at the other", async () => {
    await cluster.sim.rule({ match: { model: "held" }, script: { text: "The late answer", latencyMs: 1_500 } })
    const headers = { accept: "application/json, text/event-stream", authorization: `Bearer ${key}`, ...await session(url(0), key) }
    const opened = await Http.stream(url(0), { path: "/api/mcp/stream", headers, body: frame("tools/call", {
      name: "gateway_route_request", _meta: { progressToken: "p" }, arguments: { model: "lab/held", messages: [{ role: "user", content: "Take your time" }] }
    }) })
    const begun = await opened.until((text) => text.includes("notifications/progress") && text.includes("\n\n"))
    opened.leave()
    const again = await Http.send(url(1), { path: "/api/mcp/stream", headers: { ...headers, "last-event-id": /^id: (.+)$/m.exec(begun)?.[1] ?? "" } })
    expect(again.text).toContain("The late answer")
  })

  it("a cancellation that meets the other node ends the call", async () => {
    await cluster.sim.rule({ match: { model: "endless" }, script: { latencyMs: 60_000 } })
    const headers = await session(url(0), key)
    const opened = await Http.stream(url(0), { path: "/api/mcp/stream", headers: { accept: "application/json, text/event-stream", authorization: `Bearer ${key}`, ...headers }, body: frame("tools/call", {
      name: "gateway_route_request", _meta: { progressToken: "p" }, arguments: { model: "lab/endless", messages: [{ role: "user", content: "Wait" }] }
    }, 7) })
    const { operator } = cluster.nodes[0]!
    await eventually(() => operator.reconciliation(), ({ live }) => live === 1, "the call's start")
    expect((await post(url(1), key, frame("notifications/cancelled", { requestId: 7 }, null), headers)).status).toBe(202)
    await eventually(() => operator.reconciliation(), ({ live }) => live === 0, "the call's end")
    opened.leave()
  })

  it("without Redis a frame of a session answers 503, and the session goes on when it is back", async () => {
    const headers = await session(url(0), key)
    common.redis.freeze()
    const reply = await post(url(0), key, frame("tools/list"), headers)
    common.redis.thaw()
    expect([reply.status, (JSON.parse(reply.text) as { error: { code: string } }).error.code]).toEqual([503, "store_unavailable"])
    await eventually(() => post(url(0), key, frame("tools/list"), headers), ({ status }) => status === 200, "the session")
  })

  it("an opening of one node is known to the other at once", async () => {
    const reply = await post(url(1), key, opening("2025-11-25"))
    const list = await post(url(0), key, frame("tools/list"), { "mcp-session-id": reply.headers["mcp-session-id"] ?? "" })
    expect(list.status).toBe(200)
  })
})
