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
export const MOST_ANSWER_BYTES = 32 * 1024 * 1024
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
  /** Never fails; an interruption ends the call. */
  readonly ask: (request: LineRequest) => Effect.Effect<LineReply>
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

export const layer = Layer.effect(LineCalls, Effect.gen(function*() {
  const actorOf = yield* KeyActors.make
  const frontEnd = yield* FrontEnd
  const lifecycle = yield* Lifecycle

  const isStopping = (): boolean => lifecycle.draining() || frontEnd.draining

  const ask = ({ actsAs, body, endpoint, idempotencyKey, remoteAddress, requestId }: LineRequest) => Effect.callback<LineReply>((resume) => {
    const finish = (reply: LineReply): void => resume(Effect.succeed(reply))
    let head: { readonly status: number; readonly headers: ReadonlyArray<string> } = { status: 0, headers: [] }
    let parts: Array<Buffer> = []
    let length = 0
    const whole: Reply["whole"] = (status, headers, bytes) => {
      const answer = { status, requestId: headerOf(headers, "x-gateway-request-id") ?? requestId, body: Buffer.from(bytes) }
      const waitMs = waitOf(status, headers)
      if (answer.body.length > MOST_ANSWER_BYTES) finish(tooLong)
      else if (StatusReason.of(status) === "unavailable" && isStopping()) finish({ _tag: "Stopping" })
      else if (waitMs === null) finish({ _tag: "Answered", answer })
      else finish({ _tag: "Later", waitMs, answer })
    }
    const exchange: FramedExchange = new FramedExchange(
      {
        method: "POST", path: endpoint, query: "", peerAddress: remoteAddress, remoteAddress, actsAs,
        headers: ["content-type", "application/json", "user-agent", "gateway-batch", "x-request-id", requestId, "idempotency-key", idempotencyKey]
      },
      body,
      {
        start: (status, headers) => {
          head = { status, headers }
        },
        bytes: (chunk) => {
          length += chunk.byteLength
          if (length <= MOST_ANSWER_BYTES) parts.push(Buffer.from(chunk))
          else {
            parts = []
            exchange.abort("client-closed")
            finish(tooLong)
          }
          return true
        },
        end: () => whole(head.status, head.headers, Buffer.concat(parts)),
        whole,
        cut: () => finish(isStopping() ? { _tag: "Stopping" } : { _tag: "Broken", message: "The answer broke off." })
      },
      frontEnd.heldBodies,
      nothingPending
    )
    frontEnd.serveFramed(exchange)
    return Effect.sync(() => exchange.abort("client-closed"))
  })

  return LineCalls.of({ ask, actorOf, isServing: () => lifecycle.ready() && !isStopping() })
}))
