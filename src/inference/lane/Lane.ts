/**
 * The way of every inference request, whatever kind it is of: admission, head, stages, plan, and then one request actor. A synchronous
 * prelude where nothing waits. What differs between kinds is their `Operation`.
 */
import * as Inbound from "#actors/request/Inbound.ts"
import { RequestActor } from "#actors/request/Request.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { type Large, Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import * as Stages from "#src/inference/lane/stages/Stages.ts"
import * as Waits from "#src/inference/lane/stages/Waits.ts"
import type { Asked } from "#src/inference/ports/PreviousResponses.ts"
import * as PreviousResponses from "#src/inference/ports/PreviousResponses.ts"
import type { AbortReason, DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import { releaseNothing } from "#src/platform/structures/HeldBytes.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import type { Question } from "#src/routing/Router.ts"
import type { Form } from "#src/wire/form/Form.ts"
import * as Heads from "#src/wire/neutral/heads.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import * as FormErrors from "./forms/formErrors.ts"
import { PlannedRequest } from "./PlannedRequest.ts"
import * as Intake from "./Intake.ts"
import type { ClientRequest, Operation, Planned, Served } from "./Operation.ts"
import * as TerminalErrors from "./terminalErrors.ts"

/** Serves one kind of request, from the first byte of its body to its settled rows. */
export const route = <Head extends RequestHead, C extends Stages.AdmittedCall>(given: LaneServices, operation: Operation<Head, C>): DirectRoute => {
  const services = operation.services === undefined ? given : withRequests(given, operation.services(given.request))
  const stages = operation.stages === undefined ? services.stages : operation.stages(services.stages)
  return (exchange) => {
    const passage = new Passage(exchange, services, operation, stages)
    // Registered before anything can wait: the front end requires it, and an abort before the plan costs nothing upstream.
    exchange.onAbort(passage.left.bind(passage))
    passage.take()
  }
}

/** What its actors may wait for, a request may wait for before it has one. */
const withRequests = (given: LaneServices, request: LaneServices["request"]): LaneServices =>
  ({ ...given, request, waits: { ...given.waits, turns: { ...given.waits.turns, ...request.turns } } })

/** One request on its way to its actor, and what becomes of it when its client leaves. It keeps nothing of the body. */
class Passage<Head extends RequestHead, C extends Stages.AdmittedCall> extends Intake.Arrival<LaneServices, Operation<Head, C>> implements Stages.Passage {
  private readonly stages: ReadonlyArray<Stages.Stage>
  /** Null until it is planned. */
  private served: Served | null = null
  /** What a stage that waits does when the client leaves. */
  private gone: (() => void) | null = null
  private onLeft: Stages.AdmittedCall["onLeft"]
  private isDetached = false

  constructor(exchange: Exchange, lane: LaneServices, operation: Operation<Head, C>, stages: ReadonlyArray<Stages.Stage>) {
    super(exchange, lane, operation)
    this.stages = stages
  }

  /** The exchange was aborted. */
  left(reason: AbortReason): void {
    const { onLeft, served } = this
    if (served === null) this.gone?.()
    else if (reason === "shutdown") served.shutDown()
    else if (this.isDetached) return
    else if (onLeft === undefined) served.clientLeft(reason === "slow-reader")
    else onLeft(() => served.clientLeft(reason === "slow-reader"))
  }

  /** Reads the path and the head. */
  protected override taken(body: Buffer, document: Record<string, unknown>, outline: Large | null, form: Form | null, asked: Asked): void {
    const { exchange, gate: operation, key, services: lane, tags } = this
    const { codec, endpoint, face, fromPath } = operation
    let parsed = document
    let large = outline
    if (fromPath !== undefined) {
      const said = fromPath(exchange.path, parsed, lane.router().planner.aliasOf)
      if (said instanceof PublicError) return this.refuse(said)
      parsed = { ...parsed, ...said }
      if (large !== null) large = { ...large, grown: said }
    }
    const read = operation.head(parsed)
    if (read instanceof PublicError) return this.refuse(read)
    const head = key !== null && key.policy.streamDefaultMode === "json" && isUnsaid(parsed["stream"]) ? { ...read, stream: false } : read
    const refusal = Heads.modelRefusal(head.model)
    if (refusal !== null) return this.refuse(refusal)
    this.model = head.model
    const call: Stages.AdmittedCall = {
      tags, key, endpoint, format: face.name, codec, body, parsed, large: large ?? undefined, form: form ?? undefined, head, asked,
      units: large?.units ?? operation.units?.(head, parsed, { bytes: body, form }) ?? null, request: exchange, client: exchange, interceptors: noInterceptors,
      passage: this
    }
    const at = Stages.firstOf(this.stages, call)
    // The operation's own codec and head make it a call of its kind.
    if (at === -1) this.start(call as C)
    else Stages.enter(this.stages, call as C, this.start.bind(this), at)
  }

  onGone(listener: () => void): void {
    this.gone = listener
  }

  private start(passed: C, waited?: Waits.Waited): void {
    const { exchange, gate: operation, services: lane } = this
    const planned = plan(lane, operation, exchange, passed)
    if (planned instanceof PublicError) {
      Waits.waitOrRefuse(lane.waits, planned, passed, waited, this.start.bind(this))
      return
    }
    const releaseBytes = takeOver(lane, operation, exchange, passed, planned)
    if (releaseBytes instanceof PublicError) {
      passed.passage.refuse(releaseBytes)
      return
    }
    planned.prompt.onRelease = releaseBytes
    const served = serve(lane, operation, exchange, passed, planned, waited)
    if (served instanceof PublicError) {
      releaseBytes()
      passed.passage.refuse(served)
      return
    }
    this.served = served
    this.onLeft = passed.onLeft
    lane.live.add(served)
    const fiber = lane.fork(served.run)
    if (releaseBytes !== releaseNothing) fiber.addObserver(releaseBytes)
    this.isDetached = passed.detached !== undefined
    // It left while a stage waited, and others want the answer: from now on there is a request to end.
    if (this.isDetached || (this.onLeft !== undefined && exchange.closed)) leave(served, passed)
  }
}

const isUnsaid = (value: unknown): boolean => value === undefined || value === null

/** The request goes on without its client, until those that want its answer end it. */
const leave = (served: Served, { detached, onLeft }: Stages.AdmittedCall): void => {
  const end = (): void => served.clientLeft(false)
  const left = onLeft === undefined ? end : () => onLeft(end)
  if (detached === undefined) left()
  else detached(left)
}

/** The body becomes the request's, which keeps it until the answer is called. */
const takeOver = (
  { held }: Pick<LaneServices, "held">, operation: Pick<Operation<RequestHead>, "asksSeveral">, exchange: Exchange, { form }: Stages.AdmittedCall, planned: Planned
): (() => void) | PublicError => {
  // A form counts what it holds itself.
  const release = form?.hold()
  exchange.releaseBody()
  return form !== undefined ? release ?? FormErrors.gone() : held.hold(weightOf(operation, planned)) ?? FormErrors.noRoom()
}

/**
 * Bytes that a request holds. A large one holds its body; a smaller one its tree, too, and that is estimated: it takes little to
 * hold either. A route with several parallel calls holds one such body per call.
 */
const weightOf = ({ asksSeveral }: Pick<Operation<RequestHead>, "asksSeveral">, { prompt: { body, large }, route: to }: Planned): number =>
  body.length < JsonBounds.HARMLESS_BYTES ? 0 : body.length * (asksSeveral?.(to) === true ? 6 : large === null ? 3 : 1)

const noInterceptors: Stages.AdmittedCall["interceptors"] = []

/** The actor that serves a planned request. */
export const serve = <Head extends RequestHead, C extends Stages.AdmittedCall>(
  services: LaneServices, operation: Operation<Head, C>, clientRequest: ClientRequest, call: C, planned: Planned, waited: Waits.Waited | undefined
): Served | PublicError => {
  const own = operation.serve?.(clientRequest, call, planned, waited) ?? null
  if (own !== null) return own
  const inbound = new PlannedRequest(services, operation, clientRequest, call, planned, operation.encode(call, planned, clientRequest, services.request.now))
  return new RequestActor(services.request, waited === undefined ? inbound : Inbound.changed(inbound, { since: waited.since }))
}

/** Where a request goes, or why it goes nowhere. */
export type Plan = Planned | PublicError

/** Plans; everything that can be refused is refused here, before anything is spent. */
export const plan = <Head extends RequestHead, C extends Stages.AdmittedCall>(
  services: LaneServices, operation: Operation<Head, C>, clientRequest: Pick<Exchange, "header">, call: C
): Plan => {
  const { body, form, head, key, large, parsed } = call
  const prompt = new Prompt(body, parsed, large ?? null, key, form ?? null, operation.about)
  prompt.names = PreviousResponses.namesOf(call.asked)
  const found = services.router().route({
    model: head.model,
    key,
    face: operation.face.name,
    session: sessionOf(clientRequest),
    headers: wishesOf(clientRequest),
    // Released at the commit point: a route lives as long as its stream.
    prompt,
    length: operation.length?.(clientRequest, call, prompt) ?? null,
    now: services.request.now(),
    dry: operation.dry === true
  })
  if (found instanceof PublicError) return unplanned(found, services, operation, key)
  const arranged = call.lease === undefined ? found : call.lease.arrange(found)
  if (arranged instanceof PublicError) return arranged
  const placed = operation.place === undefined ? arranged : operation.place(arranged, parsed)
  return placed instanceof PublicError ? placed : { route: placed, prompt }
}

/** The client's error of a request that no target can serve. */
const unplanned = (found: PublicError, { report }: LaneServices, { face, terminal }: Pick<Operation<RequestHead>, "face" | "terminal">, key: ApiKey | null): PublicError => {
  const told = TerminalErrors.ofPlan(found, report.rules(), () => report.leadsElsewhere(key, face.name, []))
  return terminal === undefined ? told : terminal(told, null)
}

const noWishes: Question["headers"] = {}

/** What the client's headers say of automatic routing and combos; shared by requests that say nothing. */
const wishesOf = (clientRequest: Pick<Exchange, "header">): Question["headers"] => {
  const mode = clientRequest.header("x-gateway-mode")
  const budget = clientRequest.header("x-gateway-budget")
  const budgetFallback = clientRequest.header("x-gateway-budget-fallback")
  return mode === undefined && budget === undefined && budgetFallback === undefined ? noWishes : { mode, budget, budgetFallback }
}

/** The session that the client names; null when it names none. */
export const sessionOf = (clientRequest: Pick<Exchange, "header">): string | null => clientRequest.header("x-session-id") ?? clientRequest.header("x_session_id") ?? null
