/**
 * Shadow routing: copies of sampled requests go to other models once the client has its answer, and their answers
 * are thrown away. Only ledger rows and combo metrics remain, under the name `<combo>#shadow`, which no combo can have.
 *
 * A shadow never delays or fails a client: it starts when the answer is complete, is not counted for the key or its budgets, does not
 * feed breakers or cooldowns, is not repeated, and is dropped when too many run.
 */
import * as Effect from "effect/Effect"
import { runCall } from "#actors/ensemble/runCall.ts"
import * as Inbound from "#actors/request/Inbound.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Services } from "#actors/request/services.ts"
import { PublicError } from "#schemas/errors.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import { ConversationEncoding } from "#src/inference/conversations/ConversationEncoding.ts"
import type { ConversationServices } from "#src/inference/conversations/ConversationServices.ts"
import * as Models from "./models.ts"
import { partOf, quietView } from "./part.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import type { Route } from "#src/routing/Router.ts"
import { shuffled } from "#src/routing/strategies/ranking.ts"

/** Shadows of this process at once; more are dropped. */
export const shadowsMost = 32

/** Bytes of a request that is copied: it is held until its answer is complete, and read a second time. */
const largest = 1024 * 1024

/** Of ids and names of what is not the client's. */
const mark = "shadow"

export class Shadows {
  private running = 0
  private readonly random: () => number

  constructor(random: () => number) {
    this.random = random
  }

  /** Sends the copies when the request was answered; null when this request has none, which is decided now. */
  interceptorOf(services: ConversationServices, call: ConversationCall, route: Route, inbound: Inbound.Inbound): Interceptor | null {
    const { combo, config } = route
    // A copy would go out without the lease that its original is fenced by.
    if (combo === null || config === null || call.lease !== undefined) return null
    const { enabled, maxTargets, sampleRate, targets, timeoutMs } = config.shadowRouting
    if (!enabled || call.body.length > largest || targets.length === 0 || this.random() >= sampleRate) return null
    // The client's own prompt is released at the commit point.
    const prompt = new Prompt(call.body, call.parsed, call.large ?? null, call.key)
    let answered = false
    return {
      beforeAttempt: () => null,
      attemptSettled: ({ final, outcome }) => {
        if (final && outcome === "completed") answered = true
      },
      closed: () => {
        if (!answered) return
        const chosen = targets.length <= maxTargets ? targets : shuffled(targets, this.random).slice(0, maxTargets)
        for (const [i, model] of chosen.entries()) this.send(services, call, route, inbound, prompt, model, { number: i + 1, timeoutMs })
      }
    }
  }

  private send(
    services: ConversationServices, call: ConversationCall, route: Route, real: Inbound.Inbound, prompt: Prompt, model: string,
    { number, timeoutMs }: { readonly number: number; readonly timeoutMs: number }
  ): void {
    const { codec, head } = call
    const { combo } = route
    if (this.running >= shadowsMost || combo === null || services.draining()) return
    const startedAt = services.request.now()
    const found = Models.routeOf(services.router(), model, call.key, codec.name, startedAt)
    const target = found instanceof PublicError ? undefined : found.targets[0]
    const conversation = new ConversationEncoding(services, codec, head, prompt, route).decoded()
    if (target === undefined || conversation instanceof PublicError) return
    const name = `${combo.name}#${mark}`
    const inbound = Inbound.changed(real, { requestId: `${real.requestId}.${mark}`, key: null, sessionTag: null, interceptors: [] })
    const { given, inbound: asked } = partOf({ services, codec, head, prompt, route, inbound }, {
      conversation, targets: [target], view: Inbound.changedView(quietView(real.route, false), { combo: name })
    })
    this.running++
    const over = (): void => {
      this.running--
      const at = services.request.now()
      const latencyMs = at - startedAt
      const ok = given(null).answer !== null
      services.report.metrics.record({
        combo: name, strategy: combo.strategy, ok, latencyMs, at,
        attempts: [{
          executionKey: model, provider: target.providerAlias, model: target.publicModel, connectionId: target.connection?.id ?? null, ok, latencyMs
        }]
      })
    }
    services.fork(Effect.ensuring(Effect.asVoid(runCall(services, quiet(services.request, timeoutMs, number), asked)), Effect.sync(over)))
  }
}

/** Services of a call that no client waits for and whose failure does not count. */
const quiet = (services: Services, timeoutMs: number, number: number): Services => {
  // A shadow call never queues: the queues are for clients.
  const { turns: _turns, ...others } = services
  const { ledger, limits, resilience, telemetry } = services
  const { total } = limits.timeouts
  return {
    ...others,
    limits: { ...limits, maxAttempts: 1, timeouts: { ...limits.timeouts, total: total === 0 ? timeoutMs : Math.min(total, timeoutMs) } },
    ledger: {
      open: (start, opening) => ledger.open({ ...start, attempt: number }, opening),
      settle: (row) => ledger.settle({ ...row, attempt: number, final: false }),
      journal: () => ledger.journal(),
      reconciliation: () => ledger.reconciliation(),
      flush: (timeout) => ledger.flush(timeout)
    },
    telemetry: {
      requestStarted: () => undefined,
      attemptSettled: (row) => telemetry.attemptSettled({ ...row, final: false }),
      requestSettled: () => undefined,
      render: () => telemetry.render()
    },
    resilience: {
      ...resilience,
      check: (target: Target, now: number) => resilience.check(target, now),
      enter: (target: Target, now: number, lastResort?: boolean) => {
        const place = resilience.enter(target, now, lastResort)
        return "release" in place ? { answered: () => undefined, release: (_verdict, at) => place.release(null, at) } : place
      }
    },
    report: () => undefined
  }
}
