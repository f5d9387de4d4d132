import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import { type CompressionSettings, compressionOf, type Mode, settingKey } from "#schemas/words/Compression.ts"
import { pipelinesOf } from "#schemas/words/CompressionPipeline.ts"
import { packs } from "#src/compression/packs/index.ts"
import * as Plan from "#src/compression/plan.ts"
import { filters } from "#src/compression/rtk/filters.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Acting from "./acting.ts"
import { type CompressionChange, CompressionGroup } from "./api.ts"
import { agesIn, type Beside, changed, issuesOf } from "./change.ts"
import { issuesIn } from "./pipelines/pipelines.ts"
import * as Preview from "./preview.ts"
import { RawOutputs } from "./rawOutputs/RawOutputs.ts"
import * as Analytics from "./statistics/analytics.ts"
import { CompressionStatistics } from "./statistics/CompressionStatistics.ts"

const viewOf = (settings: CompressionSettings) => ({ ...settings, ...Acting.neutral })

const categoriesOf = (rules: ReadonlyArray<{ readonly category: string }>): ReadonlyArray<string> => [...new Set(rules.map(({ category }) => category))]

const allPacks = packs.map(({ language, rules }) => ({ language, categories: categoriesOf(rules), ruleCount: rules.length }))
const allRules = packs.flatMap(({ language, rules }) => rules.map((rule) => ({
  language, name: rule.name, category: rule.category, context: rule.context, minIntensity: rule.minIntensity, pattern: rule.pattern, flags: rule.flags,
  replacement: rule.replacement ?? null, replacementMap: rule.replacementMap ?? null
})))

/** Where the parts stand in a change of all settings. */
const whole = { caveman: "cavemanConfig.", rtk: "rtkConfig." }
const inConfig = { caveman: "config.cavemanConfig.", rtk: "config.rtkConfig." }

const HOUR_MS = 3_600_000
const spans = { "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS, "all": Infinity } as const

const refused = (issues: ReadonlyArray<Refusal.FieldIssue>): Effect.Effect<void, Refusal.Refusal> => issues.length === 0 ? Effect.void : Effect.fail(Refusal.invalidFields(issues))

/** A preview runs where requests are served, so it takes no more text than is read there. */
const fits = (messages: ReadonlyArray<unknown>): Effect.Effect<void, Refusal.Refusal> => JSON.stringify(messages).length <= LARGE_BYTES
  ? Effect.void
  : Effect.fail(Refusal.invalidField("messages", `Send at most ${LARGE_BYTES} characters`))

export const layer = HttpApiBuilder.group(Surface.make(CompressionGroup), "compression", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const stored = yield* SettingObject.make(settingKey, compressionOf, changed)
  const now = (yield* Clock.Clock).currentTimeMillisUnsafe
  const statistics = yield* CompressionStatistics
  const rawOutputs = yield* RawOutputs
  const audit = yield* Audit
  const flags = yield* Flags
  const analytics = (spanMs: number) => answer(Effect.map(Effect.suspend(() => statistics.since(Math.max(0, now() - spanMs))), Analytics.of))
  const pipelines = (settings: CompressionSettings) => pipelinesOf(configuration.current().settings, settings)
  /** A mode as requests have it; engines that are given for a trial come first. */
  const planOf = (mode: Mode, settings: CompressionSettings, { stackedPipeline }: CompressionChange): Plan.Plan | null => {
    const own = mode === "stacked" && stackedPipeline === undefined ? pipelines(settings).find(({ isDefault }) => isDefault) : undefined
    return own === undefined ? Plan.ofMode(mode, settings) : Plan.ofPipeline(own, settings)
  }
  const strangersIn = ({ compressionComboId: id }: CompressionChange, at = ""): ReadonlyArray<Refusal.FieldIssue> =>
    id === undefined || id === null || pipelines(compressionOf(configuration.current().settings)).some((one) => one.id === id)
      ? []
      : [{ field: `${at}compressionComboId`, message: "No such compression combo: GET /api/context/combos lists them" }]
  const beside = ({ rtkConfig }: CompressionSettings): Beside =>
    ({ rtk: rtkConfig, trusted: rtkConfig.trustProjectFilters || flags.isOn("GATEWAY_RTK_TRUST_PROJECT_FILTERS") })
  const put = (change: CompressionChange) => stored.put(change)
  return handlers.handleAll({
    settings: () => Effect.map(stored.get, viewOf),
    changeSettings: ({ payload }) => answer(Effect.gen(function*() {
      yield* refuseInert(Acting.compression, payload)
      yield* refused([
        ...issuesOf(payload, whole, beside(changed(yield* stored.get, payload))), ...issuesIn(payload.stackedPipeline ?? [], "stackedPipeline", beside(changed(yield* stored.get, payload))),
        ...strangersIn(payload), ...agesIn(changed(yield* stored.get, payload), "")
      ])
      return viewOf(yield* put(payload))
    })),
    preview: ({ payload: { config = {}, messages, mode } }) => answer(Effect.gen(function*() {
      yield* refuseInert(Acting.compression, config)
      const settings = changed(yield* stored.get, config)
      yield* refused([
        ...issuesOf(config, inConfig, beside(settings)), ...issuesIn(config.stackedPipeline ?? [], "config.stackedPipeline", beside(settings)), ...strangersIn(config, "config."),
        ...agesIn(settings, "config.")
      ])
      yield* fits(messages)
      const { cavemanOutputMode: { enabled, intensity } } = settings
      return Preview.ofMessages(messages, mode, planOf(mode, settings, config), enabled && mode !== "off" ? intensity : "off", now)
    })),
    analytics: () => analytics(spans.all),
    contextAnalytics: ({ query: { since = "24h" } }) => analytics(spans[since]),
    languagePacks: () => Effect.succeed({ packs: allPacks }),
    rules: () => Effect.succeed({ rules: allRules }),
    caveman: () => Effect.map(stored.get, ({ cavemanConfig }) => cavemanConfig),
    changeCaveman: ({ payload }) => answer(Effect.gen(function*() {
      yield* refused(issuesOf({ cavemanConfig: payload }, { caveman: "", rtk: "" }, beside(yield* stored.get)))
      return (yield* put({ cavemanConfig: payload })).cavemanConfig
    })),
    rtk: () => Effect.map(stored.get, ({ rtkConfig }) => rtkConfig),
    changeRtk: ({ payload }) => answer(Effect.gen(function*() {
      yield* refuseInert(Acting.rtkConfig, payload)
      yield* refused(issuesOf({ rtkConfig: payload }, { caveman: "", rtk: "" }, beside(changed(yield* stored.get, { rtkConfig: payload }))))
      return (yield* put({ rtkConfig: payload })).rtkConfig
    })),
    filters: () => Effect.map(stored.get, ({ rtkConfig: { customFilters } }) => ({ filters: [...customFilters, ...filters] })),
    rawOutput: ({ params: { id } }) => answer(Effect.gen(function*() {
      const found = yield* rawOutputs.find(id)
      if (found === null) {
        return yield* Effect.fail(Refusal.notFound("This output is not kept: rtkConfig.rawOutputRetention left it out, callLogBodyHours or callLogBodyTotalMb ended it, or there was no room for it.", { code: "raw_output_not_kept" }))
      }
      if (found === "sealed") return yield* Effect.fail(Refusal.notFound("This output was sealed with another master secret, or was altered.", { code: "raw_output_sealed" }))
      yield* audit.note({ action: "compression.raw-output.read", resourceType: "compression", target: id })
      const { keptAt, ...view } = found
      return { ...view, keptAt: new Date(keptAt).toISOString() }
    })),
    tryRtk: ({ payload: { command = null, config = {}, text } }) => answer(Effect.gen(function*() {
      yield* refuseInert(Acting.rtkConfig, config)
      const settings = changed(yield* stored.get, { rtkConfig: config })
      yield* refused(issuesOf({ rtkConfig: config }, { caveman: "", rtk: "config." }, beside(settings)))
      return Preview.ofOutput(text, command, settings.rtkConfig, now)
    }))
  })
}))
