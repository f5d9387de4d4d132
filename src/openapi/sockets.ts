/** The paths that take WebSockets; what passes over them is said in docs/websockets.md. */
import { errors, type Operation, ref } from "./operation.ts"

const upgrade = (id: string, summary: string, description: string, plain: Operation["responses"] = {}): Operation => ({
  id,
  summary,
  description,
  responses: {
    ...plain,
    101: { description: "The connection is a WebSocket from here on." },
    ...errors([400, 401, 403], "ChatError"),
    426: { description: "The request did not ask for a WebSocket, or the transport is switched off.", content: { "application/json": { schema: ref("ChatError") } } }
  }
})

const responses = (id: string, where: string): Operation =>
  upgrade(id, `Responses over WebSocket${where}`, "Each `response.create` frame is a request in the responses format; each event of its stream is a frame.")

export const sockets: Readonly<Record<string, Operation>> = {
  "GET /v1/ws": upgrade("chat.socket", "Chat completions over WebSocket", "Frames with ids carry requests and answers, many at a time. With `?handshake=1` a plain GET shows what frames look like.", {
    200: {
      description: "What the handshake would say (`?handshake=1`).",
      content: { "application/json": { schema: { type: "object" }, example: { ok: true, path: "/v1/ws", wsAuth: false, authenticated: false, authType: "none" } } }
    }
  }),
  "GET /v1/responses": responses("responses.socket", ""),
  "GET /responses": responses("responses.socketRoot", ", without a prefix"),
  "GET /api/v1/responses": responses("responses.socketApi", ", under /api"),
  "GET /api/live": upgrade("telemetry.live", "Live events over WebSocket", "What requests of all nodes do right now, for signed-in sessions, access tokens and keys that manage.")
}
