/** What the skills stand on. */
import * as Effect from "effect/Effect"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { AgentCalls } from "#src/inference/ports/AgentCalls.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  return {
    accounting: yield* Accounting,
    calls: yield* AgentCalls,
    configuration,
    innerOf: yield* InnerApi.make,
    ledger: yield* Ledger,
    shownProvider: (provider: string) => shownProvider(configuration.current(), provider),
    usage: yield* UsageStore,
    views: yield* RoutingViews
  }
})
export type SkillServices = Effect.Success<typeof make>
