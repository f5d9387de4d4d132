/** The description of POST /a2a, whose frames are the protocol's own. */
const request = {
  type: "object",
  required: ["jsonrpc", "method"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: { type: ["string", "integer", "null"] },
    method: {
      type: "string",
      description: "`message/send`, `message/stream`, `tasks/get`, `tasks/cancel`, `tasks/resubscribe`, `tasks/pushNotificationConfig/*`; of version 1.0 `SendMessage`, `SendStreamingMessage`, `GetTask`, `ListTasks`, `CancelTask`, `SubscribeToTask` and the methods of push notifications."
    },
    params: { type: "object" }
  }
} as const

const reply = {
  type: "object",
  required: ["jsonrpc", "id"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: { type: ["string", "integer", "null"] },
    result: {},
    error: { type: "object", required: ["code", "message"], properties: { code: { type: "integer" }, message: { type: "string" }, data: {} } }
  }
} as const

const task = { id: "3f0b7c9e-6c1d-4a52-9a0e-5b7c1d2e3f40", state: "completed" }

export const describe = (operation: Record<string, unknown>): Record<string, unknown> => ({
  ...operation,
  description: "Send a JSON-RPC 2.0 frame. `{skill, messages}` is the gateway's own dialect; a `message` with parts is the Agent2Agent protocol, version 0.3 or 1.0 (header `A2A-Version`). Methods that stream answer with `text/event-stream`. Errors of a request come with status 200 and a JSON-RPC error",
  requestBody: {
    required: true,
    content: { "application/json": { schema: request, example: { jsonrpc: "2.0", id: 1, method: "message/send", params: { skill: "smart-routing", messages: [{ role: "user", content: "Hello" }], metadata: { model: "openai/gpt-4o-mini" } } } } }
  },
  responses: {
    ...operation["responses"] as Record<string, unknown>,
    200: {
      description: "A JSON-RPC reply, or the events of a stream.",
      content: {
        "application/json": { schema: reply, example: { jsonrpc: "2.0", id: 1, result: { task, artifacts: [{ type: "text", content: "Hello!" }], metadata: {} } } },
        "text/event-stream": { schema: { type: "string" }, example: `data: ${JSON.stringify({ jsonrpc: "2.0", method: "message/stream", params: { task, chunk: { type: "text", content: "Hello" } } })}\n\n` }
      }
    }
  }
})
