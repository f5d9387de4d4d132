/** The bodies of one request while it runs: what its client sent and got, and what each wire call sent and was answered. */
import type { Client } from "#actors/request/Inbound.ts"
import type { Interceptor, Watch } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Upstream, UpstreamFailure, UpstreamHandler } from "#actors/request/ports/Upstream.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { Kept } from "./Kept.ts"

export interface KeptAttempt {
  readonly id: string
  readonly target: Target
  /** Flat request headers, which hold the credential. */
  sent: ReadonlyArray<string>
  readonly request: Kept
  readonly answer: Kept
}

/** What the client sent: bytes in memory, or the number of those that are not. */
export type Sent = Uint8Array | number

const nothing = new Uint8Array(0)

export class Capture implements Interceptor {
  /** The key as the client sent it; null without one. */
  readonly credential: string | null
  readonly request: Kept
  readonly answer: Kept
  readonly attempts: Array<KeptAttempt> = []
  readonly #most: number
  readonly #room: HeldBytes
  readonly #over: (capture: Capture) => void
  #sent: Sent

  /** `over` is called with it once the request is over, if there was a wire call. */
  constructor(request: { readonly sent: Sent; readonly credential: string | null }, most: number, room: HeldBytes, over: (capture: Capture) => void) {
    this.credential = request.credential
    this.request = new Kept(most, room)
    this.answer = new Kept(most, room)
    this.#sent = request.sent
    this.#most = most
    this.#room = room
    this.#over = over
  }

  /** In front of the client, to see what it gets. */
  clientOf(client: Client): Client {
    const { answer } = this
    return {
      start: (status, headers) => client.start(status, headers),
      relay: (chunk) => {
        answer.push(chunk)
        return client.relay(chunk)
      },
      onDrain: (listener) => client.onDrain(listener),
      end: (chunk) => {
        if (chunk !== undefined) answer.pushBody(chunk)
        client.end(chunk)
      },
      respond: (status, headers, body) => {
        answer.pushBody(body)
        client.respond(status, headers, body)
      },
      close: () => client.close()
    }
  }

  readonly beforeAttempt = (): null => null

  readonly attemptSettled = (): void => undefined

  readonly watch: Watch = (start, target, upstream) => {
    this.#copySent()
    const kept: KeptAttempt = { id: start.attemptId, target, sent: [], request: new Kept(this.#most, this.#room), answer: new Kept(this.#most, this.#room) }
    this.attempts.push(kept)
    return { dispatch: (request, handler) => dispatch(kept, upstream, request, handler), stats: () => upstream.stats() }
  }

  readonly closed = (): void => {
    if (this.attempts.length === 0) this.release()
    else this.#over(this)
  }

  /** Bytes in memory. */
  get held(): number {
    return this.#all.reduce((sum, { held }) => sum + held, 0)
  }

  /** Gives the memory back; to be called once. */
  release(): void {
    for (const kept of this.#all) kept.release()
    this.#sent = nothing
  }

  get #all(): ReadonlyArray<Kept> {
    return [this.request, this.answer, ...this.attempts.flatMap(({ answer, request }) => [request, answer])]
  }

  /** Not before there is a wire call: a request that is never planned has no end, and would keep its memory. */
  #copySent(): void {
    if (typeof this.#sent === "number") this.request.skip(this.#sent)
    else this.request.push(this.#sent)
    this.#sent = nothing
  }
}

type Dispatch = Upstream["Service"]["dispatch"]

/** A job is asked for several times in one attempt: its order is what was sent, and all answers are kept in their order. */
const dispatch = (kept: KeptAttempt, upstream: Upstream["Service"], request: Parameters<Dispatch>[0], handler: UpstreamHandler): ReturnType<Dispatch> => {
  if (kept.sent.length === 0) kept.request.pushBody(request.body)
  kept.sent = request.headers
  return upstream.dispatch(request, new Watched(handler, kept.answer))
}

class Watched implements UpstreamHandler {
  readonly #handler: UpstreamHandler
  readonly #answer: Kept

  constructor(handler: UpstreamHandler, answer: Kept) {
    this.#handler = handler
    this.#answer = answer
  }

  onProxy(id: string): void {
    this.#handler.onProxy?.(id)
  }

  onSent(): void {
    this.#handler.onSent?.()
  }

  onHead(status: number, headers: ReadonlyArray<string>): void {
    this.#handler.onHead(status, headers)
  }

  onData(chunk: Uint8Array): void {
    this.#answer.push(chunk)
    this.#handler.onData(chunk)
  }

  onEnd(): void {
    this.#handler.onEnd()
  }

  onFailure(failure: UpstreamFailure): void {
    this.#handler.onFailure(failure)
  }
}
