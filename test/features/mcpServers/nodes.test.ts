/** MCP servers on two nodes over one Postgres and one Redis: a record reaches both, and a session of a client works on either. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { frame, opening, post } from "#test/features/mcp/lab.ts"
import { findServers, type Ground, ground } from "#test/support/cluster.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"
import { startToolServer, type ToolServer } from "#test/support/toolServer.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

describe.skipIf(missing !== null)("two nodes", { timeout: 180_000 }, () => {
  let common: Ground
  let tools: ToolServer
  let one: InProcess
  let two: InProcess

  beforeAll(async () => {
    common = await ground(postgres)
    tools = await startToolServer()
    const { environment } = common
    one = await inProcess({ environment: { ...environment, GATEWAY_NODE_ID: "tools-one" } })
    two = await inProcess({ environment: { ...environment, GATEWAY_NODE_ID: "tools-two" } })
  }, 300_000)
  afterAll(async () => {
    await two.close()
    await one.close()
    await tools.close()
    await common.close()
  })

  it("offer the tools of a server that was added on one, to one session of a client", async () => {
    await one.operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: "streamable-http" })
    const { server: { id } } = await one.operator.call<{ server: { id: string } }>("POST", "/api/mcp/servers", { name: "web", url: tools.url, access: "open" })
    const { key } = await one.operator.createKey("tools", { scopes: ["mcp:connect"] })
    const stateOn = async (node: InProcess) => {
      const reply = await node.operator.raw("GET", `/api/mcp/servers/${id}`)
      return reply.status === 200 ? (JSON.parse(reply.text) as { server: { state: { status: string } } }).server.state.status : null
    }
    for (const node of [one, two]) await eventually(() => stateOn(node), (status) => status === "connected", "the session of a node with the server")
    const opened = await eventually(() => post(one.url, key, opening("2025-06-18")), ({ status }) => status === 200, "a session")
    const headers = { "mcp-session-id": opened.headers["mcp-session-id"] ?? "", "mcp-protocol-version": "2025-06-18" }
    await post(one.url, key, frame("notifications/initialized", undefined, null), headers)
    for (const node of [one, two]) {
      const called = await eventually(
        () => post(node.url, key, frame("tools/call", { name: "web__echo", arguments: { text: "from a node" } }), headers), ({ text }) => text.includes("You said"), "a call on a node"
      )
      expect(called.status).toBe(200)
    }
    await two.operator.call("PATCH", `/api/mcp/servers/${id}`, { enabled: false })
    await eventually(() => post(one.url, key, frame("tools/list", {}, 7), headers), ({ text }) => !text.includes("web__echo"), "the end of the tools on the other node")
  })
})
