/** The port AgentCalls over the direct route of chat completions. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as StatusReason from "#schemas/statusReason.ts"
import { type AgentAnswer, AgentCalls, type AgentQuestion } from "#src/inference/ports/AgentCalls.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { FramedExchange, type Reply } from "#src/platform/server/sockets/FramedExchange.ts"
import * as EventData from "#src/wire/eventData.ts"
import * as Json from "#src/wire/json/json.ts"

const path = "/v1/chat/completions"

/** Of the client's connection, or of its own request: they say nothing about the one that is made of it. */
const dropped: ReadonlySet<string> = new Set([
  "connection", "upgrade", "keep-alive", "content-type", "content-length", "content-encoding", "transfer-encoding", "accept", "accept-encoding",
  "idempotency-key", "x-request-id", "expect", "te", "host", "cookie", "origin", "referer", "last-event-id", "a2a-version", "a2a-extensions"
])

const headersOf = ({ head, requestId }: AgentQuestion): ReadonlyArray<string> => {
  const headers = ["content-type", "application/json", "x-request-id", requestId]
  for (let i = 0; i < head.headers.length; i += 2) {
    const name = head.headers[i]!
    if (!dropped.has(name) && !name.startsWith("sec-")) headers.push(name, head.headers[i + 1]!)
  }
  return headers
}

const lowerCased = (flat: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  for (let i = 0; i < flat.length; i += 2) headers[flat[i]!.toLowerCase()] = flat[i + 1]!
  return headers
}

const broken = { code: "stream_interrupted", message: "The answer broke off." }

const errorIn = (text: string): { readonly code: string; readonly message: string } | null => {
  const body = Json.parseRecord(text)
  const error = body === null ? null : Json.recordAt(body, "error")
  return error === null ? null : {
    code: typeof error["code"] === "string" ? error["code"] : "internal_server_error",
    message: typeof error["message"] === "string" ? error["message"] : "The request failed."
  }
}

/** The text of one chunk of a stream. */
const textIn = (chunk: string): string => {
  const choices = Json.parseRecord(chunk)?.["choices"]
  const [choice] = Array.isArray(choices) ? choices as ReadonlyArray<unknown> : []
  const delta = Json.isRecord(choice) ? Json.recordAt(choice, "delta") : null
  return typeof delta?.["content"] === "string" ? delta["content"] : ""
}

/** The text of a whole answer, where one is given to a request for a stream. */
const wholeText = (body: string): string => {
  const choices = Json.parseRecord(body)?.["choices"]
  const [choice] = Array.isArray(choices) ? choices as ReadonlyArray<unknown> : []
  const message = Json.isRecord(choice) ? Json.recordAt(choice, "message") : null
  return typeof message?.["content"] === "string" ? message["content"] : ""
}

const make = Effect.gen(function*() {
  const frontEnd = yield* FrontEnd
  return AgentCalls.of({
    ask: (question) => Effect.callback<AgentAnswer>((resume) => {
      let answer: AgentAnswer = { status: 502, headers: {}, error: broken }
      let failed: AgentAnswer["error"] = null
      const over = (): void => resume(Effect.succeed(failed === null ? answer : { ...answer, error: failed }))
      const events = EventData.scanner((data) => {
        const chunk = data.toString("utf8")
        if (chunk.startsWith("{\"error\":")) failed = errorIn(chunk)
        else {
          const text = textIn(chunk)
          if (text !== "") question.onText(text)
        }
      })
      const reply: Reply = {
        start: (status, headers) => {
          answer = { status, headers: lowerCased(headers), error: null }
        },
        bytes: (chunk) => {
          if (!events.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) failed = broken
          return true
        },
        end: () => {
          events.flush()
          over()
        },
        whole: (status, headers, body) => {
          const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8")
          const isOk = StatusReason.isOk(status)
          answer = { status, headers: lowerCased(headers), error: isOk ? null : errorIn(text) ?? { code: "internal_server_error", message: `The request ended with status ${status}.` } }
          const said = isOk ? wholeText(text) : ""
          if (said !== "") question.onText(said)
          over()
        },
        cut: () => {
          events.close()
          failed ??= broken
          over()
        }
      }
      const { peerAddress, remoteAddress } = question.head
      const exchange = new FramedExchange(
        { method: "POST", path, query: "", headers: headersOf(question), peerAddress, remoteAddress },
        Buffer.from(JSON.stringify({ ...question.body, stream: true })), reply, frontEnd.heldBodies, () => 0
      )
      frontEnd.serveFramed(exchange)
      return Effect.sync(() => exchange.abort("client-closed"))
    })
  })
})

export const layer = Layer.effect(AgentCalls, make)
