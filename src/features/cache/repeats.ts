/** The stages that answer what was answered before: idempotency and the response cache, assembled from the ports. */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Configuration } from "#actors/ports/Configuration.ts"
import { IdempotencyStore, type IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { PublicError } from "#schemas/errors.ts"
import { settingDefaults } from "#src/features/settings/api.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import { ResponseCaching } from "./stage.ts"
import { Idempotency } from "#src/features/cache/idempotency/stage.ts"
import type { Call, Fork, Stage } from "#src/inference/lane/stages/Stage.ts"
import type { Router } from "#src/routing/Router.ts"

export interface Options {
  readonly router: () => Router
  readonly telemetry: Telemetry["Service"]
  /** ms since the epoch. */
  readonly now: () => number
  readonly draining: () => boolean
  readonly fork: Fork
  /** Makes the unique part of response ids. */
  readonly makeId: () => string
  /** How long a call whose client left is gone on with for the cache, ms. */
  readonly drainMs: number
}

export interface Repeats {
  /** In this order. */
  readonly stages: ReadonlyArray<Stage>
  readonly view: IdempotencyView["Service"]
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const cache = yield* ResponseCache
  const configuration = yield* Configuration
  const store = Option.getOrNull(yield* Effect.serviceOption(IdempotencyStore))

  // What every request asks is made once per snapshot.
  let windowMs = 0
  let settings = ""
  const read = (): void => {
    const { flagOverrides, settings: stored } = configuration.current()
    const window = stored.get("idempotencyWindowMs") ?? settingDefaults["idempotencyWindowMs"]
    windowMs = typeof window === "number" && window > 0 ? window : 0
    settings = Identity.settingsDigest(stored, flagOverrides)
  }
  read()
  const unsubscribe = configuration.onChange(read)
  yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))

  const identify = ({ codec, head, key, large, parsed, request }: Call): string | null => {
    if (large !== undefined && large.identity === null) return null
    const resolved = options.router().identify({ model: head.model, key, face: codec.name })
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
      settings
    })
  }

  const { draining, fork, now, telemetry } = options
  const idempotency = new Idempotency({ windowMs: () => windowMs, now, telemetry, draining, store, fork, makeOwner: () => Crypto.randomUUID() })
  const caching = new ResponseCaching({ cache, identify, now, telemetry, draining, fork, makeId: options.makeId, drainMs: options.drainMs })
  return { stages: [idempotency, caching], view: { activeKeys: () => idempotency.activeKeys(), windowMs: () => windowMs } } satisfies Repeats
})
