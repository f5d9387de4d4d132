/**
 * The stages that an admitted request passes before it is planned, in the order of the array. A stage may answer by itself (a
 * cache hit), refuse, wait, put its own client in front of the real one, or add an interceptor.
 */
import * as Effect from "effect/Effect"
import type { Client } from "#actors/request/Inbound.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { CallHead } from "#src/inference/lane/InferenceCall.ts"
import type { Asked } from "#src/inference/ports/PreviousResponses.ts"
import type { RequestTags } from "#src/inference/lane/gatewayHeaders.ts"
import type { Large } from "#src/inference/lane/bodies/Prompt.ts"
import type { Route } from "#src/routing/Router.ts"
import type { Form } from "#src/wire/form/Form.ts"
import type { ClientCodec, RequestHead } from "#src/wire/WireFormat.ts"

/** How the request came in. An object that each request has anyway: two functions would cost it 0.1 kB. */
export interface Passage {
  /** Ends the exchange with an error in the client's words, and counts it. `since`: when its waiting began, ms since the epoch. */
  refuse(error: PublicError, since?: number): void
  /** While a stage waits: called when the client has left (or the gateway stops); the request must then not continue. */
  onGone(listener: () => void): void
}

/** One admitted request on its way to the planner. */
export interface AdmittedCall {
  readonly tags: RequestTags
  readonly key: ApiKey | null
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  /** The client's format. */
  readonly format: CallFormat
  /** The same of a conversation; null for other kinds of requests. */
  readonly codec: ClientCodec | null
  readonly body: Buffer
  /** What the body says; of a large one the outline. */
  readonly parsed: Record<string, unknown>
  /** Set for a large body. */
  readonly large?: Large | undefined
  /** Set where the body is a form; `parsed` is then its fields. */
  readonly form?: Form | undefined
  readonly head: RequestHead
  /** What the client asked for, where a stage sends the request to another model; absent = the head's model. */
  readonly requestedModel?: string
  /** What it asked for that its body does not say; absent = nothing. */
  readonly asked?: Asked
  /** What the answer is expected to use beside tokens; null = nothing. */
  readonly units: Units | null
  /** Headers and address of the request. */
  readonly request: CallHead
  /** Where the answer goes; a stage that wants to see it puts another in front. */
  readonly client: Client
  readonly interceptors: ReadonlyArray<Interceptor>
  readonly passage: Passage
  /**
   * Decides what becomes of the running request when its client leaves: it calls `leave` at once, later, or never when others wait for
   * the answer. A stage that puts its own in front asks the one before it in the end. Absent: the request ends.
   */
  readonly onLeft?: ((leave: () => void) => void) | undefined
  /** Set where the client has its answer already, and the request goes on without it: given what ends the running request. */
  readonly detached?: ((end: () => void) => void) | undefined
  /** The lease that the call is made under, where its key needs one. */
  readonly lease?: Fence | undefined
  /** A stage that sends the request to another model than it asked for calls this. Absent: nothing depends on it. */
  readonly replaced?: (() => void) | undefined
  /** What guardrails do with its texts; equal requests of which it differs have different answers. Absent: nothing. */
  readonly guardrails?: string | undefined
  /** What is remembered for its key, as its models are told; equal requests of which it differs have different answers. Absent: nothing. */
  readonly memory?: string | undefined
  /** The response cache was asked and had nothing, for the log. */
  readonly cache?: "miss" | undefined
}

/** A call that is a conversation. */
export interface ConversationCall extends AdmittedCall {
  readonly codec: ClientCodec
}

/** Has a say in where a request goes, each time it was planned, and again before every wire call. */
export interface Fence extends Interceptor {
  readonly arrange: (route: Route) => Route | PublicError
}

export interface Stage {
  readonly name: string
  /** Asked for every request, so it must be cheap: false passes the stage by. */
  readonly applies: (call: AdmittedCall) => boolean
  /** Calls `next` at most once, at once or later, or answers through `call.client` or `call.passage`. */
  readonly run: (call: AdmittedCall, next: (call: AdmittedCall) => void) => void
}

/** Walks the stages that apply, from `from` on, then `done`. A stage continues with the call that it was given, so its kind does not change. */
export const pass = <C extends AdmittedCall>(stages: ReadonlyArray<Stage>, call: C, done: (call: C) => void, from = 0): void => {
  const at = firstOf(stages, call, from)
  if (at === -1) done(call)
  else enter(stages, call, done, at)
}

/** The place of the first stage that applies, from `from` on; -1 when none does, as for most requests. */
export const firstOf = (stages: ReadonlyArray<Stage>, call: AdmittedCall, from = 0): number => {
  for (let i = from; i < stages.length; i++) if ((stages[i] as Stage).applies(call)) return i
  return -1
}

/** The stage at this place, then those behind it that apply, then `done`. */
export const enter = <C extends AdmittedCall>(stages: ReadonlyArray<Stage>, call: C, done: (call: C) => void, at: number): void =>
  (stages[at] as Stage).run(call, (next) => pass(stages, next as C, done, at + 1))

/** Runs an effect; answers the way to interrupt it. */
export type Fork = (effect: Effect.Effect<void>) => () => void

/** For the log only, because the client has left. */
export const left = (doing: string): PublicError => Errors.make("client_closed_request", `The client closed the connection while ${doing}.`)

/** Continues with the effect's result; it is interrupted when the client leaves. `doing`: the work, for the log. */
export const wait = <A>(call: AdmittedCall, fork: Fork, effect: Effect.Effect<A>, doing: string, then: (value: A) => void): void => {
  let over = false
  const stop = fork(Effect.map(effect, (value) => {
    if (over) return
    over = true
    then(value)
  }))
  // What follows may wait, too, and then it is its own listener that counts.
  if (over) return
  call.passage.onGone(() => {
    if (over) return
    over = true
    stop()
    call.passage.refuse(left(doing))
  })
}
