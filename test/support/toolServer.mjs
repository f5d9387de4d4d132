/** The tools of the servers for tests; run as a program, it serves them over standard input and output. */
import { spawn } from "node:child_process"
import { setTimeout as delay } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"

const anything = { type: "object", properties: {} }
const tools = [
  {
    name: "echo", title: "Echo", description: "Says what it is told",
    inputSchema: {
      $schema: "http://json-schema.org/draft-07/schema#", type: "object", additionalProperties: false, required: ["text"],
      properties: { text: { type: "string", minLength: 1, "x-vendor": { deep: [1, 2] } }, mode: { oneOf: [{ const: "a" }, { const: "b" }] } }
    },
    annotations: { readOnlyHint: true }
  },
  { name: "sum", description: "Adds two numbers", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] } },
  { name: "picture", description: "An image", inputSchema: anything },
  { name: "steps", description: "Tells its progress", inputSchema: anything },
  { name: "held", description: "Never answers", inputSchema: anything },
  { name: "refuses", description: "Answers with an error of its own", inputSchema: anything },
  { name: "breaks", description: "Fails by the protocol", inputSchema: anything },
  { name: "large", description: "Answers more than anybody reads", inputSchema: anything },
  { name: "environment", description: "Says the variables that it has", inputSchema: anything },
  { name: "exits", description: "Ends the program", inputSchema: anything },
  { name: "child", description: "Starts a program of its own, and says its process id", inputSchema: anything },
  { name: "with.dots/and more", description: "A name that models do not take", inputSchema: anything },
  { name: "with_dots_and_more", description: "A name that the one before it takes", inputSchema: anything }
]

const text = (value) => ({ content: [{ type: "text", text: value }] })

/** Registers the handlers; `more` names tools that are offered beside the fixed ones. */
export const toolHandlers = (server, more = new Set()) => {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...tools, ...Array.from(more, (name) => ({ name, description: `More: ${name}`, inputSchema: anything }))]
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { _meta, arguments: args = {}, name } }, { requestInfo, sendNotification, signal }) => {
    switch (name) {
      case "echo":
        return text(`You said: ${args.text}`)
      case "sum":
        return { ...text(String(args.a + args.b)), structuredContent: { sum: args.a + args.b } }
      case "picture":
        return { content: [{ type: "image", data: Buffer.from("pixels").toString("base64"), mimeType: "image/png" }] }
      case "steps":
        for (let step = 1; step <= 3; step++) {
          await sendNotification({ method: "notifications/progress", params: { progressToken: _meta?.progressToken, progress: step, total: 3, message: `step ${step}` } })
        }
        return text("done")
      case "held":
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve, { once: true })
        })
        more.add("was_cancelled")
        return text("late")
      case "refuses":
        return { ...text("I do not want to"), isError: true }
      case "breaks":
        throw new Error(`it broke with ${requestInfo?.headers?.authorization ?? process.env.TOOL_TOKEN ?? "nothing"}`)
      case "large":
        return text("x".repeat(3 * 1024 * 1024))
      case "environment":
        return text(JSON.stringify({ ...process.env, sent: requestInfo?.headers ?? {} }))
      case "exits":
        process.exit(3)
        break
      case "child":
        return text(String(spawn("sleep", ["600"], { stdio: "ignore" }).pid))
      default:
        await delay(0)
        return text(`${name} was called`)
    }
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const server = new Server({ name: "program", version: "0.0.1" }, { capabilities: { tools: {} } })
  toolHandlers(server)
  process.stdout.write("this line is no message\n")
  await server.connect(new StdioServerTransport())
}
