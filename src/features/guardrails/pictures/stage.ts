/**
 * Describes the pictures of a conversation whose model cannot take them: the operator's bridge model says what each shows, and the
 * conversation goes on with these texts, or is answered by that model where its client asks for it. It stands before the guardrails,
 * which then read the descriptions. While it is off, a request costs one comparison.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import { Guardrails } from "#src/features/guardrails/Guardrails.ts"
import * as RewrittenBody from "#src/features/guardrails/requests/rewrittenBody.ts"
import type { JobSubject, Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { Large } from "#src/inference/lane/bodies/Prompt.ts"
import { Bodies } from "#src/inference/lane/services/Bodies.ts"
import { CurrentRouter } from "#src/inference/lane/services/CurrentRouter.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { type AdmittedCall, type ConversationCall, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import * as Demands from "#src/routing/capabilities/demands.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Route, Router } from "#src/routing/Router.ts"
import type { Bridge } from "./bridge.ts"
import * as Descriptions from "./Descriptions.ts"
import { asking, describing } from "./pictureJobs.ts"
import * as Questions from "./questions.ts"
import * as Report from "./report.ts"

const isConversation = (call: AdmittedCall): call is ConversationCall => call.codec !== null

const hasPictures = ({ large, parsed }: AdmittedCall): boolean => (large === undefined ? Demands.mediaOf(parsed) : large.media)?.vision === true

const unknownMode = Errors.make("bad_request", "Header X-Gateway-Modality-Bridge must be auto, describe or reroute.", { extra: { param: "X-Gateway-Modality-Bridge" } })

/** What becomes of a request whose model cannot take its pictures; null = the client names no such way. */
const modeOf = (said = "auto"): "describe" | "reroute" | null => {
  const mode = said.trim().toLowerCase()
  return mode === "reroute" ? mode : mode === "describe" || mode === "auto" ? "describe" : null
}

const counter = (outcome: string) => Metric.counter("gateway_vision_bridge_pictures_total", {
  description: "Pictures for models that cannot take them.", attributes: { outcome }, incremental: true
})

export const stage = Effect.gen(function*() {
  const { bridge, bridgeFor } = yield* Guardrails
  const router = yield* CurrentRouter
  const bodies = yield* Bodies
  const { fork, now } = yield* Forks
  const descriptions = Descriptions.make((yield* OwnCalls).ask, now)
  const context = yield* Effect.context<never>()

  const routeOf = (current: Router, { format: face, key }: AdmittedCall, model: string): Route | PublicError =>
    current.route({ model, key, face, session: null, headers: {}, prompt: unknownRequest, now: now(), dry: true })

  /** No model that the request may be sent to now takes pictures. */
  const isBlind = (call: AdmittedCall): boolean => {
    const current = router.now()
    const route = routeOf(current, call, call.head.model)
    return !(route instanceof PublicError) && route.targets.every((target) => current.lacks(target, "vision"))
  }

  /** The request goes to the bridge model itself; null where that cannot serve it, or a lease says where it goes. */
  const rerouted = (call: ConversationCall, { model }: Bridge): ConversationCall | null => {
    if (call.lease !== undefined || routeOf(router.now(), call, model) instanceof PublicError) return null
    const { head, requestedModel = head.model } = call
    return { ...call, requestedModel, head: { ...head, model }, client: Report.toldWay(call.client, "reroute") }
  }

  const inThread = <J extends JobSubject, R extends object>(kind: Kind<J, R>, job: J) =>
    Effect.callback<R | PublicError>((resume) => bodies.ask(kind, job, (said) => resume(Effect.succeed(said))))

  const count = (report: Report.Report): void => {
    for (const [outcome, pictures] of Object.entries(report.counts)) if (pictures > 0) counter(outcome).updateUnsafe(pictures, context)
  }

  const inLarge = (call: ConversationCall, large: Large, texts: ReadonlyArray<string>): Effect.Effect<RewrittenBody.Changed | PublicError> => {
    const id = bodies.nextId()
    return Effect.map(inThread(describing, { id: large.id, bytes: call.body, format: call.codec.name, texts }), (said) =>
      said instanceof PublicError ? said : RewrittenBody.inPlaceOf(large, said, id))
  }

  const inSmall = ({ body, parsed }: ConversationCall, texts: ReadonlyArray<string>): RewrittenBody.Changed => {
    const described = Questions.described(body, parsed, texts)
    return { body: described.bytes, parsed: described.body }
  }

  const described = Effect.fnUntraced(function*(call: ConversationCall, of: Bridge) {
    const { body: bytes, codec: { name: format }, large, parsed, tags: { requestId } } = call
    const asked = large === undefined ? Questions.of(format, of, parsed) : yield* inThread(asking, { id: large.id, bytes, format, bridge: of })
    if (asked instanceof PublicError) return asked
    const report = Report.of(asked, of, yield* descriptions.of(call, of, asked.questions))
    count(report)
    if (report.why !== null) yield* Effect.logWarning(`vision bridge: ${report.counts.unavailable} pictures of ${requestId} were not described: ${report.why}`)
    const changed = large === undefined ? inSmall(call, report.texts) : yield* inLarge(call, large, report.texts)
    return changed instanceof PublicError ? changed : { ...call, ...changed, client: Report.told(call.client, report) }
  })

  return {
    name: "vision bridge",
    applies: (call) => bridge() !== null && call.codec !== null,
    run: (call, next) => {
      if (!isConversation(call) || call.request.actsAs?.describes === true) return next(call)
      const mode = modeOf(call.request.header("x-gateway-modality-bridge"))
      if (mode === null) return call.passage.refuse(unknownMode)
      const of = hasPictures(call) ? bridgeFor(call) : null
      if (of === null || !isBlind(call)) return next(call)
      const other = mode === "reroute" ? rerouted(call, of) : null
      if (other !== null) return next(other)
      wait(call, fork, described(call, of), "its pictures were described", (said) => said instanceof PublicError ? call.passage.refuse(said) : next(said))
    }
  } satisfies Stage
})
