/** Tools of other MCP servers through the gateway's own: lists, calls, rights, the audit, failures and both transports. */
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isAlive } from "#src/platform/structures/processes.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { textOf } from "#test/features/mcp/lab.ts"
import { program, type ServersLab, startServers } from "./lab.ts"

const CANARY = "canary_8842_of_the_tool_server"
let lab: ServersLab
/** May use every tool of `web`. */
let key: string
let web: string

const listOf = async (bearer: string): Promise<ReadonlyArray<string>> => {
  const { client } = await lab.client(bearer)
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name)
}
const servers = (names: ReadonlyArray<string>) => names.filter((name) => !name.startsWith("gateway_"))
const call = async (bearer: string, name: string, args: Record<string, unknown> = {}) => {
  const { client } = await lab.client(bearer)
  try {
    return await client.callTool({ name, arguments: args })
  } finally {
    await client.close()
  }
}
const raw = (method: string, at: string, body?: unknown) => lab.gateway.operator.raw(method, at, body)
const codeOf = (result: unknown): string => (JSON.parse(textOf(result)) as { error: { code: string } }).error.code

beforeAll(async () => {
  lab = await startServers({}, `Bearer ${CANARY}`)
  web = (await lab.add({ name: "web", url: `${lab.tools.url}?secret=${CANARY}_q`, headers: { Authorization: `Bearer ${CANARY}` }, timeoutMs: 3_000 })).id
  await lab.stands(web, "connected")
  key = await lab.keyWith({ allowedMcpTools: ["web"] })
})
afterAll(() => lab.close())

describe("tools of a server over streamable HTTP", () => {
  it("stand beside the gateway's own under the server's name, described as their server does; what cannot be offered is told with its reason", async () => {
    const { client } = await lab.client(key)
    const { tools } = await client.listTools()
    const echo = tools.find(({ name }) => name === "web__echo")
    expect(echo).toMatchObject({
      title: "Echo", description: "Says what it is told", annotations: { readOnlyHint: true },
      inputSchema: {
        $schema: "http://json-schema.org/draft-07/schema#", type: "object", additionalProperties: false, required: ["text"],
        properties: { text: { type: "string", minLength: 1, "x-vendor": { deep: [1, 2] } }, mode: { oneOf: [{ const: "a" }, { const: "b" }] } }
      }
    })
    const names = tools.map(({ name }) => name)
    expect(names.filter((name) => name.startsWith("web__with"))).toEqual(["web__with_dots_and_more"])
    await client.close()
    const { leftOut, tools: listed } = await lab.gateway.operator.call<{ leftOut: ReadonlyArray<{ tool: string; why: string }>; tools: ReadonlyArray<{ name: string; tool: string }> }>("GET", `/api/mcp/servers/${web}/tools`)
    expect(listed).toContainEqual(expect.objectContaining({ name: "web__with_dots_and_more", tool: "with.dots/and more" }))
    expect(leftOut).toEqual([{ tool: "with_dots_and_more", why: expect.stringContaining("taken") as string }])
    expect((await lab.view(web)).state).toMatchObject({ status: "connected", server: { name: "tools", version: "1.2.3" }, protocolVersion: "2025-11-25", failures: 0 })
  })

  it("are called with their results unchanged: text, structure, images, and errors of their own", async () => {
    expect(textOf(await call(key, "web__echo", { text: "hello" }))).toBe("You said: hello")
    expect(await call(key, "web__sum", { a: 2, b: 3 })).toMatchObject({ structuredContent: { sum: 5 }, content: [{ type: "text", text: "5" }] })
    expect(await call(key, "web__picture")).toMatchObject({ content: [{ type: "image", data: Buffer.from("pixels").toString("base64"), mimeType: "image/png" }] })
    expect(await call(key, "web__refuses")).toMatchObject({ isError: true, content: [{ text: "I do not want to" }] })
    expect(textOf(await call(key, "web__with_dots_and_more"))).toBe("with.dots/and more was called")
  })

  it("tell their progress, and a call that its client cancels is cancelled at the server", async () => {
    const { client } = await lab.client(key)
    const heard: Array<unknown> = []
    await client.callTool({ name: "web__steps", arguments: {} }, undefined, { onprogress: (progress) => heard.push(progress) })
    expect(heard).toContainEqual({ progress: 2, total: 3, message: "step 2" })
    const leaving = new AbortController()
    const held = client.callTool({ name: "web__held", arguments: {} }, undefined, { signal: leaving.signal })
    await eventually(async () => lab.tools.heard, (all) => all.some(({ params }) => params["name"] === "held"), "the call")
    leaving.abort()
    await expect(held).rejects.toThrow()
    await eventually(async () => lab.tools.heard, (all) => all.some(({ rpc }) => rpc === "notifications/cancelled"), "the cancellation at the server")
    await eventually(() => lab.audit("?tool=web__held"), ([row]) => row?.errorCode === "cancelled", "the row of the cancelled call")
    await client.close()
  })

  it("end at their time, at their size, and with the server's own failure as errors with codes", async () => {
    const late = await call(key, "web__held")
    expect([late.isError, codeOf(late)]).toEqual([true, "server_timeout"])
    const large = await call(key, "web__large")
    expect([large.isError, codeOf(large)]).toEqual([true, "server_too_large"])
    const broken = await call(key, "web__breaks")
    expect([broken.isError, codeOf(broken), textOf(broken)]).toEqual([true, expect.stringContaining("server_error"), expect.not.stringContaining(CANARY)])
    await lab.stands(web, "connected")
  })

  it("are listed anew when their server says that they changed", async () => {
    await lab.tools.offer("fresh")
    await eventually(() => listOf(key), (names) => names.includes("web__fresh"), "the new tool")
    expect(textOf(await call(key, "web__fresh"))).toBe("fresh was called")
    await lab.tools.offer()
    await eventually(() => listOf(key), (names) => !names.includes("web__fresh"), "the end of the new tool")
    await expect(call(key, "web__fresh")).rejects.toMatchObject({ code: -32602 })
  })

  it("are announced to the clients that are connected, because the gateway says that its list changes", async () => {
    const { client } = await lab.client(key)
    let told = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (told += 1))
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } })
    await lab.tools.offer("fresh")
    await eventually(() => Promise.resolve(told), (count) => count > 0, "the notification")
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("web__fresh")
    await lab.tools.offer()
    await eventually(() => listOf(key), (names) => !names.includes("web__fresh"), "the end of the new tool")
    await client.close()
  })

  it("survive a server that forgot its sessions: the call is made once more in a new one", async () => {
    lab.tools.forget()
    expect(textOf(await call(key, "web__echo", { text: "again" }))).toBe("You said: again")
  })
})

describe("rights", () => {
  it("a key without a list has none, a pattern gives some, and scopes of the server are needed beside it", async () => {
    const none = await lab.keyWith({})
    expect(servers(await listOf(none))).toEqual([])
    await expect(call(none, "web__echo", { text: "x" })).rejects.toMatchObject({ code: -32602 })
    expect(await lab.audit("?tool=web__echo&success=false&limit=1")).toMatchObject([{ errorCode: "tool_denied" }])
    const some = await lab.keyWith({ allowedMcpTools: ["web__e*", "other"] })
    expect(servers(await listOf(some))).toEqual(["web__echo", "web__environment", "web__exits"])
    const scoped = await lab.add({ name: "scoped", url: lab.tools.url, headers: { Authorization: `Bearer ${CANARY}` }, scopes: ["execute:search"], allowedTools: ["echo"] })
    await lab.stands(scoped.id, "connected")
    const without = await lab.keyWith({ allowedMcpTools: ["scoped"], scopes: ["mcp:connect", "read:models"] })
    const withScope = await lab.keyWith({ allowedMcpTools: ["scoped"], scopes: ["mcp:connect", "execute:*"] })
    expect([servers(await listOf(without)), servers(await listOf(withScope))]).toEqual([[], ["scoped__echo"]])
    await raw("DELETE", `/api/mcp/servers/${scoped.id}`)
  })

  it("an open server serves every key, and only the tools that its lists leave", async () => {
    const open = await lab.add({ name: "open", url: lab.tools.url, headers: { Authorization: `Bearer ${CANARY}` }, access: "open", allowedTools: ["e*", "sum"], blockedTools: ["environment", "exits"] })
    await lab.stands(open.id, "connected")
    expect(servers(await listOf(await lab.keyWith({})))).toEqual(["open__echo", "open__sum"])
    await lab.gateway.operator.call("PATCH", `/api/mcp/servers/${open.id}`, { enabled: false })
    expect(servers(await listOf(await lab.keyWith({})))).toEqual([])
    expect((await lab.view(open.id)).state).toMatchObject({ status: "off", tools: 0 })
    await raw("DELETE", `/api/mcp/servers/${open.id}`)
    expect((await raw("GET", `/api/mcp/servers/${open.id}`)).status).toBe(404)
  })

  it("each call has a row with a hash of its input, and counts in the statistics", async () => {
    await call(key, "web__echo", { text: "audited words" })
    const [row] = await lab.audit("?tool=web__echo&limit=1")
    expect(row).toMatchObject({ success: true, errorCode: null, outputSummary: null, inputHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string })
    expect(row?.apiKeyId).not.toBeNull()
    const { topTools } = await lab.gateway.operator.call<{ topTools: ReadonlyArray<{ tool: string }> }>("GET", "/api/mcp/audit/stats")
    expect(topTools.map(({ tool }) => tool)).toContain("web__echo")
    const metrics = await Http.send(lab.gateway.url, { path: "/metrics" })
    expect(metrics.text).toMatch(/gateway_mcp_server_calls_total\{.*outcome="answered".*server="web".*\} [1-9]|gateway_mcp_server_calls_total\{.*server="web".*outcome="answered".*\} [1-9]/)
    expect(metrics.text).toMatch(/gateway_mcp_server_up\{.*server="web".*\} 1/)
  })
})

describe("a server that fails", () => {
  it("hides no other one, says since when and when it is tried again, and is back after it", async () => {
    const other = await lab.add({ name: "gone", url: "http://127.0.0.1:9/mcp", access: "open" })
    const { state } = await lab.stands(other.id, "failing")
    expect(state).toMatchObject({ reason: "unreachable", since: expect.any(String) as string, nextTryAt: expect.any(String) as string })
    expect(await listOf(key)).toContain("web__echo")
    await raw("DELETE", `/api/mcp/servers/${other.id}`)
    const { client } = await lab.client(key)
    const before = lab.tools.heard.filter(({ params }) => params["name"] === "held").length
    const running = client.callTool({ name: "web__held", arguments: {} })
    await eventually(async () => lab.tools.heard.filter(({ params }) => params["name"] === "held").length, (count) => count > before, "the call")
    await lab.tools.kill()
    expect(codeOf(await running)).toMatch(/^server_(closed|unreachable)$/)
    await lab.stands(web, "failing")
    const refused = await client.callTool({ name: "web__echo", arguments: { text: "x" } })
    expect([codeOf(refused), textOf(refused)]).toEqual(["server_unavailable", expect.stringContaining("next try at")])
    await lab.tools.revive()
    await raw("POST", `/api/mcp/servers/${web}/refresh`)
    await lab.stands(web, "connected")
    expect(textOf(await client.callTool({ name: "web__echo", arguments: { text: "back" } }))).toBe("You said: back")
    await client.close()
  })

  it("a wrong credential, a redirect to another host, a metadata address and a server that is none are told apart", async () => {
    const wrong = await lab.add({ name: "wrong", url: lab.tools.url, headers: { authorization: "Bearer another_secret_4711" } })
    const { state } = await lab.stands(wrong.id, "failing")
    expect(state).toMatchObject({ reason: "refused", error: expect.not.stringContaining("another_secret_4711") as string })
    await raw("DELETE", `/api/mcp/servers/${wrong.id}`)
    lab.tools.answerWith(307, { location: "http://127.0.0.1:9/elsewhere" })
    const moved = await lab.add({ name: "moved", url: lab.tools.url })
    expect((await lab.stands(moved.id, "failing")).state).toMatchObject({ reason: "blocked" })
    lab.tools.answerWith(null)
    await raw("DELETE", `/api/mcp/servers/${moved.id}`)
    const blocked = await raw("POST", "/api/mcp/servers", { name: "inner", url: "http://169.254.169.254/mcp" })
    expect([blocked.status, blocked.text]).toEqual([400, expect.stringContaining("metadata")])
    const none = await lab.add({ name: "none", url: `${lab.gateway.url}/api/health` })
    expect((await lab.stands(none.id, "failing")).state.status).toBe("failing")
    await raw("DELETE", `/api/mcp/servers/${none.id}`)
  })
})

describe("a server over stdio", () => {
  it("is a program with its own variables only, whose tools are called; it is started again when it ends, and ends with its record", async () => {
    const local = await lab.add({ name: "local", transport: "stdio", command: process.execPath, args: [program], env: { TOOL_TOKEN: CANARY, PLAIN: "visible" } })
    await lab.stands(local.id, "connected")
    const operatorKey = await lab.keyWith({ allowedMcpTools: ["local"] })
    expect(textOf(await call(operatorKey, "local__echo", { text: "hi" }))).toBe("You said: hi")
    const environment = JSON.parse(textOf(await call(operatorKey, "local__environment"))) as Record<string, unknown>
    expect(environment).toMatchObject({ PLAIN: "visible", TOOL_TOKEN: "[redacted]" })
    expect(Object.keys(environment).filter((name) => /GATEWAY|VITEST|NODE_ENV|PASSWORD/.test(name))).toEqual([])
    expect(codeOf(await call(operatorKey, "local__exits"))).toBe("server_closed")
    await eventually(() => call(operatorKey, "local__echo", { text: "hi" }), (result) => result.isError !== true, "the program's next life")
    const child = Number(textOf(await call(operatorKey, "local__child")))
    expect(isAlive(child)).toBe(true)
    await raw("DELETE", `/api/mcp/servers/${local.id}`)
    await eventually(async () => isAlive(child), (alive) => !alive, "the end of what the program started")
  })

  it("a program that cannot be started says so; the setting and an operator on the machine are needed", async () => {
    const absent = await lab.add({ name: "absent", transport: "stdio", command: "/nowhere/at-all" })
    expect((await lab.stands(absent.id, "failing")).state).toMatchObject({ reason: "not_started" })
    await raw("DELETE", `/api/mcp/servers/${absent.id}`)
    const admin = await lab.gateway.operator.createKey("admin", { scopes: ["admin", "manage"] })
    const byKey = await Http.send(lab.gateway.url, {
      path: "/api/mcp/servers", headers: { authorization: `Bearer ${admin.key}` }, body: { name: "bykey", transport: "stdio", command: "true" }
    })
    expect([byKey.status, byKey.text]).toEqual([403, expect.stringContaining("LOCAL_ONLY")])
  })
})

describe("records", () => {
  it("show no credential, keep one that comes back masked, and refuse what fits no transport", async () => {
    const { headers, url } = await lab.view(web)
    expect([headers, url]).toEqual([{ Authorization: "[redacted]" }, `${lab.tools.url}?[redacted]`])
    const { server } = await lab.gateway.operator.call<{ server: { description: string } }>("PATCH", `/api/mcp/servers/${web}`, { description: "the web", headers: { Authorization: "[redacted]" }, url: `${lab.tools.url}?[redacted]` })
    expect(server.description).toBe("the web")
    await lab.stands(web, "connected")
    for (const [body, field] of [
      [{ name: "Web", url: lab.tools.url }, "name"], [{ name: "a__b", url: lab.tools.url }, "name"], [{ name: "x" }, "url"], [{ name: "x", url: "ftp://x" }, "url"],
      [{ name: "x", url: lab.tools.url, command: "ls" }, "command"], [{ name: "x", url: lab.tools.url, headers: { Host: "x" } }, "headers.Host"],
      [{ name: "x", url: lab.tools.url, headers: { a: "b\r\nc: d" } }, "headers.a"], [{ name: "x", url: lab.tools.url, scopes: ["no:such"] }, "scopes.0"],
      [{ name: "x", transport: "stdio", command: "ls", env: { "A=B": "x" } }, "env.A=B"], [{ name: "x", url: lab.tools.url, timeoutMs: 5 }, "timeoutMs"]
    ] as const) {
      const reply = await raw("POST", "/api/mcp/servers", body)
      expect([reply.status, reply.text], JSON.stringify(body)).toEqual([400, expect.stringContaining(`"field":"${field}"`)])
    }
    expect((await raw("POST", "/api/mcp/servers", { name: "web", url: lab.tools.url })).status).toBe(409)
    const { text } = await raw("GET", "/api/compliance/audit-log?limit=500")
    expect(["created", "updated", "deleted", "refreshed"].filter((action) => !text.includes(`mcp_server.${action}`))).toEqual([])
  })

  it("whose name another one has is refused, new or changed, in words without the store's", async () => {
    const other = await lab.add({ name: "other", url: lab.tools.url, enabled: false })
    for (const reply of [await raw("POST", "/api/mcp/servers", { name: "other", url: lab.tools.url }), await raw("PATCH", `/api/mcp/servers/${other.id}`, { name: "web" })]) {
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([409, { error: { message: "Another record has this name", type: "conflict", code: "conflict", details: [{ field: "name", message: "Taken" }] } }])
    }
    await raw("DELETE", `/api/mcp/servers/${other.id}`)
  })

  it("no credential was logged, answered or audited", async () => {
    const pages = await Promise.all(["/api/mcp/servers", "/api/mcp/audit?limit=500", "/api/compliance/audit-log?limit=500"].map((at) => raw("GET", at)))
    expect([lab.gateway.output(), ...pages.map(({ text }) => text)].filter((text) => text.includes(CANARY))).toEqual([])
    // The server did get it.
    expect(lab.tools.heard.some(({ headers }) => headers.authorization === `Bearer ${CANARY}`)).toBe(true)
  })
})
