/** Hears what compression did to a prompt: counts what it saved in memory, and adds the sums to the store in rounds; hands whole outputs on. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { databaseSettingsOf, removedBefore, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { CompressionSavings } from "#src/inference/ports/CompressionSavings.ts"
import * as HourSums from "#src/platform/accounting/HourSums.ts"
import { RawOutputs } from "#src/features/compression/rawOutputs/RawOutputs.ts"
import { CompressionStatisticsStore, type CompressionSums, type PartSums } from "./CompressionStatisticsStore.ts"

export class CompressionStatistics extends Context.Service<CompressionStatistics, {
  /** Of hours from a time on (ms), with what this node counted a moment ago. */
  readonly since: (hour: number) => Effect.Effect<ReadonlyArray<PartSums>, StoreError>
}>()("gateway/features/compression/CompressionStatistics") {}

const savings: Omit<HourSums.Kind<CompressionSums>, "goneBefore"> = {
  loop: "compression statistics",
  nameOf: ({ comboId, engine, hour, mode }) => JSON.stringify([hour, mode, comboId, engine]),
  plus: (a, b) => ({ ...a, requests: a.requests + b.requests, before: a.before + b.before, after: a.after + b.after, fallbacks: a.fallbacks + b.fallbacks })
}

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const store = yield* CompressionStatisticsStore
  const rawOutputs = yield* RawOutputs
  const sums = yield* HourSums.make(store, {
    ...savings,
    goneBefore: (now) => {
      const { retention } = databaseSettingsOf(configuration.current().settings.get(settingKey))
      return removedBefore(retention, retention.compressionAnalytics, now)
    }
  })
  return Context.make(CompressionStatistics, { since: (hour) => Effect.andThen(sums.written, store.since(hour)) }).pipe(
    Context.add(CompressionSavings, {
      note: (mode, comboId, { compressedTokens, engines, originalTokens, raw, validationFallback }) => {
        if (raw.length > 0) rawOutputs.keep(raw)
        sums.note([
          { mode, comboId, engine: null, requests: 1, before: originalTokens, after: compressedTokens, fallbacks: validationFallback ? 1 : 0 },
          ...engines.map(({ after, before, engine }) => ({ mode, comboId, engine, requests: 1, before, after, fallbacks: 0 }))
        ])
      }
    })
  )
})

export const layer = Layer.effectContext(make)
