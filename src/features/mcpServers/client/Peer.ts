/**
 * One side of a JSON-RPC connection: numbers requests, joins answers to them, and answers what the server asks. A request that is
 * interrupted or too late is cancelled at the server.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { failure, type McpFailure, type Message } from "./messages.ts"

export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

export interface Asked {
  readonly timeoutMs: number
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Carries messages. `heard` is called with every message of the server. */
export interface Transport {
  /** Ends when the message has left; over HTTP with the last byte of its answer. */
  readonly send: (message: Message) => Effect.Effect<void, McpFailure>
  /** Answers come only while `send` runs. */
  readonly answersWhileSending: boolean
  /** Brings messages that belong to no request until it ends; ends at once where they need no asking. */
  readonly listen: Effect.Effect<void, McpFailure>
  /** Fails when the connection is lost; a transport that has none never ends. */
  readonly lost: Effect.Effect<never, McpFailure>
  /** Tells the server that nothing follows. Bounded in time, and never fails. */
  readonly end: Effect.Effect<void>
  /** Which version was agreed on, for the headers of what follows. */
  readonly agreed: (version: string) => void
}

export interface Peer {
  readonly request: (method: string, params: Readonly<Record<string, unknown>>, asked: Asked) => Effect.Effect<unknown, McpFailure>
  readonly notify: (method: string, params?: Readonly<Record<string, unknown>>) => Effect.Effect<void, McpFailure>
}

interface Pending {
  readonly answer: Deferred.Deferred<unknown, McpFailure>
  readonly onProgress: Asked["onProgress"]
}

/** Cancelling is a courtesy: it may take this long. */
const CANCEL_MS = 2_000
const METHOD_NOT_FOUND = -32_601

const numberIn = (value: unknown): number | undefined => typeof value === "number" && Number.isFinite(value) ? value : undefined

const progressOf = (params: Readonly<Record<string, unknown>>): Progress | null => {
  const progress = numberIn(params["progress"])
  const total = numberIn(params["total"])
  const { message } = params
  return progress === undefined ? null : { progress, ...(total === undefined ? {} : { total }), ...(typeof message === "string" ? { message } : {}) }
}

/** `connect` is given what hears the server. `told`: called with the method of each notification. */
export const make = <R>(
  connect: (heard: (message: Message) => void) => Effect.Effect<Transport, McpFailure, R>, told: (method: string) => void
) => Effect.gen(function*() {
  const pending = new Map<number, Pending>()
  let next = 0
  const run = Effect.runForkWith(yield* Effect.context<never>())
  let reply: (message: Message) => void = () => undefined

  const heard = (message: Message): void => {
    const { error, id, method, params = {}, result } = message
    if (method !== undefined && id !== undefined && id !== null) {
      // Sampling, elicitation and roots are not offered.
      reply({ jsonrpc: "2.0", id, ...(method === "ping" ? { result: {} } : { error: { code: METHOD_NOT_FOUND, message: "Method not found" } }) })
      return
    }
    if (method === "notifications/progress") {
      const progress = progressOf(params)
      if (progress !== null) pending.get(Number(params["progressToken"]))?.onProgress?.(progress)
      return
    }
    if (method !== undefined) {
      told(method)
      return
    }
    const one = pending.get(Number(id))
    if (one === undefined) return
    Deferred.doneUnsafe(one.answer, error === undefined ? Effect.succeed(result) : Effect.fail(failure("rpc", String(error.message), Number(error.code))))
  }

  const transport = yield* connect(heard)
  reply = (message) => {
    run(Effect.ignore(transport.send(message)))
  }

  const notify: Peer["notify"] = (method, params) => transport.send({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) })

  const request: Peer["request"] = (method, params, { onProgress, timeoutMs }) => Effect.gen(function*() {
    const id = ++next
    const answer = yield* Deferred.make<unknown, McpFailure>()
    pending.set(id, { answer, onProgress })
    const message: Message = { jsonrpc: "2.0", id, method, params: onProgress === undefined ? params : { ...params, _meta: { progressToken: id } } }
    const unanswered = Effect.suspend(() => !transport.answersWhileSending || Deferred.isDoneUnsafe(answer)
      ? Deferred.await(answer)
      : Effect.fail(failure("closed", "The server ended its answer without one")))
    const cancel = Effect.suspend(() => {
      if (method !== "initialize") run(Effect.ignore(Effect.timeout(notify("notifications/cancelled", { requestId: id, reason: "The caller no longer waits" }), CANCEL_MS)))
      return Effect.void
    })
    return yield* Effect.raceFirst(Effect.andThen(transport.send(message), unanswered), transport.lost).pipe(
      Effect.timeoutOrElse({
        duration: timeoutMs,
        orElse: () => Effect.andThen(cancel, Effect.fail(failure("timeout", `The server did not answer ${method} within ${timeoutMs} ms`)))
      }),
      Effect.onInterrupt(() => cancel),
      Effect.ensuring(Effect.sync(() => pending.delete(id)))
    )
  })

  return { transport, peer: { request, notify } satisfies Peer }
})
