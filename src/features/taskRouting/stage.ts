/**
 * Sends a conversation to the model of its kind of task, where the operator asked for that: agents' requests in the background to a cheaper
 * model, others to the model of their task, or to automatic routing for what they are about. A model that cannot serve the request, or that
 * the key may not use, is not asked: the request then goes where it would have gone. While nothing is switched on, a request costs a comparison.
 *
 * It stands behind leases, whose requests stay where their lease is, and before all that goes by the model: limits, caches and plans.
 */
import * as Effect from "effect/Effect"
import type { Client } from "#actors/request/Inbound.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Kind, JobSubject } from "#src/inference/lane/bodies/jobs.ts"
import { Bodies } from "#src/inference/lane/services/Bodies.ts"
import { CurrentRouter } from "#src/inference/lane/services/CurrentRouter.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { type AdmittedCall, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"
import { headedClient } from "#src/inference/lane/stages/headedClient.ts"
import { isAutomatic } from "#src/routing/auto/combo.ts"
import type { RequestLength } from "#src/routing/contextWindow.ts"
import { isMade } from "#src/routing/models/bareCombos.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Router } from "#src/routing/Router.ts"
import * as Reading from "#src/routing/tasks/reading.ts"
import { CHARACTERS_PER_TOKEN } from "#src/wire/contextWindow/leastTokens.ts"
import { leastPromptTokens } from "#src/wire/contextWindow/promptTokens.ts"
import * as Choice from "./choice.ts"
import * as RedirectAudit from "./RedirectAudit.ts"
import type { Concern, Rules } from "./rules.ts"
import { TaskRouting } from "./TaskRouting.ts"

const HEADER = "X-Gateway-Task"
const reading: Kind<JobSubject, Reading.Said> = { module: new URL("./readJob.ts", import.meta.url).href }

/** Headers by which a client of automatic routing says itself how a model is chosen. */
const wishes = ["x-gateway-mode", "x-gateway-budget"]

/** What becomes of the request is the client's own choice already. */
const hasChosen = ({ request }: AdmittedCall): boolean => wishes.some((name) => request.header(name) !== undefined)

/** The prompt against the windows of a model that the request may be sent to. */
const lengthOf = ({ body, codec, large, parsed }: AdmittedCall): RequestLength | null => {
  if (codec === null) return null
  let least: number | null = null
  return {
    beyond: (_target, window) => {
      if (body.length <= window * CHARACTERS_PER_TOKEN) return null
      least ??= large === undefined ? leastPromptTokens(codec.name, parsed) : large.leastTokens
      return least > window ? least : null
    },
    mayBeShortened: () => false,
    mayShrink: () => false,
    mayShrinkIn: () => false
  }
}

const isServed = (router: Router, call: AdmittedCall, model: string, now: number): boolean => !(router.route({
  model, key: call.key, face: call.format, session: call.tags.session, headers: {}, prompt: unknownRequest, length: lengthOf(call), now, dry: true
}) instanceof PublicError)

/** The request may be sent elsewhere: the key may ask for its model, which is no combo of the operator's. */
const mayLeave = (router: Router, call: AdmittedCall, { automatic }: Concern, choice: Choice.Choice, now: number): boolean => {
  const { format: face, head: { model }, key } = call
  if (key !== null && !router.admits(key, model)) return false
  // What the operator names in degradationMap may be a combo; and an id of automatic routing names no stored one.
  if (automatic || choice._tag === "Background") return true
  const route = router.route({ model, key, face, session: null, headers: {}, prompt: unknownRequest, now, dry: true })
  return !(route instanceof PublicError) && (route.combo === null || isAutomatic(route.combo) || isMade(route.combo))
}

/** The client with a header more on what it is answered. */
const told = (client: Client, value: string): Client => headedClient(client, (headers) => [...headers, HEADER, value])

export const stage = Effect.gen(function*() {
  const { counts, rules } = yield* TaskRouting
  const router = yield* CurrentRouter
  const bodies = yield* Bodies
  const { fork, now } = yield* Forks
  const redirected = yield* RedirectAudit.make

  const decide = (call: AdmittedCall, of: Rules, concern: Concern, said: Reading.Said, next: (call: AdmittedCall) => void): void => {
    const { head, key, request, tags } = call
    const choice = Choice.of(of, concern, said, Choice.taskNamed(request.header("x-gateway-task")))
    const current = router.now()
    const at = now()
    if (choice === null || choice.model === null || choice.model === head.model || !mayLeave(current, call, concern, choice, at)) {
      if (choice !== null) counts.note(choice, "kept")
      return next(call)
    }
    const { model } = choice
    if (!isServed(current, call, model, at)) {
      counts.note(choice, "unavailable")
      return next({ ...call, client: told(call.client, Choice.headerOf(choice, model, false)) })
    }
    counts.note(choice, "routed")
    if (choice._tag === "Background") redirected({ from: head.model, to: model, reason: choice.reason, key, requestId: tags.requestId })
    next({ ...call, requestedModel: head.model, head: { ...head, model }, client: told(call.client, Choice.headerOf(choice, model, true)) })
  }

  return {
    name: "task routing",
    applies: (call) => rules() !== null && call.codec !== null && call.lease === undefined,
    run: (call, next) => {
      const of = rules()
      const concern = of === null ? null : of.concernOf(call.head.model)
      if (of === null || concern === null || (concern.automatic && hasChosen(call))) return next(call)
      const { large } = call
      if (large === undefined) return decide(call, of, concern, Reading.read(call.parsed), next)
      const read = Effect.callback<Reading.Said | PublicError>((resume) => {
        bodies.ask(reading, { id: large.id, bytes: call.body }, (said) => resume(Effect.succeed(said)))
      })
      // What cannot be read again goes where it asked to go.
      wait(call, fork, read, "its task was found out", (said) => said instanceof PublicError ? next(call) : decide(call, of, concern, said, next))
    }
  } satisfies Stage
})
