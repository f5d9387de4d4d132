/**
 * One socket of the responses format: each `response.create` frame is a request to POST /v1/responses, and each event of its stream
 * is one frame. Requests of a socket are served one after the other, as the vendor does.
 *
 * Facts of the format: developers.openai.com, guide "WebSocket mode".
 */
import type { AbortReason } from "#src/platform/server/Exchange.ts"
import { FramedExchange, type FramedHead, type Reply } from "#src/platform/server/sockets/FramedExchange.ts"
import type { ServerSocket, SocketHandler } from "#src/platform/server/sockets/ServerSocket.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"
import * as ResponseObject from "#src/wire/responses/responseObject.ts"
import type { SseScanner } from "#src/wire/stream/SseScanner.ts"
import * as EventData from "#src/wire/eventData.ts"
import type { SocketServices } from "./RequestSocket.ts"
import * as SocketHistory from "./SocketHistory.ts"

export interface ResponsesServices extends SocketServices {
  /** Makes the unique part of response ids. */
  readonly makeResponseId: () => string
  /** ms since the epoch. */
  readonly now: () => number
}

/** Requests that wait for the one in flight. */
export const MOST_WAITING = 16

/** Members of a frame that are none of a request over HTTP. */
const ofTheFrame = ["type", "event_id", "generate", "background", "stream", "stream_options", "stream_id"]
/** Where a client may put the request inside the frame. */
const nests = ["response", "body", "payload"]

interface Failure {
  readonly code: string
  readonly message: string
}

const failures = {
  invalid_json: "A frame is a JSON object in a text message.",
  unsupported_payload: "A frame is a text message, not bytes.",
  unsupported_type: "A frame has the type response.create or response.cancel.",
  invalid_input: "The input is a text or a list of items.",
  too_many_requests: `At most ${MOST_WAITING} requests wait on one socket: wait for one to end.`,
  response_cancelled: "The client cancelled the response.",
  response_cancel_not_active: "No response is being made on this socket.",
  upstream_websocket_error: "The answer broke off.",
  serialization_failed: "An event of the answer is too long for a frame."
} as const

const failedFrame = ({ code, message }: Failure, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ type: "response.failed", ...more, response: { id: null, status: "failed", error: { code, message } } })

/** A request that is read but not served yet. */
interface Turn {
  readonly body: Buffer
  /** Items of the whole input. */
  readonly input: Buffer
  /** Id of the response whose items stand in the input; null where the body says what it goes on with, or nothing. */
  readonly continues: string | null
  /** It only prepares the next one (`generate: false`). */
  readonly isWarmUp: boolean
}

export class ResponsesSocket implements SocketHandler {
  private readonly socket: ServerSocket
  private readonly head: FramedHead
  private readonly services: ResponsesServices
  private readonly history: SocketHistory.SocketHistory
  private readonly waiting: Array<{ readonly frame: Members.Members; readonly release: () => void }> = []
  private current: FramedExchange | null = null
  private leaving = false

  constructor(socket: ServerSocket, head: FramedHead, services: ResponsesServices) {
    this.socket = socket
    this.head = head
    this.services = services
    this.history = new SocketHistory.SocketHistory(services.held)
  }

  message(data: Buffer, isBinary: boolean): void {
    if (isBinary) return this.fail("unsupported_payload")
    const frame = Members.of(data)
    if (frame === null) return this.fail("invalid_json")
    const type = Members.text(frame.get("type"))
    if (type === "response.cancel") return this.cancel()
    // The vendor's own client tells that it has seen an answer.
    if (type === "response.processed") return
    if (type !== "response.create") return this.fail("unsupported_type")
    const release = this.waiting.length >= MOST_WAITING ? null : this.services.held.hold(data.length)
    if (release === null) return this.fail("too_many_requests")
    this.waiting.push({ frame, release })
    this.next()
  }

  drained(): void {
    this.current?.drained()
  }

  leave(): void {
    this.leaving = true
    this.closeIfIdle()
  }

  closed(reason: AbortReason): void {
    for (const { release } of this.waiting.splice(0)) release()
    this.history.forget()
    const { current } = this
    this.current = null
    current?.abort(reason)
  }

  private next(): void {
    while (this.current === null && !this.socket.closed) {
      const first = this.waiting.shift()
      if (first === undefined) return this.closeIfIdle()
      first.release()
      this.create(first.frame)
    }
  }

  private create(frame: Members.Members): void {
    const turn = this.turnOf(new Map(frame))
    if (typeof turn === "string") return this.fail(turn)
    if (turn.isWarmUp) return this.warmUp(turn)
    const reply = new EventReply(this.socket, () => this.done(), (response) => this.history.note(turn.input, response))
    const head = turn.continues === null ? this.head : { ...this.head, continues: { previous: turn.continues } }
    const exchange = new FramedExchange(head, turn.body, reply, this.services.held, () => this.socket.pendingBytes)
    this.current = exchange
    this.services.serve(exchange)
  }

  /** The body of the request over HTTP, with what the newest response was made of. */
  private turnOf(frame: Map<string, Buffer>): Turn | keyof typeof failures {
    const nested = nests.map((name) => frame.get(name)).find((value) => value?.[0] === 0x7b)
    const members = nested === undefined ? frame : new Map(Members.of(nested) ?? [])
    const isWarmUp = members.get("generate")?.toString("latin1") === "false"
    for (const name of ofTheFrame) members.delete(name)
    const input = ItemTexts.ofInput(members.get("input"))
    if (input === null) return "invalid_input"
    const previous = Members.text(members.get("previous_response_id"))
    const before = previous === null ? null : this.history.before(previous)
    const whole = before === null ? input : ItemTexts.joined(before, input)
    if (before !== null) {
      members.delete("previous_response_id")
      members.set("input", ItemTexts.list(whole))
    }
    return { body: Members.write([...members, ["stream", "true"]]), input: whole, continues: before === null ? null : previous, isWarmUp }
  }

  /** Nothing is asked upstream; the input is kept for the next request. */
  private warmUp({ body, continues, input }: Turn): void {
    const request = Json.parseRecord(body.toString("utf8"))
    if (request === null) return this.fail("invalid_json")
    const id = `resp_${this.services.makeResponseId()}`
    const seconds = Math.floor(this.services.now() / 1000)
    const model = typeof request["model"] === "string" ? request["model"] : ""
    const frame = ResponseObject.frameOf(id, { id, model, createdAt: seconds, serviceTier: null, systemFingerprint: null }, model, seconds,
      continues === null ? request : { ...request, previous_response_id: continues })
    const standing = { error: null, incomplete: null, output: [], usage: null }
    const started = ResponseObject.responseJson(frame, { ...standing, status: "in_progress", completedAt: null })
    const completed = ResponseObject.responseJson(frame, { ...standing, status: "completed", completedAt: seconds, usage: noUsage })
    this.socket.send(`{"type":"response.created","sequence_number":0,"response":${started}}`)
    this.socket.send(`{"type":"response.completed","sequence_number":1,"response":${completed}}`)
    this.history.keep(id, input)
  }

  private cancel(): void {
    const { current } = this
    if (current === null) return this.fail("response_cancel_not_active")
    this.current = null
    current.abort("client-closed")
    this.fail("response_cancelled")
    this.next()
  }

  private done(): void {
    this.current = null
    this.next()
  }

  private fail(code: keyof typeof failures): void {
    this.socket.send(failedFrame({ code, message: failures[code] }))
  }

  private closeIfIdle(): void {
    if (this.leaving && this.current === null && this.waiting.length === 0) this.socket.close(1001, "server is shutting down")
  }
}

const noUsage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

const finished = /"type":\s*"response\.(?:completed|incomplete)"/
/** The type stands among the first bytes of an event. */
const TYPE_WITHIN = 256

/** The answer to one request: each event is one frame. */
class EventReply implements Reply {
  private readonly socket: ServerSocket
  private readonly over: () => void
  private readonly completed: (response: Buffer) => void
  private events: SseScanner | null = null
  private taken = true

  constructor(socket: ServerSocket, over: () => void, completed: (response: Buffer) => void) {
    this.socket = socket
    this.over = over
    this.completed = completed
  }

  start(): void {
    this.events = EventData.scanner((data) => {
      this.taken = this.socket.send(data)
      if (!finished.test(data.toString("latin1", 0, TYPE_WITHIN))) return
      const response = Members.of(data)?.get("response")
      if (response !== undefined) this.completed(response)
    })
  }

  bytes(chunk: Uint8Array): boolean {
    this.taken = true
    if (this.events?.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)) === false) {
      this.events = null
      this.socket.send(failedFrame({ code: "serialization_failed", message: failures.serialization_failed }))
      this.socket.close(1011, "serialization_failed")
      return false
    }
    return this.taken
  }

  end(): void {
    this.events?.flush()
    this.over()
  }

  whole(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8")
    const said = Json.parseRecord(text)
    const error = said === null ? null : Json.recordAt(said, "error")
    const code = error?.["code"] ?? error?.["type"]
    const message = error?.["message"]
    const retryAfter = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "retry-after")
    this.finish(failedFrame({
      code: typeof code === "string" ? code : "responses_ws_prepare_failed", message: typeof message === "string" ? message : "The request failed."
    }, { status, ...(retryAfter === -1 ? {} : { headers: { "retry-after": headers[retryAfter + 1] } }) }))
  }

  cut(): void {
    this.events?.close()
    this.finish(failedFrame({ code: "upstream_websocket_error", message: failures.upstream_websocket_error }))
  }

  private finish(frame: string): void {
    this.socket.send(frame)
    this.over()
  }
}
