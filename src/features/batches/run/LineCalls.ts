/** Asks the gateway's own endpoints in the name of a batch's key: the same admission, limits, routes and rows as over a socket. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as KeyActors from "#src/inference/lane/services/keyActors.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { ActsAs } from "#src/platform/server/Exchange.ts"
import { FramedExchange, type Reply } from "#src/platform/server/sockets/FramedExchange.ts"
import type { LineAnswer } from "#src/features/batches/lines/outputLine.ts"

/** Longest answer of one line, bytes. */
const MOST_ANSWER_BYTES = 32 * 1024 * 1024
/** Wait after a refusal that names none, ms. */
const DEFAULT_WAIT_MS = 5_000

export interface LineRequest {
  readonly endpoint: string
  readonly body: Buffer
  readonly requestId: string
  /** Two calls with the same one are one call. */
  readonly idempotencyKey: string
  readonly actsAs: ActsAs
  readonly remoteAddress: string
}

export type LineReply =
  | { readonly _tag: "Answered"; readonly answer: LineAnswer }
  /** There is no room now: limits, or a server that is away. */
  | { readonly _tag: "Later"; readonly waitMs: number; readonly answer: LineAnswer }
  /** The answer broke off or is too long. */
  | { readonly _tag: "Broken"; readonly message: string }
  /** This process is stopping: another one goes on. */
  | { readonly _tag: "Stopping" }

export class LineCalls extends Context.Service<LineCalls, {
  /** Calls `done` once, now or later, with an answer whose body is borrowed. Answers the way to end the call, after which `done` is not called. */
  readonly ask: (request: LineRequest, done: (reply: LineReply) => void) => () => void
  /** In whose name a key's batch asks; a key that is gone is a wrong key. */
  readonly actorOf: (keyId: string | null) => Effect.Effect<ActsAs, StoreError>
  /** Requests are served here. */
  readonly isServing: () => boolean
}>()("gateway/features/batches/LineCalls") {}

const headerOf = (headers: ReadonlyArray<string>, lowerCaseName: string): string | undefined => {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === lowerCaseName)
  return at === -1 ? undefined : headers[at + 1]
}

/** How long a refusal asks to wait, ms; null for an answer that no wait would change. */
const waitOf = (status: number, headers: ReadonlyArray<string>): number | null => {
  const reason = StatusReason.of(status)
  if (reason !== "rate-limit" && reason !== "unavailable") return null
  const seconds = Number(headerOf(headers, "retry-after") ?? Number.NaN)
  if (Number.isFinite(seconds) && seconds >= 0) return Math.max(1, seconds) * 1000
  return reason === "rate-limit" ? DEFAULT_WAIT_MS : null
}

const tooLong: LineReply = { _tag: "Broken", message: `The answer is longer than ${MOST_ANSWER_BYTES} bytes.` }
const nothingPending = (): number => 0

/** The answer to one line, as it arrives. */
class LineAnswering implements Reply {
  readonly #done: (reply: LineReply) => void
  readonly #isStopping: () => boolean
  readonly #requestId: string
  #status = 0
  #headers: ReadonlyArray<string> = []
  #parts: Array<Buffer> = []
  #length = 0
  #isOver = false
  /** Ends the call of an answer that is too long. */
  abort: (() => void) | null = null

  constructor(requestId: string, isStopping: () => boolean, done: (reply: LineReply) => void) {
    this.#requestId = requestId
    this.#isStopping = isStopping
    this.#done = done
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    this.#status = status
    this.#headers = headers
  }

  bytes(chunk: Uint8Array): boolean {
    this.#length += chunk.byteLength
    if (this.#length <= MOST_ANSWER_BYTES) this.#parts.push(Buffer.from(chunk))
    else {
      this.#parts = []
      this.abort?.()
      this.finish(tooLong)
    }
    return true
  }

  end(): void {
    this.#finishWhole(this.#status, this.#headers, Buffer.concat(this.#parts))
  }

  whole(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    this.#finishWhole(status, headers, typeof body === "string" ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  }

  cut(): void {
    this.finish(this.#isStopping() ? { _tag: "Stopping" } : { _tag: "Broken", message: "The answer broke off." })
  }

  /** Only the first end counts. */
  finish(reply: LineReply): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#done(reply)
  }

  leave(): void {
    this.#isOver = true
  }

  #finishWhole(status: number, headers: ReadonlyArray<string>, body: Buffer): void {
    const answer = { status, requestId: this.#requestId, body }
    const waitMs = waitOf(status, headers)
    if (body.length > MOST_ANSWER_BYTES) this.finish(tooLong)
    else if (StatusReason.of(status) === "unavailable" && this.#isStopping()) this.finish({ _tag: "Stopping" })
    else if (waitMs === null) this.finish({ _tag: "Answered", answer })
    else this.finish({ _tag: "Later", waitMs, answer })
  }
}

export const layer = Layer.effect(LineCalls, Effect.gen(function*() {
  const actorOf = yield* KeyActors.make
  const frontEnd = yield* FrontEnd
  const lifecycle = yield* Lifecycle

  const isStopping = (): boolean => lifecycle.draining() || frontEnd.draining

  const ask = ({ actsAs, body, endpoint, idempotencyKey, remoteAddress, requestId }: LineRequest, done: (reply: LineReply) => void) => {
    const answering = new LineAnswering(requestId, isStopping, done)
    const exchange = new FramedExchange(
      {
        method: "POST", path: endpoint, query: "", peerAddress: remoteAddress, remoteAddress, actsAs,
        headers: ["content-type", "application/json", "x-request-id", requestId, "idempotency-key", idempotencyKey]
      },
      body, answering, frontEnd.heldBodies, nothingPending
    )
    answering.abort = () => exchange.abort("client-closed")
    frontEnd.serveFramed(exchange)
    return () => {
      answering.leave()
      exchange.abort("client-closed")
    }
  }

  return LineCalls.of({ ask, actorOf, isServing: () => lifecycle.ready() && !isStopping() })
}))
