/**
 * One socket of /v1/ws: chat-completions requests in frames, many at a time, each with an id of the client's choice. A request is
 * served by the route of POST /v1/chat/completions; its answer leaves as frames.
 */
import type { AbortReason } from "#src/platform/server/Exchange.ts"
import { FramedExchange, type FramedHead, type Reply } from "#src/platform/server/sockets/FramedExchange.ts"
import type { ServerSocket, SocketHandler } from "#src/platform/server/sockets/ServerSocket.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import type { SseScanner } from "#src/wire/stream/SseScanner.ts"
import * as EventData from "#src/wire/eventData.ts"

export interface SocketServices {
  readonly held: HeldBytes
  readonly serve: (exchange: FramedExchange) => void
}

/** Requests in flight per socket. */
export const MOST_REQUESTS = 32
/** Characters of an id. */
export const LONGEST_ID = 256

/** A refusal of a frame, or of a request before it was served. */
interface RequestError {
  readonly status: number
  readonly code: string
  readonly message: string
}

const refusals = {
  invalid_json: "A frame is a JSON object in a text message.",
  unsupported_type: "A frame has the type request or cancel.",
  invalid_id: `A frame has an id: a text of 1 to ${LONGEST_ID} characters.`,
  invalid_payload: "A request frame has a payload: the body of a chat completion.",
  duplicate_id: "A request with this id is in flight on this socket.",
  unknown_id: "No request with this id is in flight on this socket."
} as const

const refusal = (code: keyof typeof refusals): RequestError => ({ status: 400, code, message: refusals[code] })

const tooMany: RequestError = { status: 429, code: "too_many_requests", message: `At most ${MOST_REQUESTS} requests are in flight on one socket: wait for one to end.` }
const cancelled: RequestError = { status: 499, code: "cancelled", message: "The client cancelled the request." }
const broken: RequestError = { status: 502, code: "stream_interrupted", message: "The answer broke off." }

export class RequestSocket implements SocketHandler {
  private readonly socket: ServerSocket
  private readonly head: FramedHead
  private readonly services: SocketServices
  private readonly requests = new Map<string, FramedExchange>()
  private leaving = false

  constructor(socket: ServerSocket, head: FramedHead, services: SocketServices) {
    this.socket = socket
    this.head = head
    this.services = services
  }

  message(data: Buffer, isBinary: boolean): void {
    const frame = isBinary ? null : Members.of(data)
    if (frame === null) return this.refuse(null, refusal("invalid_json"))
    const id = Members.text(frame.get("id"))
    const type = Members.text(frame.get("type"))
    if (type !== "request" && type !== "cancel") return this.refuse(id, refusal("unsupported_type"))
    if (id === null || id === "" || id.length > LONGEST_ID) return this.refuse(null, refusal("invalid_id"))
    const known = this.requests.get(id)
    if (type === "cancel") return known === undefined ? this.refuse(id, refusal("unknown_id")) : this.cancel(id, known)
    const payload = frame.get("payload")
    if (known !== undefined) return this.refuse(id, refusal("duplicate_id"))
    if (payload === undefined) return this.refuse(id, refusal("invalid_payload"))
    if (this.requests.size >= MOST_REQUESTS) return this.refuse(id, tooMany)
    this.serve(id, payload)
  }

  drained(): void {
    for (const request of this.requests.values()) request.drained()
  }

  leave(): void {
    this.leaving = true
    this.closeIfIdle()
  }

  closed(reason: AbortReason): void {
    const left = [...this.requests.values()]
    this.requests.clear()
    for (const request of left) request.abort(reason)
  }

  private serve(id: string, payload: Buffer): void {
    const reply = new FramedReply(id, this.socket, () => {
      this.requests.delete(id)
      this.closeIfIdle()
    })
    const request = new FramedExchange(this.head, payload, reply, this.services.held, () => this.socket.pendingBytes)
    this.requests.set(id, request)
    this.services.serve(request)
  }

  private cancel(id: string, request: FramedExchange): void {
    this.requests.delete(id)
    request.abort("client-closed")
    this.refuse(id, cancelled)
    this.closeIfIdle()
  }

  private refuse(id: string | null, { code, message, status }: RequestError): void {
    this.socket.send(errorFrame(id, { message, type: code === tooMany.code ? "rate_limit_error" : "invalid_request_error", code }, status))
  }

  private closeIfIdle(): void {
    if (this.leaving && this.requests.size === 0) this.socket.close(1001, "server is shutting down")
  }
}

const errorFrame = (id: string | null, error: Readonly<Record<string, unknown>>, status: number): string =>
  JSON.stringify({ type: "response.error", id, error, status })

const CLOSE = 0x7d
const errorStart = Buffer.from("{\"error\":")
const usageName = Buffer.from("\"usage\":{")

/** The answer to one request, in frames. */
class FramedReply implements Reply {
  private readonly id: string
  private readonly socket: ServerSocket
  private readonly over: () => void
  /** Begins the frame of each chunk. */
  private readonly chunkStart: Buffer
  private events: SseScanner | null = null
  private usage: unknown
  private taken = true
  private failed = false
  /** Memory of the last frame, which begins with `chunkStart`; the next one is made there, too. */
  private room: Buffer

  constructor(id: string, socket: ServerSocket, over: () => void) {
    this.id = id
    this.socket = socket
    this.over = over
    this.chunkStart = Buffer.from(`{"type":"response.chunk","id":${JSON.stringify(id)},"data":`)
    this.room = this.newRoom(FIRST_ROOM_BYTES)
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    this.socket.send(JSON.stringify({ type: "response.start", id: this.id, status, headers: headersOf(headers) }))
    this.events = EventData.scanner((data) => this.chunk(data, 0, data.length))
  }

  bytes(chunk: Uint8Array): boolean {
    this.taken = true
    const { events } = this
    if (events === null) return true
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const end = events.held === 0 ? EventData.endOfUsual(bytes) : -1
    if (end !== -1) this.chunk(bytes, EventData.DATA_START, end)
    else if (!events.push(bytes)) {
      this.events = null
      this.socket.close(1011, "serialization_failed")
    }
    return this.taken
  }

  end(): void {
    this.events?.flush()
    if (this.failed) return this.over()
    this.finish(JSON.stringify({ type: "response.done", id: this.id, ...(this.usage === undefined ? {} : { usage: this.usage }) }))
  }

  whole(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    const bytes = Buffer.from(body)
    if (!StatusReason.isOk(status)) return this.finish(errorFrame(this.id, errorIn(bytes.toString("utf8")), status))
    this.socket.send(JSON.stringify({ type: "response.start", id: this.id, status, headers: headersOf(headers) }))
    this.chunk(bytes, 0, bytes.length)
    this.end()
  }

  cut(): void {
    this.events?.close()
    if (this.failed) return this.over()
    this.finish(errorFrame(this.id, { message: broken.message, type: "server_error", code: broken.code }, broken.status))
  }

  /** The data of one event. */
  private chunk(bytes: Buffer, start: number, end: number): void {
    if (isError(bytes, start)) {
      const error = errorIn(bytes.toString("utf8", start, end))
      this.failed = true
      this.taken = this.socket.send(errorFrame(this.id, error, typeof error["status"] === "number" ? error["status"] : 502))
      return
    }
    const usageAt = bytes.indexOf(usageName, start)
    if (usageAt !== -1 && usageAt < end) this.usage = Json.parseRecord(bytes.toString("utf8", start, end))?.["usage"] ?? this.usage
    const dataAt = this.chunkStart.length
    const length = dataAt + end - start + 1
    const frame = this.roomFor(length)
    bytes.copy(frame, dataAt, start, end)
    frame[length - 1] = CLOSE
    this.taken = this.socket.send(frame.subarray(0, length))
  }

  /** Memory for a frame, kept for the next one unless it is long. */
  private roomFor(length: number): Buffer {
    if (length > ROOM_BYTES) return this.newRoom(length)
    if (length > this.room.length) this.room = this.newRoom(Math.min(2 * length, ROOM_BYTES))
    return this.room
  }

  private newRoom(bytes: number): Buffer {
    const room = Buffer.allocUnsafe(Math.max(bytes, this.chunkStart.length))
    this.chunkStart.copy(room)
    return room
  }

  private finish(frame: string): void {
    this.socket.send(frame)
    this.over()
  }
}

const FIRST_ROOM_BYTES = 1024
/** A longer frame gets memory of its own. */
const ROOM_BYTES = 64 * 1024

const isError = (bytes: Buffer, start: number): boolean => {
  for (let i = 0; i < errorStart.length; i++) if (bytes[start + i] !== errorStart[i]) return false
  return true
}

const headersOf = (flat: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  for (let i = 0; i < flat.length; i += 2) headers[flat[i]!.toLowerCase()] = flat[i + 1]!
  return headers
}

const errorIn = (text: string): Record<string, unknown> => {
  const body = Json.parseRecord(text)
  return (body === null ? null : Json.recordAt(body, "error")) ?? { message: "The request failed.", type: "server_error", code: "internal_server_error" }
}
