/** An MCP server with tools for tests, by the official SDK over streamable HTTP on loopback. */
import * as Crypto from "node:crypto"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { toolHandlers } from "./toolServer.mjs"

export interface Heard {
  readonly method: string
  readonly headers: http.IncomingHttpHeaders
  /** JSON-RPC method of the body. */
  readonly rpc: string | null
  readonly params: Record<string, unknown>
}

export interface ToolServer {
  readonly url: string
  /** What came in, oldest first. */
  readonly heard: Array<Heard>
  /** Offered from now on; clients are notified. */
  readonly offer: (...names: ReadonlyArray<string>) => Promise<void>
  /** Forgets every session. */
  readonly forget: () => void
  /** Answers every request with this status from now on; null = as usual. */
  readonly answerWith: (status: number | null, headers?: Record<string, string>) => void
  /** Cuts every connection and refuses new ones. */
  readonly kill: () => Promise<void>
  /** Listens again, on the same port. */
  readonly revive: () => Promise<void>
  readonly close: () => Promise<void>
}

type Transport = Parameters<Server["connect"]>[0]

export const startToolServer = async (options: { readonly expects?: string } = {}): Promise<ToolServer> => {
  const heard: Array<Heard> = []
  const sessions = new Map<string, { readonly server: Server; readonly transport: StreamableHTTPServerTransport }>()
  const more = new Set<string>()
  let status: number | null = null
  let extra: Record<string, string> = {}

  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new Server({ name: "tools", version: "1.2.3" }, { capabilities: { tools: { listChanged: true } } })
    toolHandlers(server, more)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => Crypto.randomUUID(),
      onsessioninitialized: (id) => {
        sessions.set(id, { server, transport })
      }
    })
    await server.connect(transport as Transport)
    return transport
  }

  const listener: http.RequestListener = (request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8")
      const body = text === "" ? undefined : JSON.parse(text) as { method?: string; params?: Record<string, unknown> }
      heard.push({ method: request.method ?? "", headers: request.headers, rpc: body?.method ?? null, params: body?.params ?? {} })
      if (status !== null) {
        response.writeHead(status, extra).end()
        return
      }
      if (options.expects !== undefined && request.headers.authorization !== options.expects) {
        response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32001, message: `wrong credential ${request.headers.authorization ?? ""}` } }))
        return
      }
      const id = request.headers["mcp-session-id"]
      const known = typeof id === "string" ? sessions.get(id) : undefined
      if (id !== undefined && known === undefined) {
        response.writeHead(404).end()
        return
      }
      void (async () => {
        const transport = known?.transport ?? await open()
        await transport.handleRequest(request, response, body)
      })()
    })
  }

  let server = http.createServer(listener)
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const stop = () => new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    heard,
    offer: async (...names) => {
      more.clear()
      for (const name of names) more.add(name)
      for (const { server: one } of sessions.values()) await one.sendToolListChanged()
    },
    forget: () => sessions.clear(),
    answerWith: (next, headers = {}) => {
      status = next
      extra = headers
    },
    kill: stop,
    revive: async () => {
      sessions.clear()
      server = http.createServer(listener)
      await listen(port)
    },
    close: stop
  }
}
