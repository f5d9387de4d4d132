/**
 * The conversation endpoints: the direct lane. A synchronous prelude (key, parse, plan) and then one request actor.
 *
 * The body is parsed once to be understood. Towards a provider that speaks the client's own format it is forwarded as the bytes
 * that came, only what must change (`model`, a stream's wish for usage) is spliced; towards another family it is decoded into
 * the neutral conversation once and encoded for each family that is tried.
 */
import { RequestActor } from "#actors/request/Request.ts"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { Face } from "#actors/request/ports/Face.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Ensemble } from "#actors/ensemble/Ensemble.ts"
import * as Ensembles from "#src/inference/conversations/ensembles/Ensembles.ts"
import * as Handoffs from "#src/inference/conversations/ensembles/Handoffs.ts"
import { type Asking, inboundOf } from "./inbound.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import { Speech } from "./Speech.ts"
import type { ConversationServices } from "./services.ts"
import * as Intake from "#src/inference/lane/Intake.ts"
import * as Stages from "#src/inference/lane/stages/Stage.ts"
import * as TerminalErrors from "#src/inference/lane/terminalErrors.ts"
import * as Waits from "#src/inference/lane/stages/Waits.ts"
import { noWeight } from "#src/platform/structures/HeldBytes.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import type { Route } from "#src/routing/Router.ts"
import type { DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import * as Formats from "#src/wire/formats.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

export type { ConversationServices } from "./services.ts"

/** One endpoint that takes conversations. */
export interface Entry {
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  readonly codec: ClientCodec
  /** Members that the path says (`model`, `stream`), or why the path is wrong. `aliasOf`: a provider's canonical id. */
  readonly fromPath?: (
    path: string,
    body: Readonly<Record<string, unknown>>,
    aliasOf: (prefix: string) => string | null
  ) => Readonly<Record<string, unknown>> | PublicError
  /** `fromPath` says model and stream flag. */
  readonly modelInPath?: boolean
  /** The key that stands in the path. */
  readonly token?: (path: string) => string | null
}

/** What a key's `allowedEndpoints` calls every conversation endpoint, whatever its format. */
const category = "chat"

export const route = (services: ConversationServices, entry: Entry): DirectRoute => {
  const { codec, endpoint } = entry
  const face = Formats.faceOf(codec, services.sseComments)
  const gate: Intake.Gate = { endpoint, category, errorBody: codec.errorBody, token: entry.token, format: codec.name, modelInPath: entry.modelInPath, fenced: true }
  return (exchange) => {
    // Registered before anything can wait: the front end requires it, and an abort before the plan costs nothing upstream.
    let request: RequestActor | Ensemble | null = null
    let gone: (() => void) | null = null
    let onLeft: Stages.Call["onLeft"]
    exchange.onAbort((reason) => {
      if (request === null) gone?.()
      else if (reason === "shutdown") request.shutDown()
      else if (onLeft === undefined) request.clientLeft(reason === "slow-reader")
      else {
        const left = request
        onLeft(() => left.clientLeft(reason === "slow-reader"))
      }
    })
    Intake.take(exchange, services, gate, (taken) => {
      const call = open(services, entry, exchange, taken, (listener) => {
        gone = listener
      })
      if (call instanceof PublicError) {
        taken.refuse(call)
        return
      }
      const start = (passed: Stages.Call, waited?: Waits.Waited): void => {
        const planned = plan(services, exchange, passed)
        if (planned instanceof PublicError) {
          Waits.waitOrRefuse(services.waits, planned, passed, waited, start)
          return
        }
        exchange.forgetBody()
        const letGo = services.held.hold(weightOf(planned))
        if (letGo === null) {
          passed.refuse(Intake.noRoom())
          return
        }
        planned.prompt.onRelease = letGo
        const served = serve(services, face, exchange, passed, planned, waited)
        if (served instanceof PublicError) {
          letGo()
          passed.refuse(served)
          return
        }
        request = served
        onLeft = passed.onLeft
        services.live.add(served)
        const fiber = services.fork(served.run)
        served.attach(fiber)
        if (letGo !== noWeight) fiber.addObserver(letGo)
        // It left while a stage waited, and others want the answer: from now on there is a request to end.
        if (onLeft !== undefined && exchange.closed) onLeft(() => served.clientLeft(false))
      }
      Stages.pass(services.stages, call, start)
    })
  }
}

/**
 * Bytes that a request holds. A large one holds its body; a smaller one its tree, too, and that is estimated: it takes little to
 * hold either. An ensemble holds what it makes of them for all whom it asks.
 */
const weightOf = ({ prompt: { body, large }, route }: Planned): number =>
  body.length < JsonBounds.HARMLESS_BYTES ? 0 : body.length * (Ensembles.isFor(route) ? 6 : large === null ? 3 : 1)

const noCompanions: Stages.Call["companions"] = []

/** Reads the path and the head. */
const open = (services: ConversationServices, entry: Entry, exchange: Exchange, taken: Intake.Taken, onGone: Stages.Call["onGone"]): Stages.Call | PublicError => {
  const { codec, endpoint } = entry
  const { body, key, refuse, tags } = taken
  let { large, parsed } = taken
  if (entry.fromPath !== undefined) {
    const said = entry.fromPath(exchange.path, parsed, services.router().planner.aliasOf)
    if (said instanceof PublicError) return said
    parsed = { ...parsed, ...said }
    if (large !== null) large = { ...large, grown: said }
  }
  const head = codec.head(parsed)
  if (head instanceof PublicError) return head
  return { tags, key, endpoint, codec, body, parsed, large: large ?? undefined, head, request: exchange, client: exchange, companions: noCompanions, refuse, onGone }
}

/** Where a request goes, and what it says. */
export interface Planned {
  readonly route: Route
  readonly prompt: Prompt
}

/** The actor that serves a planned request. */
export const serve = (
  services: ConversationServices, face: Face, exchange: Asking, call: Stages.Call, { prompt, route }: Planned, waited: Waits.Waited | undefined
): RequestActor | Ensemble | PublicError => {
  if (Ensembles.isFor(route)) return Ensembles.begin(services, face, exchange, call, route, prompt, waited === undefined ? null : waited.since)
  const speech = new Speech(services, call.codec, call.head, prompt, route, null, exchange.header("x-gateway-effort"))
  const planned = inboundOf(services, face, exchange, call, route, prompt, speech)
  const inbound = waited === undefined ? planned : { ...planned, since: waited.since }
  return route.combo === null ? new RequestActor(services.request, inbound) : ofCombo(services, call, route, prompt, speech, inbound, sessionOf(exchange))
}

/** A combo's request with what else goes with it: copies for its shadows, a hand-off of its session. */
const ofCombo = (
  services: ConversationServices, call: Stages.Call, route: Route, prompt: Prompt, speech: Speech, planned: Inbound, sessionId: string | null
): RequestActor | Ensemble => {
  const shadow = services.shadows.companionOf(services, call, route, planned)
  const session = services.handoffs.sessionOf(route, call, sessionId)
  const beside = [...(shadow === null ? [] : [shadow]), ...(session === null ? [] : [services.handoffs.recorder(session)])]
  const inbound = beside.length === 0 ? planned : { ...planned, companions: [...planned.companions, ...beside] }
  return session !== null && Handoffs.mayBeDue(session, prompt)
    ? Handoffs.serve(services, call, session, speech, prompt, inbound)
    : new RequestActor(services.request, inbound)
}

const sessionOf = (exchange: Pick<Exchange, "header">): string | null => exchange.header("x-session-id") ?? exchange.header("x_session_id") ?? null

/** Plans; everything that can be refused is refused here, before anything is spent. */
export const plan = (services: ConversationServices, exchange: Pick<Exchange, "header">, call: Stages.Call): Planned | PublicError => {
  const { body, codec, head, key, large, parsed } = call
  const prompt = new Prompt(body, parsed, large ?? null, key)
  const route = services.router().route({
    model: head.model,
    key,
    face: codec.name,
    session: sessionOf(exchange),
    headers: {
      mode: exchange.header("x-gateway-mode"),
      budget: exchange.header("x-gateway-budget"),
      budgetFallback: exchange.header("x-gateway-budget-fallback")
    },
    // Over the prompt, which is released at the commit point: a route lives as long as its stream.
    about: () => aboutOf(prompt.body, prompt.parsed),
    now: services.request.now()
  })
  if (route instanceof PublicError) {
    return TerminalErrors.ofPlan(route, services.report.rules(), () => services.report.leadsElsewhere(key, codec.name, []))
  }
  const arranged = call.lease === undefined ? route : call.lease.arrange(route)
  return arranged instanceof PublicError ? arranged : { route: arranged, prompt }
}

/** Characters of the prompt's beginning that say which cache may hold it. */
const prefixBytes = 2_048

/** What a combo's strategy may ask of a request; estimates, because nothing was decoded yet. */
const aboutOf = (body: Buffer, parsed: Readonly<Record<string, unknown>>) => ({
  promptTokens: Math.ceil(body.length / 4),
  promptPrefix: body.toString("latin1", 0, prefixBytes),
  needs: {
    tools: Array.isArray(parsed["tools"]) && parsed["tools"].length > 0,
    vision: body.includes('"image') || body.includes('"inlineData"') || body.includes('"input_image"'),
    structuredOutput: parsed["response_format"] !== undefined || parsed["text"] !== undefined || parsed["format"] !== undefined
  }
})
