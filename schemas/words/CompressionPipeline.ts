/** Stored pipelines of compression: named lists of engines that settings, combos and clients choose. */
import * as Schema from "effect/Schema"
import { listOf, text } from "#schemas/api/fields.ts"
import { type CompressionSettings, Intensity, Language, Steps } from "./Compression.ts"

/** What an operator says of a pipeline. */
export const pipelineFields = {
  /** Unique, whatever its case: clients name it in X-Gateway-Compression. */
  name: text(1, 120),
  description: text(0, 1_000),
  /** Engines, one after the other. */
  pipeline: Steps,
  /** Languages of the rules; empty = the setting languageConfig. */
  languagePacks: listOf(Language, 6),
  /** The model is asked for terse answers, too. */
  outputMode: Schema.Boolean,
  outputModeIntensity: Intensity,
  /** Mode stacked is this one. */
  isDefault: Schema.Boolean
}

export const Pipeline = Schema.Struct({
  id: Schema.String,
  ...pipelineFields,
  /** Combos whose requests have it. */
  routingComboIds: listOf(text(1, 200), 1_000),
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface Pipeline extends Schema.Schema.Type<typeof Pipeline> {}

/** Under this name among the settings. */
export const settingKey = "compressionCombos"

/** So many beside the built-in one. */
export const mostPipelines = 100

/** Its engines are the setting stackedPipeline. */
export const builtInId = "default-caveman"

const longAgo = new Date(0).toISOString()

/** As it is before an operator changes anything of it. */
const builtIn: Pipeline = {
  id: builtInId, name: "Standard Savings", description: "Output of commands without noise, then prose by rules.", pipeline: [{ engine: "rtk" }], languagePacks: [],
  outputMode: false, outputModeIntensity: "full", isDefault: true, routingComboIds: [], createdAt: longAgo, updatedAt: longAgo
}

const isPipeline = Schema.is(Pipeline)

/** The built-in one first, then the others by name; what is no longer allowed is left out. */
export const pipelinesOf = (settings: ReadonlyMap<string, unknown>, { stackedPipeline }: Pick<CompressionSettings, "stackedPipeline">): ReadonlyArray<Pipeline> => {
  const given = settings.get(settingKey)
  const stored = Array.isArray(given) ? given.filter(isPipeline) : []
  const own = stored.filter(({ id }) => id !== builtInId)
  const changed = stored.find(({ id }) => id === builtInId)
  const first = {
    ...builtIn, ...changed, name: builtIn.name, description: builtIn.description, pipeline: stackedPipeline, isDefault: !own.some(({ isDefault }) => isDefault)
  }
  return [first, ...own]
}
