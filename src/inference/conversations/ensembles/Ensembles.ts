/** A planned request whose combo asks several models: its members, and the ensemble that serves it. */
import { Ensemble } from "#actors/ensemble/Ensemble.ts"
import * as Strategies from "#actors/ensemble/strategies.ts"
import * as Inbound from "#actors/request/Inbound.ts"
import type { AttemptNote, RouteView, SkipNote, RouteNotes } from "#actors/request/Inbound.ts"
import type { Face } from "#actors/request/ports/Face.ts"
import { changed } from "#actors/request/ports/WalkPolicy.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { PlannedRequest } from "#src/inference/lane/PlannedRequest.ts"
import type { ClientRequest } from "#src/inference/lane/Operation.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import * as ComboWords from "#src/inference/conversations/comboWords.ts"
import { ConversationEncoding } from "#src/inference/conversations/ConversationEncoding.ts"
import type { ConversationServices } from "#src/inference/conversations/ConversationServices.ts"
import { panelOf, type Seat, seatsOf } from "./members.ts"
import * as Models from "./models.ts"
import { partOf, quietView, saidInstead, type Whole } from "./part.ts"
import * as RouteReport from "#src/inference/lane/RouteReport.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"
import type { CompleteConfig } from "#src/routing/combos/config.ts"
import type { Route } from "#src/routing/Router.ts"
import * as Dialects from "#src/wire/dialects.ts"

/** Models of a combo that are asked at once; those behind them are not asked. */
export const panelMost = 50

const strategies: ReadonlySet<string> = new Set(["fusion", "pipeline", "debate"])

export interface EnsembleRoute extends Route {
  readonly combo: Combo
  readonly config: CompleteConfig
}

/** Whether the combo of a route asks several models. */
export const isFor = (route: Route): route is EnsembleRoute => route.combo !== null && route.config !== null && strategies.has(route.combo.strategy)

/** The targets that may give the final answer, best first. */
interface Last {
  readonly candidates: ReadonlyArray<Candidate>
  readonly lastResort: boolean
}

/** `since`: when its waiting for a turn began; null = it did not wait. */
export const begin = (
  services: ConversationServices, face: Face, clientRequest: ClientRequest, call: ConversationCall, route: EnsembleRoute, prompt: Prompt, since: number | null
): Ensemble | PublicError => {
  const { combo, config } = route
  const { codec, head } = call
  const now = services.request.now()
  const words = new ConversationEncoding(services, codec, head, prompt, route, null, clientRequest.header("x-gateway-effort"))
  const conversation = words.decoded()
  if (conversation instanceof PublicError) return conversation
  const isPipeline = combo.strategy === "pipeline"
  const seats = isPipeline ? seatsOf(route, now) : panelOf(seatsOf(route, now).slice(0, panelMost), config.fusionTuning.minPanel)
  const last = isPipeline ? lastOf(seats.slice(-1)) : judgeOf(services, call, config, seats, now)
  if (last instanceof PublicError) return last

  const known = unique([...seats.flatMap(({ candidates }) => candidates), ...last.candidates])
  const places = new Map(known.map((candidate, i) => [candidate, i]))
  const report: Route = {
    ...route, targets: known.map(({ target }) => target),
    order: { ...route.order, order: known, skipped: route.order.skipped.filter(({ candidate }) => !places.has(candidate)) }
  }
  const view = RouteReport.viewOf(services.report, report, call.tags.requestId, call.requestedModel ?? head.model, call.key, codec.name)
  const attempts: Array<AttemptNote> = []
  const skipped: Array<SkipNote> = []
  /** The notes of one call, with the places that its targets have in the whole. */
  const placed = (candidates: ReadonlyArray<Candidate>, { notes, skips }: RouteNotes): RouteNotes => {
    const place = <A extends { readonly index: number }>(note: A): A => ({ ...note, index: places.get(candidates[note.index] as Candidate) ?? 0 })
    return Inbound.notesOf(notes.map(place), skips.map(place))
  }
  const noting = (candidates: ReadonlyArray<Candidate>): NonNullable<RouteView["finished"]> => (_ok, told) => {
    const { notes, skips } = placed(candidates, told)
    attempts.push(...notes)
    skipped.push(...skips)
  }
  /** All that was found out, with what the last call says of itself. */
  const allOf = (own: RouteNotes): RouteNotes => {
    const { notes, skips } = placed(last.candidates, own)
    return Inbound.notesOf([...attempts, ...notes], [...skipped, ...skips])
  }
  /** A call that writes to the client reports the whole. */
  const telling = (inbound: Inbound.Inbound): Inbound.Inbound => Inbound.changed(inbound, {
    responseHeaders: (facts, own) => inbound.responseHeaders(facts, allOf(own)),
    errorHeaders: (error, fallbackAttempts, own) => inbound.errorHeaders(error, fallbackAttempts, allOf(own))
  })
  const alone = new PlannedRequest(services, { face }, clientRequest, call, { route: report, prompt }, words)
  const whole: Whole = { services, codec, head, prompt, route, inbound: alone, words }

  const plan: Strategies.EnsemblePlan = {
    combo: combo.name,
    conversation,
    patience: config.fusionTuning,
    members: seats.map(({ candidates, lastResort, missing, name, prompt: instruction }) => ({
      name,
      prompt: instruction,
      missing,
      call: (said: Conversation) => partOf(whole, {
        conversation: said,
        targets: candidates.map(({ target }) => target),
        view: Inbound.changedView(quietView(view, lastResort), {
          ...(isPipeline ? { policy: changed(view.policy, (policy) => ({ ...policy, hedgeDelayMs: null, answers: null })) } : {}),
          finished: noting(candidates)
        })
      })
    })),
    last: (said) => lastCall(telling(new PlannedRequest(services, { face }, clientRequest, call, { route: report, prompt }, saidInstead(whole, said))), last, Inbound.changedView(view, {
      line: (own) => view.line(allOf(own)),
      lastResort: last.lastResort,
      finished: noting(last.candidates),
      terminal: (error, notes, skips) => {
        const all = allOf(Inbound.notesOf(notes, skips))
        return view.terminal(isPipeline ? Strategies.stepFailed(plan, plan.members.length - 1, error) : error, all.notes, all.skips)
      }
    })),
    terminal: (error) => view.terminal(error, attempts, skipped),
    direct: ({ answer, body, stream = null, target }) => !head.stream ? { stream: false, body } : {
      stream: true,
      body: stream ?? Buffer.from(Dialects.streamOf(answer, codec, {
        model: target.publicModel, request: prompt.parsed, includeUsage: head.wantsUsage, makeId: services.makeResponseId, now: () => Math.floor(services.request.now() / 1000)
      }))
    }
  }
  const work = combo.strategy === "fusion"
    ? Strategies.fusion(plan)
    : combo.strategy === "debate" ? Strategies.debate(plan, config.debateTuning) : Strategies.pipeline(plan, ComboWords.common(combo, ComboWords.withTerse(services.systemPrompt(), prompt.shortening?.terse ?? null)))
  const around = { services: services.request, fork: services.fork, live: services.live }
  const shadow = services.shadows.interceptorOf(services, call, route, alone)
  const inbound = Inbound.changed(lastCall(telling(alone), last, Inbound.changedView(view, { line: (own) => view.line(allOf(own)) })), {
    ...(shadow === null ? {} : { interceptors: [...alone.interceptors, shadow] }),
    ...(since === null ? {} : { since })
  })
  return new Ensemble(around, inbound, work, (ok, latencyMs) => view.finished?.(ok, Inbound.notesOf(attempts, skipped), latencyMs))
}

const lastCall = (inbound: Inbound.Inbound, { candidates }: Last, view: RouteView): Inbound.Inbound =>
  Inbound.changed(inbound, { targets: candidates.map(({ target }) => target), route: view })

const lastOf = (seats: ReadonlyArray<Seat>): Last => ({
  candidates: seats.flatMap(({ candidates }) => candidates),
  lastResort: seats.some(({ lastResort }) => lastResort)
})

/**
 * config.judgeModel, else the first of the panel; then the others of the panel, for when it fails. An unknown name is reported
 * before anything is spent; a judge in cooldown is skipped.
 */
const judgeOf = (services: ConversationServices, { codec, key }: ConversationCall, { judgeModel }: CompleteConfig, seats: ReadonlyArray<Seat>, now: number): Last | PublicError => {
  const panel = lastOf(seats)
  if (judgeModel === undefined || judgeModel === "") return panel
  const judge = Models.routeOf(services.router(), judgeModel, key, codec.name, now)
  if (!(judge instanceof PublicError)) {
    return { candidates: unique([...judge.order.order, ...panel.candidates]), lastResort: judge.lastResort || panel.lastResort }
  }
  if (Models.isPassing(judge)) return panel
  return new PublicError(judge.code, judge.status, judge.type, `The combo's judgeModel '${judgeModel}' cannot be used: ${judge.message}`, judge.retryAfterSeconds, judge.extra)
}

const unique = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<Candidate> => [...new Set(candidates)]
