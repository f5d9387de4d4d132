/** One session with the gateway's own MCP server, as any client has it: opened, asked, ended. */
import { ask, Problem, problemOf } from "../../api/call.ts"
import { FrameSplitter } from "../play/frames.ts"

const PATH = "/api/mcp/stream"
const VERSION = "2025-06-18"

type Member = Readonly<Record<string, unknown>>

const isMember = (value: unknown): value is Member => typeof value === "object" && value !== null && !Array.isArray(value)
const text = (value: unknown): string => typeof value === "string" ? value : ""

export interface Tool {
  readonly name: string
  readonly title: string
  readonly schema: Member
}

export interface CallResult {
  readonly isError: boolean
  readonly text: string
  readonly tookMs: number
}

interface Session {
  readonly request: (method: string, params: Member) => Promise<Member>
}

/** The frame that answers; it comes alone as JSON, or as an event among others. */
const answerIn = async (reply: Response): Promise<Member> => {
  const body = await reply.text()
  const type = reply.headers.get("content-type") ?? ""
  if (!reply.ok) {
    const said: unknown = (() => {
      try {
        return JSON.parse(body)
      } catch {
        return null
      }
    })()
    throw problemOf(reply, said)
  }
  const splitter = new FrameSplitter(type)
  const frames = type.includes("event-stream") ? [...splitter.push(body), ...splitter.end()].map(({ value }) => value) : [JSON.parse(body) as unknown]
  const answer = frames.find((frame): frame is Member => isMember(frame) && ("result" in frame || "error" in frame))
  if (answer === undefined) throw new Problem("The MCP server sent no answer.", reply.status, "mcp")
  if (isMember(answer["error"])) throw new Problem(text(answer["error"]["message"]) || "The MCP server refused the call.", reply.status, String(answer["error"]["code"] ?? "mcp"))
  return isMember(answer["result"]) ? answer["result"] : {}
}

const withSession = async <A>(use: (session: Session) => Promise<A>): Promise<A> => {
  let id: string | null = null
  let count = 0
  const post = (frame: Member): Promise<Response> => ask(PATH, {
    method: "POST", body: JSON.stringify({ jsonrpc: "2.0", ...frame }),
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...(id === null ? {} : { "mcp-session-id": id, "mcp-protocol-version": VERSION }) }
  })
  const opened = await post({ id: ++count, method: "initialize", params: { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: "gateway dashboard", version: "1" } } })
  id = opened.headers.get("mcp-session-id")
  await answerIn(opened)
  try {
    await post({ method: "notifications/initialized" })
    return await use({ request: async (method, params) => answerIn(await post({ id: ++count, method, params })) })
  } finally {
    if (id !== null) void ask(PATH, { method: "DELETE", headers: { "mcp-session-id": id } }).catch(() => undefined)
  }
}

/** Every tool with the schema of its arguments. */
export const listTools = (): Promise<ReadonlyArray<Tool>> => withSession(async ({ request }) => {
  const tools: Array<Tool> = []
  let cursor: string | null = null
  do {
    const page: Member = await request("tools/list", cursor === null ? {} : { cursor })
    for (const tool of Array.isArray(page["tools"]) ? page["tools"].filter(isMember) : []) tools.push({ name: text(tool["name"]), title: text(tool["title"]), schema: isMember(tool["inputSchema"]) ? tool["inputSchema"] : {} })
    cursor = text(page["nextCursor"]) || null
  } while (cursor !== null)
  return tools
})

export const callTool = (name: string, args: Member): Promise<CallResult> => withSession(async ({ request }) => {
  const begun = performance.now()
  const result = await request("tools/call", { name, arguments: args })
  const parts = Array.isArray(result["content"]) ? result["content"].filter(isMember) : []
  return {
    isError: result["isError"] === true, tookMs: performance.now() - begun,
    text: parts.map((part) => text(part["text"]) || JSON.stringify(part, null, 2)).join("\n")
  }
})

/** Arguments to begin with: what the schema demands, empty. */
export const draftOf = (schema: Member): string => {
  const properties = isMember(schema["properties"]) ? schema["properties"] : {}
  const required = Array.isArray(schema["required"]) ? schema["required"].map(text) : []
  const empty = (property: unknown): unknown => {
    const type = isMember(property) ? property["type"] : undefined
    return type === "number" || type === "integer" ? 0 : type === "boolean" ? false : type === "array" ? [] : type === "object" ? {} : ""
  }
  return JSON.stringify(Object.fromEntries(required.map((name) => [name, empty(properties[name])])), null, 2)
}
