/** Tools over the compression of prompts. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CompressionSettings, Intensity, Mode, RtkIntensity, UltraConfig } from "#schemas/words/Compression.ts"
import { at, entriesAt, type Json, listAt, textAt, ToolFailure } from "#src/management/inner/Inner.ts"
import { comboOf } from "./reading.ts"
import { make, noArguments, type Tool } from "./Tool.ts"

const opt = Schema.optionalKey
const path = "/api/settings/compression"

/** The settings under the names of the tools' arguments. */
const settingsOf = (settings: Json): Json => ({
  enabled: at(settings, "enabled"), strategy: at(settings, "defaultMode"), autoTriggerMode: at(settings, "autoTriggerMode"),
  maxTokens: at(settings, "autoTriggerTokens"), targetRatio: at(settings, "ultra", "compressionRate"), preserveSystemPrompt: at(settings, "preserveSystemPrompt"),
  mcpDescriptionCompressionEnabled: at(settings, "mcpDescriptionCompressionEnabled")
})

/** What a default mode is called that runs one engine. */
const modes = { off: "off", caveman: "standard", rtk: "rtk", stacked: "stacked" } as const

/** Members that are given, as an object of them. */
const given = (name: string, value: Json | undefined): Readonly<Record<string, Json>> => value === undefined ? {} : { [name]: value }

const intensityOf = (step: Json, intensities: Readonly<Record<string, string | undefined>>): Json => {
  const wanted = new Map(Object.entries(intensities)).get(textAt(step, "engine"))
  return wanted === undefined ? step : { ...step as Record<string, Json>, intensity: wanted }
}

export const compressing: ReadonlyArray<Tool> = [
  make({
    name: "gateway_compression_status", brief: "Shows compression.", scopes: ["read:compression"], phase: 2, auditLevel: "basic",
    description: "Shows whether prompts are made shorter and how, what that saved so far, and what the vendors' prompt caches saved.",
    sourceEndpoints: [path, "/api/analytics/compression", "/api/cache"], args: noArguments,
    run: (_args, inner) => Effect.gen(function*() {
      const settings = yield* inner.get(path)
      const analytics = yield* inner.get("/api/analytics/compression")
      const cache = yield* inner.get("/api/cache")
      return {
        enabled: at(settings, "enabled"), strategy: at(settings, "defaultMode"), settings: settingsOf(settings), analytics, cacheStats: at(cache, "promptCache")
      }
    })
  }),
  make({
    name: "gateway_compression_configure", brief: "Changes compression.", scopes: ["write:compression"], phase: 2, auditLevel: "full",
    description: "Changes how prompts are made shorter: the mode of all requests (strategy), the mode from a number of tokens on (autoTriggerMode, maxTokens; 0 = never), and the share of words that mode ultra keeps at least (targetRatio).",
    sourceEndpoints: [path],
    args: Schema.Struct({
      enabled: opt(Schema.Boolean), strategy: opt(Mode), autoTriggerMode: opt(Mode), maxTokens: opt(CompressionSettings.fields.autoTriggerTokens),
      targetRatio: opt(UltraConfig.fields.compressionRate), preserveSystemPrompt: opt(Schema.Boolean), mcpDescriptionCompressionEnabled: opt(Schema.Boolean)
    }),
    run: (args, inner) => Effect.gen(function*() {
      if (Object.keys(args).length === 0) return yield* new ToolFailure({ code: "invalid_arguments", message: "Name at least one argument to change" })
      const { maxTokens, strategy, targetRatio, ...same } = args
      const updated = {
        ...same, ...given("defaultMode", strategy), ...given("autoTriggerTokens", maxTokens),
        ...given("ultra", targetRatio === undefined ? undefined : { compressionRate: targetRatio })
      }
      return { success: true, updated, settings: settingsOf(yield* inner.send("PUT", path, updated)) }
    })
  }),
  make({
    name: "gateway_set_compression_engine", brief: "Chooses the engine of compression.", scopes: ["write:compression"], phase: 2, auditLevel: "full",
    description: "Switches compression to one engine, to the pipeline of all (stacked), or off. caveman shortens texts of users, rtk output of commands; outputMode asks models for short answers. Combos, requests and an active compression combo may say otherwise.",
    sourceEndpoints: [path],
    args: Schema.Struct({
      engine: Schema.Literals(["off", "caveman", "rtk", "stacked"]), cavemanIntensity: opt(Intensity), rtkIntensity: opt(RtkIntensity), outputMode: opt(Schema.Boolean)
    }),
    run: ({ cavemanIntensity, engine, outputMode, rtkIntensity }, inner) => Effect.gen(function*() {
      const caveman = { ...engine === "caveman" || engine === "stacked" ? { enabled: true } : {}, ...given("intensity", cavemanIntensity) }
      const rtk = { ...engine === "rtk" || engine === "stacked" ? { enabled: true } : {}, ...given("intensity", rtkIntensity) }
      // Steps of the pipeline have intensities of their own.
      const steps = engine === "stacked" && (cavemanIntensity !== undefined || rtkIntensity !== undefined)
        ? listAt(yield* inner.get(path), "stackedPipeline").map((step) => intensityOf(step, { caveman: cavemanIntensity, rtk: rtkIntensity }))
        : undefined
      const settings = yield* inner.send("PUT", path, {
        enabled: engine !== "off", defaultMode: modes[engine], cavemanConfig: caveman, rtkConfig: rtk, ...given("stackedPipeline", steps),
        ...given("cavemanOutputMode", outputMode === undefined ? undefined : { enabled: outputMode })
      })
      return { success: true, settings }
    })
  }),
  make({
    name: "gateway_list_compression_combos", brief: "Lists compression combos.", scopes: ["read:compression"], phase: 2, auditLevel: "basic",
    description: "Lists the compression combos: stored pipelines of engines that make prompts shorter, with the combos that have them.",
    sourceEndpoints: ["/api/context/combos"], args: noArguments,
    run: (_args, inner) => inner.get("/api/context/combos")
  }),
  make({
    name: "gateway_compression_combo_stats", brief: "Savings of compression.", scopes: ["read:compression"], phase: 2, auditLevel: "basic",
    description: "Shows what compression saved since 24h, 7d, 30d or all, by mode, engine and combo. With comboId, the id or name of a combo of models, its savings are named, too.",
    sourceEndpoints: ["/api/context/analytics", "/api/combos"],
    args: Schema.Struct({ comboId: opt(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))), since: opt(Schema.Literals(["24h", "7d", "30d", "all"])) }),
    run: ({ comboId, since }, inner) => Effect.gen(function*() {
      const analytics = yield* inner.get("/api/context/analytics", { since })
      if (comboId === undefined) return { analytics }
      // A combo that is gone keeps its figures.
      const figures = new Map(entriesAt(analytics, "comboBreakdown"))
      const id = figures.has(comboId) ? comboId : textAt(yield* comboOf(inner, comboId), "id")
      return { comboId: id, combo: figures.get(id) ?? null, analytics }
    })
  })
]
