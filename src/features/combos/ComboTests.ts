/** Asking every target of a combo once (POST /api/combos/test). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { TargetTests } from "#src/inference/ports/TargetTests.ts"
import type { TargetTest } from "./api.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { expansionsOf } from "#src/routing/combos/expansions.ts"
import { makePricer, viewOf } from "#src/providers/pricing.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"
import { candidatesOf, refusedOf } from "#src/routing/combos/expand.ts"

/** What the calls are called in the ledger. */
const endpoint = "/api/combos/test"
/** Time limit of one target's test, ms. */
const targetTimeout = 20_000
/** Targets that are asked at once. */
const parallel = 5

export class ComboTests extends Context.Service<ComboTests, {
  /** Never fails: what goes wrong is the outcome of its target. Targets in the listed order, then steps without one. */
  readonly run: (combo: Combo) => Effect.Effect<ReadonlyArray<TargetTest>>
}>()("gateway/http/ComboTests") {}

/** Public name of a target's provider: registry id or node prefix. */
const providerOf = (target: Target): string => target.publicModel.slice(0, target.publicModel.indexOf("/"))

/** By the request path: what a client would meet, breakers and accounting included. */
export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const tests = yield* TargetTests

  const ask = ({ executionKey, label, stepId, target }: Candidate): Effect.Effect<TargetTest> =>
    Effect.map(tests.test(target, endpoint, targetTimeout), ({ error, latencyMs, statusCode, text }): TargetTest => ({
      model: target.publicModel,
      provider: providerOf(target),
      stepId,
      executionKey,
      connectionId: target.connection?.id ?? null,
      label,
      status: error === null ? "ok" : "error",
      statusCode,
      ...(error === null ? {} : { error }),
      latencyMs,
      ...(text === null ? {} : { responseText: text })
    }))

  return ComboTests.of({
    run: Effect.fn("ComboTests.run")(function*(combo) {
      const snapshot = configuration.current()
      const priceOf = makePricer(viewOf(snapshot))
      const expansion = expansionsOf(snapshot, flags, priceOf)(combo)
      const asked = yield* Effect.forEach(candidatesOf(expansion), ask, { concurrency: parallel })
      const refused = refusedOf(expansion).map(({ asked: model, error, executionKey, label, stepId }): TargetTest => ({
        model, provider: null, stepId, executionKey, connectionId: null, label, status: "error", statusCode: error.status,
        error: error.message, latencyMs: 0
      }))
      return [...asked, ...refused]
    })
  })
})

export const layer = Layer.effect(ComboTests, make)
