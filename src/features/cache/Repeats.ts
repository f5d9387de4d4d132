/** The stages that answer what was answered before: idempotency and the response cache, assembled from the ports. */
import * as Crypto from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Configuration } from "#actors/ports/Configuration.ts"
import { IdempotencyStore, IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { PublicError } from "#schemas/errors.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import { ResponseCaching } from "./stage.ts"
import { Idempotency } from "#src/features/cache/idempotency/stage.ts"
import { CurrentRouter } from "#src/inference/lane/services/CurrentRouter.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Ids } from "#src/inference/lane/services/Ids.ts"
import { LaneOptions } from "#src/inference/lane/services/LaneOptions.ts"
import type { ConversationCall, Stage } from "#src/inference/lane/stages/Stages.ts"

export class Repeats extends Context.Service<Repeats, {
  readonly idempotency: Stage
  readonly caching: Stage
  readonly view: IdempotencyView["Service"]
}>()("gateway/features/cache/Repeats") {}

const make = Effect.fnUntraced(function*(filesBytes: number) {
  const { fork, now } = yield* Forks
  const { makeResponseId } = yield* Ids
  const { limits } = yield* LaneOptions
  const { draining } = yield* Lifecycle
  const router = yield* CurrentRouter
  const telemetry = yield* Telemetry
  const cache = yield* ResponseCache
  const configuration = yield* Configuration
  const store = Option.getOrNull(yield* Effect.serviceOption(IdempotencyStore))

  // What every request asks is made once per snapshot.
  let windowMs = 0
  let settings = ""
  const read = (): void => {
    const { flagOverrides, interceptions, paramFilters, settings: stored } = configuration.current()
    const window = stored.get("idempotencyWindowMs") ?? settingDefaults["idempotencyWindowMs"]
    windowMs = typeof window === "number" && window > 0 ? window : 0
    const documents = Object.entries({ paramFilters, interceptions }).filter(([, of]) => of.size > 0).map(([name, of]) => [name, Object.fromEntries(of)] as const)
    settings = Identity.settingsDigest(documents.length === 0 ? stored : new Map([...stored, ...documents]), flagOverrides)
  }
  read()
  const unsubscribe = configuration.onChange(read)
  yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))

  const identify = ({ codec, guardrails, head, key, large, memory, parsed, request }: ConversationCall): string | null => {
    if (large !== undefined && large.identity === null) return null
    const resolved = router.now().identify({ model: head.model, key, face: codec.name })
    // What cannot be served is refused where requests are planned.
    if (resolved instanceof PublicError) return null
    return Identity.signatureOf({
      apiKeyId: key === null ? null : key.id,
      keyPolicy: key === null ? "" : JSON.stringify(key.policy),
      format: codec.name,
      resolved,
      body: parsed,
      digest: large?.identity ?? undefined,
      header: (name) => request.header(name),
      guardrails,
      memory,
      settings
    })
  }

  const idempotency = new Idempotency({ filesBytes, windowMs: () => windowMs, now, telemetry, draining, store, fork, makeOwner: () => Crypto.randomUUID() })
  const caching = new ResponseCaching({ cache, identify, now, telemetry, draining, fork, makeId: makeResponseId, drainMs: limits.drainForUsageMs })
  return Repeats.of({ idempotency, caching, view: { activeKeys: () => idempotency.activeKeys(), windowMs: () => windowMs } })
})

/** `filesBytes`: of files in the making, all together. */
export const layer = (filesBytes: number) => Layer.effect(Repeats, make(filesBytes))

/** The port IdempotencyView over it. */
export const viewLayer = Layer.effect(IdempotencyView, Effect.map(Repeats, ({ view }) => view))

export const idempotency = Effect.map(Repeats, (repeats) => repeats.idempotency)
export const caching = Effect.map(Repeats, (repeats) => repeats.caching)
