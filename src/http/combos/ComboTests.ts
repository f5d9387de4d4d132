/** Asking every target of a combo once (POST /api/combos/test). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { ProviderProbe, type ProbeResult } from "#actors/ports/ProviderProbe.ts"
import type { Target } from "#actors/ports/Target.ts"
import type { TargetTest } from "#schemas/api/Combos.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { expansionsOf } from "#src/http/combos/expansions.ts"
import { ConnectionTests } from "#src/http/providers/ConnectionTests.ts"
import type { Candidate } from "#src/routing/candidate.ts"
import { candidatesOf, refusedOf } from "#src/routing/combos/expand.ts"

/** ms for one target (supplement 2.1). */
const targetTimeout = 20_000
/** Targets that are asked at once. */
const parallel = 5

export class ComboTests extends Context.Service<ComboTests, {
  /** Never fails: what goes wrong is the outcome of its target. Targets in the listed order, then steps without one. */
  readonly run: (combo: Combo) => Effect.Effect<ReadonlyArray<TargetTest>>
}>()("gateway/http/ComboTests") {}

/** Public name of a target's provider: registry id or node prefix. */
const providerOf = (target: Target): string => target.publicModel.slice(0, target.publicModel.indexOf("/"))

const outcomeOf = ({ executionKey, label, stepId, target }: Candidate, result: ProbeResult | null): TargetTest => ({
  model: target.publicModel,
  provider: providerOf(target),
  stepId,
  executionKey,
  connectionId: target.connection?.id ?? null,
  label,
  status: result?.valid === true ? "ok" : "error",
  ...(result === null || result.statusCode === null ? {} : { statusCode: result.statusCode }),
  ...(result?.valid === true ? {} : { error: result === null ? `No answer within ${targetTimeout} ms` : result.diagnosis?.message ?? "The upstream refused" }),
  latencyMs: result?.latencyMs ?? targetTimeout
})

/** By the probe of connections: a one-token chat with the model, straight to the vendor. */
export const makeProbing = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const probe = yield* ProviderProbe
  const tests = yield* ConnectionTests

  const ask = (candidate: Candidate): Effect.Effect<TargetTest> => {
    const { connection, model, provider } = candidate.target
    const probed = connection === null
      ? probe.probe({ provider, authType: "none", credential: null, model, providerSpecificData: {}, wants: "chat" })
      : tests.probe(connection, { model, wants: "chat" })
    return Effect.map(
      Effect.timeoutOrElse(probed, { duration: targetTimeout, orElse: () => Effect.succeed(null) }),
      (result) => outcomeOf(candidate, result)
    )
  }

  return ComboTests.of({
    run: Effect.fn("ComboTests.run")(function*(combo) {
      const expansion = expansionsOf(configuration.current(), flags)(combo)
      const asked = yield* Effect.forEach(candidatesOf(expansion), ask, { concurrency: parallel })
      const refused = refusedOf(expansion).map(({ asked: model, error, executionKey, label, stepId }): TargetTest => ({
        model, provider: null, stepId, executionKey, connectionId: null, label, status: "error", statusCode: error.status,
        error: error.message, latencyMs: 0
      }))
      return [...asked, ...refused]
    })
  })
})

export const layerProbing = Layer.effect(ComboTests, makeProbing)
