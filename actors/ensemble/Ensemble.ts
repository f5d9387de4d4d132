/**
 * A request that several models answer together: one exchange with the client, several request actors behind it.
 *
 * Each call is a request actor of its own, so that breakers, credentials, interceptors, timeouts and the ledger work as usual; a
 * part has a client in memory, the final call has the real one. The client sees one request: one deadline, one count in
 * telemetry, one final row, one sum of costs; and when it leaves, everything is cut.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import { type CallServices, runCall } from "#actors/ensemble/runCall.ts"
import { type EnsemblePart, Tally } from "#actors/ensemble/Tally.ts"
import * as Inbound from "#actors/request/Inbound.ts"
import type { Client, RouteNotes } from "#actors/request/Inbound.ts"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import { ClientStream } from "#actors/request/client/ClientStream.ts"
import { ProgressFrames } from "#actors/request/client/ProgressFrames.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { Usage } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { RequestActor } from "#actors/request/Request.ts"
import type { Services } from "#actors/request/services.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Answer } from "#schemas/wire/conversation.ts"

/** What an ensemble needs of the process. */
export interface EnsembleServices extends CallServices {
  readonly services: Services
}

/** What one call gave. `answer` is null when it gave none; then `error` says why, or is null when it was cut. */
export interface Given {
  /** Of a large answer its words only. */
  readonly answer: Answer | null
  /** The answer in the client's format, whole. */
  readonly body: Uint8Array | string
  /** A large answer as the stream that the client asked for; absent or null: it is made of `answer`. */
  readonly stream?: Uint8Array | null
  readonly error: PublicError | null
  /** The target that answered, or that was called last. */
  readonly target: Target
}

/** One call with a client in memory, ready to be made; `given` is read when it is over. */
export interface PreparedCall {
  readonly inbound: Inbound.Inbound
  /** `estimate`: what the ledger says that the answer used, where its provider counted nothing. */
  readonly given: (estimate: Usage | null) => Omit<Given, "target">
}

/** An answer as the client wants it. */
export interface Direct {
  readonly body: Uint8Array | string
  readonly stream: boolean
}

const noHeaders: ReadonlyArray<string> = []

/** Its calls are recorded by their own request actors. */
const noNotes: RouteNotes = { tried: 0, notes: [], skips: [] }

/** Error code of the rows of panel members that were too late. */
const tooLate = "panel_closed"

export class Ensemble implements LiveRequest {
  rosterSlot = -1
  /** Its calls are live requests of their own. */
  readonly target = null
  readonly tally: Tally
  private readonly around: EnsembleServices
  readonly inbound: Inbound.Inbound
  private readonly finished: (ok: boolean | null, latencyMs: number) => void
  private readonly work: (ensemble: Ensemble) => Effect.Effect<void>
  private readonly clientStream: ClientStream | null
  readonly startedAt: number
  private readonly calls = new Map<RequestActor, { readonly part: EnsemblePart; readonly fiber: Fiber.Fiber<void> }>()
  private fiber: Fiber.Fiber<unknown, unknown> | null = null
  private handedOver = false
  private answered = false
  private gone = false
  private wasSlow = false
  private shuttingDown = false
  private refusal: PublicError | null = null
  /** Ends what runs between two calls. */
  private between: (() => void) | null = null

  /**
   * `inbound` is the client's request; its targets may give the final answer (the first one is named in the headers of a stream
   * that begins early). `work` makes the calls. `finished` is called at the end; `ok` is null for a client that left.
   */
  constructor(
    around: EnsembleServices, inbound: Inbound.Inbound, work: (ensemble: Ensemble) => Effect.Effect<void>, finished: (ok: boolean | null, latencyMs: number) => void
  ) {
    const { services } = around
    this.around = around
    this.inbound = inbound
    this.work = work
    this.finished = finished
    this.startedAt = inbound.since ?? services.now()
    this.tally = new Tally(services, inbound.interceptors, Math.max(0, services.limits.maxAttempts - 1), this.startedAt)
    this.clientStream = inbound.stream ? new ClientStream(inbound.client, inbound.face, services.limits.pulse, ProgressFrames.of(inbound, this.startedAt, services.now), this.startedAt) : null
    services.telemetry.requestStarted(inbound.endpoint, inbound.stream)
  }

  readonly run: Effect.Effect<void> = Effect.onExit(Effect.suspend(() => {
    this.fiber = Fiber.getCurrent() ?? null
    return this.work(this)
  }), (exit) => Effect.sync(() => this.close(exit)))

  get attempts(): number {
    return this.tally.attempts
  }

  /** Its last call has it. */
  readonly outputText = ""

  get interrupted(): Effect.Effect<void> {
    return this.fiber === null ? Effect.void : Fiber.interrupt(this.fiber)
  }

  beat(now: number): void {
    // The final call has its own client stream.
    if (this.clientStream === null || this.handedOver || this.isOver) return
    this.clientStream.beat(now, () => this.headers(this.inbound.targets[0] as Target, true))
  }

  clientLeft(wasSlow = false): void {
    this.gone = true
    this.wasSlow = wasSlow
    this.tally.end()
    for (const actor of this.calls.keys()) actor.clientLeft(wasSlow)
    this.between?.()
  }

  shutDown(): void {
    this.shuttingDown = true
    this.tally.end()
    for (const [actor, { fiber, part }] of this.calls) {
      actor.shutDown()
      // Between two attempts there is nothing to cut.
      if (part.role !== "last") fiber.interruptUnsafe()
    }
    this.between?.()
  }

  /** Makes one call whose answer the client does not see as it comes. */
  ask(call: PreparedCall, role: Exclude<EnsemblePart["role"], "last">, timeoutMs: number | null = null): Effect.Effect<Given> {
    return Effect.suspend((): Effect.Effect<Given> => {
      const part: EnsemblePart = { role, cut: null, estimate: null }
      const first = call.inbound.targets[0] as Target
      if (this.isOver) return Effect.succeed({ answer: null, body: "", error: null, target: first })
      return this.make(Inbound.changed(call.inbound, { interceptors: this.tally.interceptorsOf() }), part, timeoutMs, (actor) => ({ ...call.given(part.estimate), target: actor.target }))
    })
  }

  /** The newest `turn` was not the last one: its answer is not the client's. */
  passOn(): void {
    this.tally.release(false)
  }

  /** What work between calls cost, USD: it has rows of its own. */
  spent(costUsd: number): void {
    this.tally.costUsd += costUsd
  }

  /** Work between calls, which ends with the request: null when the client has left or the gateway stops. */
  during<A>(work: Effect.Effect<A>): Effect.Effect<A | null> {
    return Effect.suspend(() => {
      if (this.isOver) return Effect.succeed(null)
      const over = Deferred.makeUnsafe<null>()
      this.between = () => {
        Deferred.doneUnsafe(over, Effect.succeed(null))
      }
      return Effect.ensuring(Effect.raceFirst(work, Deferred.await(over)), Effect.sync(() => {
        this.between = null
      }))
    })
  }

  /** Makes the final call: it writes to the client itself. `interceptors` apply to this call alone. */
  finish(last: Inbound.Inbound, interceptors: ReadonlyArray<Interceptor> = []): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isOver) {
        this.refuse(AttemptFailure.shuttingDown())
        return Effect.void
      }
      const { face } = this.inbound
      this.handedOver = true
      const inbound = Inbound.changed(last, {
        client: this.lastClient,
        interceptors: [...this.tally.interceptorsOf(), ...interceptors],
        face: { ...face, errorBody: (error) => this.headIsOut ? Buffer.from(face.errorFrames(error)).toString("utf8") : face.errorBody(error) },
        // The row of this call is in the sum already: it is settled before its answer goes out.
        responseHeaders: (facts, notes) => last.responseHeaders({ ...facts, settled: facts.settled === null ? null : this.settled }, notes)
      })
      return this.make(inbound, { role: "last", cut: null, estimate: null }, null, () => undefined)
    })
  }

  /** Gives the client an answer that a part brought. */
  give(target: Target, direct: Direct): void {
    if (this.gone || this.answered) return
    this.tally.release(true)
    this.answered = true
    const { client } = this.inbound
    if (!direct.stream) {
      client.respond(200, this.headers(target, false), direct.body)
      return
    }
    if (!this.headIsOut) client.start(200, this.headers(target, true))
    client.end(direct.body)
  }

  refuse(failure: PublicError): void {
    if (this.gone || this.answered) return
    const error = this.shuttingDown ? AttemptFailure.shuttingDown() : failure
    this.refusal = error
    this.answered = true
    const { client, face } = this.inbound
    if (this.headIsOut) client.end(face.errorFrames(error))
    else client.respond(error.status, this.inbound.errorHeaders(error, 0, noNotes), face.errorBody(error))
  }

  private get isOver(): boolean {
    return this.gone || this.shuttingDown
  }

  private get headIsOut(): boolean {
    return this.clientStream !== null && this.clientStream.started
  }

  private get settled() {
    const { costUsd, usage } = this.tally
    return { tokensIn: usage.input, tokensOut: usage.output, costUsd }
  }

  private headers(target: Target, stream: boolean): ReadonlyArray<string> {
    return this.inbound.responseHeaders({
      target,
      latencyMs: this.around.services.now() - this.startedAt,
      fallbackAttempts: 0,
      strategy: this.inbound.route.strategy,
      settled: stream ? null : this.settled,
      upstreamHeaders: noHeaders,
      contentType: null,
      omitted: noHeaders
    }, noNotes)
  }

  /** The client for the last call: the head may have gone ahead of it. */
  private readonly lastClient: Client = {
    start: (status, headers) => {
      this.answered = true
      if (!this.headIsOut) this.inbound.client.start(status, headers)
    },
    relay: (chunk) => this.inbound.client.relay(chunk),
    onDrain: (listener) => this.inbound.client.onDrain(listener),
    end: (chunk) => this.inbound.client.end(chunk),
    respond: (status, headers, body) => {
      this.answered = true
      if (this.headIsOut) this.inbound.client.end(body)
      else this.inbound.client.respond(status, headers, body)
    },
    close: () => this.inbound.client.close()
  }

  /** Runs one request actor; interrupting cuts it. */
  private make<A>(inbound: Inbound.Inbound, part: EnsemblePart, timeoutMs: number | null, given: (actor: RequestActor) => A): Effect.Effect<A> {
    let made: RequestActor | null = null
    const running = runCall(this.around, this.tally.servicesOf(part, timeoutMs), inbound, {
      began: (actor, fiber) => {
        made = actor
        this.calls.set(actor, { part, fiber })
      },
      cut: () => {
        part.cut = this.isOver ? null : tooLate
      }
    })
    return Effect.ensuring(Effect.map(running, given), Effect.sync(() => made !== null && this.calls.delete(made)))
  }

  /** Ends the exchange, however the fiber ended. */
  private close(exit: Exit.Exit<void>): void {
    const { live, services } = this.around
    if (Exit.isFailure(exit)) {
      for (const actor of this.calls.keys()) actor.shutDown()
      const broken = !Cause.hasInterruptsOnly(exit.cause)
      if (broken) services.defect(this.inbound.requestId, exit.cause)
      if (!this.answered) this.refuse(broken ? AttemptFailure.internal() : AttemptFailure.shuttingDown())
      else if (broken) this.inbound.client.close()
    }
    this.tally.close()
    const now = services.now()
    const latencyMs = now - this.startedAt
    const summary = this.summary(latencyMs)
    services.telemetry.requestSettled(summary)
    this.finished(this.gone ? null : summary.outcome === "completed", latencyMs)
    live.remove(this)
  }

  private summary(latencyMs: number): RequestSummary {
    const { final, summary } = this.tally
    const { endpoint, key, requestedModel, requestId, stream } = this.inbound
    const same = { startedAt: this.startedAt, latencyMs, attempts: this.tally.attempts }
    if (summary !== null) return { ...summary, ...same, ttftMs: summary.ttftMs === null ? null : summary.startedAt + summary.ttftMs - this.startedAt }
    const answered = this.refusal === null && !this.gone && final !== null && final.outcome === "completed"
    return {
      ...same, requestId, endpoint, requestedModel, stream, method: "POST", apiKeyId: key === null ? null : key.id,
      provider: final === null ? null : final.provider,
      model: final === null ? null : final.model,
      status: this.gone ? 499 : answered ? 200 : this.refusal?.status ?? 500,
      clientStatus: this.gone ? 0 : answered ? 200 : this.refusal?.status ?? 500,
      outcome: this.gone ? "client-abort" : answered ? "completed" : this.shuttingDown || final === null ? "policy" : final.outcome,
      errorCode: this.gone ? (this.wasSlow ? "slow_reader_timeout" : "client_closed_request") : answered ? null : this.refusal?.code ?? "internal_server_error",
      cache: "off",
      ttftMs: answered ? latencyMs : null,
      bytesOut: 0,
      ...(answered ? {} : { route: this.inbound.route.line(noNotes) })
    }
  }
}
