/**
 * Streamable HTTP through the gateway's own way out: the guard checks every address, that of a redirect too. A redirect is followed
 * within its origin only, so that credentials stay where the operator sent them.
 */
import * as Effect from "effect/Effect"
import { headerOf, type Upstream, type UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import type { HttpAddress } from "#src/features/mcpServers/ports/McpServer.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { version } from "#schemas/version.ts"
import * as EventData from "#src/wire/eventData.ts"
import { failure, type McpFailure, type Message, MESSAGE_MAX, messagesOf } from "./messages.ts"
import type { Transport } from "./Peer.ts"

const CONNECT_MS = 10_000
/** Redirects of one call. */
const REDIRECTS_MAX = 3
/** Bytes of an error that are read. */
const ERROR_MAX = 16 * 1024
const END_MS = 2_000

export interface Options {
  readonly address: HttpAddress
  readonly upstream: Upstream["Service"]
  readonly mask: (text: string) => string
  /** For one call with its answer, ms. */
  readonly timeoutMs: number
}

interface Sent {
  readonly method: "GET" | "POST" | "DELETE"
  readonly url: URL
  readonly body: string | null
}

/** Null: it was answered. */
type Ended = { readonly to: URL } | null

const ofUpstream = ({ message, reason }: UpstreamFailure, mask: (text: string) => string): McpFailure =>
  failure(reason === "blocked-url" ? "blocked" : reason === "timeout" ? "timeout" : reason === "reset" || reason === "truncated" ? "closed" : "unreachable", mask(message))

const isRedirect = (status: number): boolean => StatusReason.of(status) === "redirect"

export const make = ({ address, mask, timeoutMs, upstream }: Options, heard: (message: Message) => void): Transport => {
  let session: string | null = null
  let agreed: string | null = null

  const headersOf = ({ body, method }: Sent): ReadonlyArray<string> => [
    ...Object.entries(address.headers).flatMap(([name, value]) => [name.toLowerCase(), value]),
    ...(body === null ? [] : ["content-type", "application/json"]),
    ...(method === "DELETE" ? [] : ["accept", method === "GET" ? "text/event-stream" : "application/json, text/event-stream"]),
    "accept-encoding", "identity", "user-agent", `gateway/${version}`,
    ...(session === null ? [] : ["mcp-session-id", session]),
    ...(agreed === null ? [] : ["mcp-protocol-version", agreed])
  ]

  const take = (text: string): boolean => {
    const messages = messagesOf(mask(text))
    if (messages === null) return false
    for (const message of messages) heard(message)
    return true
  }

  const refusal = (status: number, body: string): McpFailure => {
    const reason = StatusReason.of(status)
    if (reason === "not-found" && session !== null) return failure("session_lost", "The server no longer knows the session")
    const [said] = messagesOf(mask(body)) ?? []
    const words = said?.error === undefined ? "" : `: ${said.error.message}`
    return failure(reason === "credential" || reason === "forbidden" ? "refused" : StatusReason.isPassing(status) ? "unreachable" : "protocol", `The server answered HTTP ${status}${words}`)
  }

  const exchange = (sent: Sent): Effect.Effect<Ended, McpFailure> => Effect.callback((resume) => {
    let status = 0
    let isEvents = false
    let bytes = 0
    let chunks: Array<Buffer> = []
    let to: URL | null = null
    let over = false
    const end = (result: Effect.Effect<Ended, McpFailure>): void => {
      if (over) return
      over = true
      resume(result)
    }
    const stop = (problem: McpFailure): void => {
      call.abort()
      end(Effect.fail(problem))
    }
    // The size of one event, not of a stream that may last for hours.
    const events = EventData.scanner((data) => {
      bytes = 0
      if (data.length > MESSAGE_MAX) stop(failure("too_large", `The server sent a message of more than ${MESSAGE_MAX} bytes`))
      else if (!take(data.toString("utf8"))) stop(failure("protocol", "The server sent an event that is no JSON-RPC message"))
    })
    const total = sent.method === "GET" ? 0 : timeoutMs
    const call = upstream.dispatch({
      origin: sent.url.origin, path: sent.url.pathname + sent.url.search, method: sent.method, headers: headersOf(sent), body: sent.body, proxy: null,
      timeouts: { connect: CONNECT_MS, headers: timeoutMs, firstEvent: 0, idle: 0, total }
    }, {
      onHead: (code, headers) => {
        status = code
        const named = headerOf(headers, "mcp-session-id")
        if (named !== undefined && StatusReason.isOk(code)) session = named
        isEvents = (headerOf(headers, "content-type") ?? "").startsWith("text/event-stream")
        if (isRedirect(code)) to = URL.parse(headerOf(headers, "location") ?? "", sent.url.href)
      },
      onData: (chunk) => {
        if (over) return
        bytes += chunk.byteLength
        if (bytes > (StatusReason.isOk(status) ? MESSAGE_MAX : ERROR_MAX)) {
          stop(StatusReason.isOk(status) ? failure("too_large", `The server sent a message of more than ${MESSAGE_MAX} bytes`) : refusal(status, ""))
        } else if (StatusReason.isOk(status) && isEvents) {
          if (!events.push(Buffer.from(chunk))) stop(failure("too_large", "The server sent an event that is too large"))
        } else chunks.push(Buffer.from(chunk))
        call.useful()
      },
      onEnd: () => {
        if (over) return
        const text = Buffer.concat(chunks).toString("utf8")
        chunks = []
        if (isRedirect(status)) {
          end(to === null ? Effect.fail(failure("protocol", "The server redirects nowhere")) : Effect.succeed({ to }))
        } else if (!StatusReason.isOk(status)) {
          end(Effect.fail(refusal(status, text)))
        } else {
          if (isEvents) events.flush()
          if (!isEvents && text.trim() !== "" && !take(text)) end(Effect.fail(failure("protocol", "The server's answer is no JSON-RPC message")))
          else end(Effect.succeed(null))
        }
      },
      onFailure: (problem) => end(Effect.fail(ofUpstream(problem, mask)))
    })
    return Effect.sync(() => {
      over = true
      call.abort()
    })
  })

  const follow = (sent: Sent, left: number): Effect.Effect<void, McpFailure> => Effect.gen(function*() {
    const ended = yield* exchange(sent)
    if (ended === null) return
    if (ended.to.origin !== sent.url.origin) return yield* Effect.fail(failure("blocked", `The server redirects to ${ended.to.origin}; only redirects within its origin are followed`))
    if (left === 0) return yield* Effect.fail(failure("protocol", `The server redirects more than ${REDIRECTS_MAX} times`))
    return yield* follow({ ...sent, url: ended.to }, left - 1)
  })

  const url = new URL(address.url)
  return {
    answersWhileSending: true,
    send: (message) => follow({ method: "POST", url, body: JSON.stringify(message) }, REDIRECTS_MAX),
    // A server without such a stream refuses it, mostly with 405.
    listen: Effect.suspend(() => follow({ method: "GET", url, body: null }, REDIRECTS_MAX)),
    lost: Effect.never,
    agreed: (named) => {
      agreed = named
    },
    end: Effect.suspend(() => session === null ? Effect.void : Effect.ignore(Effect.timeout(follow({ method: "DELETE", url, body: null }, 0), END_MS)))
  }
}
