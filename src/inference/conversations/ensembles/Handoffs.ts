/**
 * Context hand-off: when another account or model continues a session, it gets a summary of what came before. Combos of strategy
 * `context-relay` do so; UNIVERSAL_CONTEXT_HANDOFF_ENABLED adds the other combos, where a change of account alone needs no
 * summary.
 *
 * A summary is due when the prompt fills `handoffThreshold` of the smaller of the two context windows. It is made once for the
 * change, by `handoffModel` or by the next target, and stands before the client's messages; it replaces the older messages when
 * all of them would not fit. Without it (it failed, took too long) the request continues unchanged.
 */
import * as Effect from "effect/Effect"
import { Ensemble } from "#actors/ensemble/Ensemble.ts"
import * as Instructions from "#actors/ensemble/instructions.ts"
import * as Inbound from "#actors/request/Inbound.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import { alone, type SessionPlace, type SessionPlaces } from "#src/inference/ports/SessionPlaces.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { ConversationEncoding } from "#src/inference/conversations/ConversationEncoding.ts"
import type { ConversationServices } from "#src/inference/conversations/ConversationServices.ts"
import * as Models from "./models.ts"
import { partOf, quietView } from "./part.ts"
import type { HandoffNote } from "#src/inference/lane/RouteReport.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import type { CompleteConfig } from "#src/routing/combos/config.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import type { Route } from "#src/routing/Router.ts"

/** Sessions whose place is surely known. */
const keptSessions = 10_000
/** How long a summary may take, ms. */
const summaryMs = 30_000

const windowOf = (route: Route, provider: string, model: string): number | null =>
  route.order.order.find(({ target }) => target.provider === provider && target.model === model)?.contextWindow ?? route.combo?.context_length ?? null

const smaller = (a: number | null, b: number | null): number | null => a === null ? b : b === null ? a : Math.min(a, b)

/** The prompt's tokens, estimated from its bytes. */
const tokensOf = (prompt: Prompt): number => Math.ceil(prompt.body.length / 4)

/** A planned request of a session. */
export interface HandoffSession {
  readonly combo: Combo
  readonly config: CompleteConfig
  readonly route: Route
  readonly key: string
  /** Null for a new session. */
  readonly last: SessionPlace | null
}

export class Handoffs {
  private readonly places = new Generations<SessionPlace>(keptSessions)
  private readonly universal: () => boolean
  private readonly nodes: SessionPlaces["Service"]

  /** `universal`: the flag; `nodes`: announces where a session is. */
  constructor(universal: () => boolean, nodes: SessionPlaces["Service"] = alone) {
    this.universal = universal
    this.nodes = nodes
  }

  /** Another node has answered the session. */
  readonly onPlace = (key: string, place: SessionPlace): void => this.places.set(key, place)

  /** Null when there is no hand-off: no combo, no session, or a combo without hand-offs. */
  sessionOf(route: Route, call: ConversationCall, session: string | null): HandoffSession | null {
    const { combo, config } = route
    if (combo === null || config === null || session === null || !this.handsOver(combo)) return null
    const key = this.keyOf(combo, call.key, session)
    return { combo, config, route, key, last: this.places.get(key) ?? null }
  }

  /** A summary may replace the older messages of the session when this target continues it. */
  mayShorten(combo: Combo, target: Target, key: ApiKey | null, session: string | null): boolean {
    if (session === null || !this.handsOver(combo)) return false
    const last = this.places.get(this.keyOf(combo, key, session))
    return last !== undefined && differs(last, placeOf(target), combo.strategy === "context-relay")
  }

  private handsOver({ strategy }: Combo): boolean {
    return strategy === "context-relay" || this.universal()
  }

  private keyOf(combo: Combo, key: ApiKey | null, session: string): string {
    return this.nodes.keyOf(`${combo.id}\n${key === null ? "" : key.id}\n${session}`)
  }

  /** Records the target that answered. */
  recorder({ key, last, route }: HandoffSession): Interceptor {
    return {
      beforeAttempt: () => null,
      attemptSettled: ({ connectionId, model, outcome, provider }) => {
        if (outcome !== "completed" || (last !== null && !differs(last, { provider, model, connectionId }, true))) return
        const alias = route.order.order.find(({ target }) => target.provider === provider)?.target.providerAlias ?? provider
        const place = { provider, alias, model, connectionId, window: windowOf(route, provider, model) }
        this.places.set(key, place)
        this.nodes.tell(key, place)
      },
      closed: () => undefined
    }
  }
}

const differs = (last: Pick<SessionPlace, "provider" | "model" | "connectionId">, to: typeof last, byAccount: boolean): boolean =>
  last.provider !== to.provider || last.model !== to.model || (byAccount && last.connectionId !== to.connectionId)

const placeOf = ({ connection, model, provider }: Target) => ({ provider, model, connectionId: connection === null ? null : connection.id })

/** Whether a hand-off to this target is due. */
const isDue = ({ combo, config, last, route }: HandoffSession, target: Target, prompt: Prompt): boolean => {
  if (last === null || !differs(last, placeOf(target), combo.strategy === "context-relay")) return false
  const window = smaller(last.window, windowOf(route, target.provider, target.model))
  return window !== null && tokensOf(prompt) >= config.handoffThreshold * window
}

/** Some target of the route would need a hand-off. */
export const mayBeDue = (session: HandoffSession, prompt: Prompt): boolean =>
  session.last !== null && session.route.targets.some((target) => isDue(session, target, prompt))

/** Serves a request on whose way a hand-off may be due: its target is known only when its turn comes. */
export const serve = (services: ConversationServices, call: ConversationCall, session: HandoffSession, encoding: ConversationEncoding, prompt: Prompt, inbound: Inbound.Inbound): Ensemble => {
  const { config, last, route } = session
  const { codec, head, key } = call
  const quiet = quietView(inbound.route, true)

  const summarisers = (target: Target): ReadonlyArray<Target> => {
    if (config.handoffModel === "") return [target]
    const named = Models.routeOf(services.router(), config.handoffModel, key, codec.name, services.request.now())
    return named instanceof PublicError ? [target] : named.targets
  }

  let handedOver: HandoffNote | null = null

  const handOver = (ensemble: Ensemble, target: Target): Effect.Effect<null> => {
    const conversation = encoding.decoded()
    const older = conversation instanceof PublicError ? null : Instructions.summarised(conversation, config.maxMessagesForSummary)
    const from = { provider: last?.alias ?? "", model: last?.model ?? "", connectionId: last?.connectionId ?? null }
    const places = { from, to: { provider: target.providerAlias, model: target.model, connectionId: target.connection?.id ?? null } }
    if (conversation instanceof PublicError || older === null) {
      handedOver = { ...places, summary: "none", by: null, ms: 0 }
      return Effect.succeed(null)
    }
    const summary = partOf({ services, codec, head, prompt, route, inbound }, { conversation: older, targets: summarisers(target), view: quiet })
    const since = services.request.now()
    return Effect.map(ensemble.ask(summary, "aside", summaryMs), ({ answer, target: by }) => {
      const text = answer === null ? "" : Instructions.textOf(answer)
      const window = windowOf(route, target.provider, target.model)
      if (text !== "") encoding.alter(Instructions.resumed(conversation, text, window !== null && tokensOf(prompt) > window))
      handedOver = { ...places, summary: text === "" ? "failed" : "given", by: by.publicModel, ms: services.request.now() - since }
      return null
    })
  }

  const work = (ensemble: Ensemble): Effect.Effect<void> => {
    let done = false
    const guide: Interceptor = {
      beforeAttempt: (target) => {
        if (done || !isDue(session, target, prompt)) return null
        done = true
        return handOver(ensemble, target)
      },
      attemptSettled: () => undefined,
      closed: () => undefined
    }
    return ensemble.finish(Inbound.changed(inbound, {
      route: Inbound.changedView(inbound.route, {
        finished: (ok, notes, latencyMs) => {
          inbound.route.finished?.(ok, notes, latencyMs)
          if (handedOver !== null) services.report.noteHandoff(inbound.requestId, handedOver)
        }
      })
    }), [guide])
  }
  // The last call tells the route's own view of its end.
  return new Ensemble({ services: services.request, fork: services.fork, live: services.live }, inbound, work, () => undefined)
}
