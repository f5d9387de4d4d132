/**
 * The limits of keys: a request whose key is at a limit is refused before it is planned; any other gets an interceptor that
 * reserves before each wire call and settles what was used.
 *
 * A request whose USD budget is used up goes to a free model while GATEWAY_EMERGENCY_FALLBACK is on and there is one.
 */
import * as Effect from "effect/Effect"
import type { KeyLimits } from "#actors/limits/KeyLimits.ts"
import { type LimitQuestion, Limits } from "#actors/limits/ports/Limits.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Client } from "#actors/request/Inbound.ts"
import { answerCapOf } from "#src/inference/lane/bodies/answerCap.ts"
import { CurrentRouter } from "#src/inference/lane/services/CurrentRouter.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { LaneOptions } from "#src/inference/lane/services/LaneOptions.ts"
import { type AdmittedCall, type Fork, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"
import { headedClient } from "#src/inference/lane/stages/headedClient.ts"
import { freeModelsOf } from "#src/routing/freeModel.ts"

export interface Options {
  readonly limits: Limits["Service"]
  /** The model for requests whose budget is used up; null when there is none this key may use, or the flag is off. */
  readonly freeModel: (key: ApiKey) => string | null
  /** The refusal of a model that the key may not use or that does not exist; it comes before anything is counted. */
  readonly refusalOf: (call: AdmittedCall) => PublicError | null
  readonly fork: Fork
}

/** A prompt of more bytes is mostly media, whose bytes are no tokens. */
const textBytes = 256 * 1024
const bytesPerToken = 4

const askOf = ({ body, codec, parsed, tags, units }: AdmittedCall): LimitQuestion => ({
  session: tags.session,
  promptTokens: Math.ceil(Math.min(body.length, textBytes) / bytesPerToken),
  // What is no conversation has no tokens out.
  maxOutputTokens: codec === null ? 0 : answerCapOf(parsed),
  units,
  free: false
})

export const make = ({ fork, freeModel, limits, refusalOf }: Options): Stage => ({
  name: "limits",
  applies: ({ key }) => key !== null && limits.of(key) !== null,
  run: (call, next) => {
    const own = call.key === null ? null : limits.of(call.key)
    if (own === null) {
      next(call)
      return
    }
    const refusal = refusalOf(call)
    if (refusal === null) decide({ call, next, own, limits, fork, freeModel }, askOf(call))
    else call.passage.refuse(refusal)
  }
})

/** The stage over the limits and the router of this gateway. */
export const stage = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const { fork } = yield* Forks
  const { emergencyModel } = yield* LaneOptions
  const router = yield* CurrentRouter
  let freeModels: ReadonlyArray<string> | null = null
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange(() => {
      freeModels = null
    })),
    (quiet) => Effect.sync(quiet)
  )
  return make({
    limits: yield* Limits,
    fork,
    refusalOf: ({ format, head, key }) => {
      const known = router.now().identify({ model: head.model, key, face: format })
      return known instanceof PublicError ? known : null
    },
    freeModel: (key) => {
      if (!flags.isOn("GATEWAY_EMERGENCY_FALLBACK")) return null
      freeModels ??= freeModelsOf(configuration.current(), emergencyModel)
      return freeModels.find((id) => router.now().admits(key, id)) ?? null
    }
  })
})

interface Run extends Omit<Options, "refusalOf"> {
  readonly call: AdmittedCall
  readonly next: (call: AdmittedCall) => void
  readonly own: KeyLimits
}

const decide = (run: Run, ask: LimitQuestion): void => {
  const opened = run.limits.open(run.own, ask)
  if (!Effect.isEffect(opened)) {
    go(run, ask, opened)
    return
  }
  wait(run.call, run.fork, opened, "its limits were looked up", (refusal) => go(run, ask, refusal))
}

const go = (run: Run, ask: LimitQuestion, refusal: PublicError | null): void => {
  const { call, limits, next, own } = run
  if (refusal === null) {
    next({ ...call, interceptors: [...call.interceptors, limits.interceptor(own, ask)] })
    return
  }
  // Vectors of another model are of no use beside those that the client has.
  const free = refusal.code !== "budget_exceeded" || ask.free || call.key === null || call.codec === null ? null : run.freeModel(call.key)
  if (free === null) {
    call.passage.refuse(refusal)
    return
  }
  call.replaced?.()
  decide({ ...run, call: { ...call, head: { ...call.head, model: free }, client: marked(call.client) } }, { ...ask, free: true })
}

/** Says in X-Gateway-Decision that the answer is the emergency fallback's. */
const marked = (client: Client): Client => headedClient(client, (headers) =>
  headers.map((value, index) => index % 2 === 1 && headers[index - 1] === "X-Gateway-Decision" ? `${value}; fallback=emergency` : value))
