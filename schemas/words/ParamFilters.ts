/** Parameters that a connection's upstream is not sent. */
import * as Schema from "effect/Schema"
import { listOf } from "#schemas/api/fields.ts"
import * as BodyPath from "./bodyPath.ts"

const most = 500
const mostModels = 200
const paths = listOf(BodyPath.Removed, most)

const ofModel = Schema.Struct({ block: Schema.optionalKey(paths), allow: Schema.optionalKey(paths) })

export const ParamFilters = Schema.Struct({
  /** Paths whose values go from every body. */
  block: paths,
  /** Paths that stay, whatever `block` says here and below `models`. */
  allow: paths,
  /** The same for one model, by its id at the upstream. */
  models: Schema.Record(Schema.String, ofModel).check(Schema.isMaxProperties(mostModels)),
  /** What the upstream refuses by name is blocked for the model. */
  autoLearn: Schema.Boolean
})
export interface ParamFilters extends Schema.Schema.Type<typeof ParamFilters> {}

/** Kind of the documents that hold them, by the connection's id. */
export const documentKind = "param-filters"

export const paramFiltersDefaults: ParamFilters = { block: [], allow: [], models: {}, autoLearn: false }

const isFilters = Schema.is(ParamFilters)

/** What a stored document says; the defaults for one that is no longer allowed. */
export const paramFiltersOf = (stored: unknown): ParamFilters => isFilters(stored) ? stored : paramFiltersDefaults

/**
 * What says the question, shapes the answer or bounds its cost: a request without it is another request, so that only operators may take
 * it away.
 */
const neverLearned: ReadonlySet<string> = new Set([
  "messages", "input", "prompt", "contents", "content", "instructions", "system", "system_instruction", "systeminstruction", "tools", "tool_choice", "functions",
  "function_call", "response_format", "text", "output_config", "format", "generationconfig", "generation_config", "options", "max_tokens", "max_completion_tokens",
  "max_output_tokens", "max_tool_calls", "stop", "stop_sequences"
])

/** A path that may be left out because an upstream refuses it. */
export const mayLearn = (path: string): boolean => {
  const steps = BodyPath.parseRemoved(path)
  return steps !== null && !neverLearned.has(String(steps[0]).toLowerCase())
}

/** With a path that the model's upstream refused; null when there is nothing to change, or no room. */
export const withLearned = (filters: ParamFilters, model: string, path: string): ParamFilters | null => {
  const known = Object.hasOwn(filters.models, model) ? filters.models[model] : undefined
  const block = known?.block ?? []
  if (!filters.autoLearn || [...filters.allow, ...known?.allow ?? [], ...filters.block, ...block].includes(path)) return null
  if (block.length >= mostLearned || (known === undefined && Object.keys(filters.models).length >= mostModels)) return null
  return { ...filters, models: { ...filters.models, [model]: { ...known, block: [...block, path] } } }
}

/** Paths of a model from which no more are learned: an upstream that names others for ever fills no record. */
const mostLearned = 32
