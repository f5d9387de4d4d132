/** What decides whether a call may be made at all: guards of the front end, keys and their policy. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { NodeGroup } from "#actors/ports/NodeGroup.ts"
import type { AdmissionServices } from "#src/inference/lane/InferenceCall.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import { KeyDevices } from "#src/inference/ports/KeyDevices.ts"
import * as Addresses from "#src/platform/gate/addresses.ts"
import * as Hops from "#src/platform/gate/hops.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { Forks } from "./Forks.ts"
import { Ids } from "./Ids.ts"
import { LaneOptions } from "./LaneOptions.ts"

export class Admission extends Context.Service<Admission, AdmissionServices>()("gateway/lane/Admission") {}

/** A call of a key is noted as a device when none was for so long, ms. */
const seenEveryMs = 250
/** Keys of which that is known. */
const seenKeys = 10_000

export const layer = Layer.effect(Admission, Effect.gen(function*() {
  const configuration = yield* Configuration
  const devices = yield* KeyDevices
  const feed = yield* ChangeFeed
  const flags = yield* Flags
  const { fork, now } = yield* Forks
  const frontEnd = yield* FrontEnd
  const keys = yield* Keys
  const limits = yield* Limits
  const environmentKeys = yield* EnvironmentKeys
  const { ownHops } = yield* LaneOptions
  const { id: own } = yield* NodeGroup
  const { makeRequestId } = yield* Ids
  const pages = Pages.make(() => configuration.current().settings.get("corsOrigins"))
  const addresses = Addresses.make(() => configuration.current().settings, now)
  frontEnd.guard(addresses.guard)
  frontEnd.guard(pages.guard)
  frontEnd.guard(Hops.guard({ own, ownHops }))
  const seenAt = new Map<string, number>()
  return {
    feed, keys, limits, flags, pages, addresses, environmentKeys, now, makeRequestId,
    seen: (key, head, at) => {
      // Sampled: telling devices apart costs more than the rest of the admission.
      const before = seenAt.get(key.id)
      if (before !== undefined && at - before < seenEveryMs && at >= before) return
      if (seenAt.size >= seenKeys && before === undefined) seenAt.clear()
      seenAt.set(key.id, at)
      devices.note(key.id, head.remoteAddress, head.header("user-agent") ?? "", at)
    },
    runLookup: (lookup, done) => {
      fork(Effect.match(lookup, { onFailure: done, onSuccess: done }))
    }
  }
}))
