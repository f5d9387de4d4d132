/** The setting `systemTransforms`: what changes in the instructions that the models of a provider are given. */
import * as Schema from "effect/Schema"
import { listOf, text } from "#schemas/api/fields.ts"

const mostProviders = 100
const mostOperations = 50
const mostWords = 50
const wordCharacters = 500
/** Characters of a block that is put in. */
const blockCharacters = 50_000

const words = listOf(text(1, wordCharacters), mostWords).check(Schema.isMinLength(1))
/** False: letters count whatever their case. */
const caseSensitive = Schema.optionalKey(Schema.Boolean)
const block = { text: text(1, blockCharacters), idempotencyKey: Schema.optionalKey(text(1, wordCharacters)) }

export const SystemTransform = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("drop_paragraph_if_contains"), needles: words, caseSensitive }),
  Schema.Struct({ kind: Schema.Literal("drop_paragraph_if_starts_with"), prefixes: words, caseSensitive }),
  Schema.Struct({ kind: Schema.Literal("drop_block_if_contains"), needles: words }),
  Schema.Struct({
    kind: Schema.Literal("replace_text"), match: text(1, wordCharacters), replacement: text(0, wordCharacters),
    /** False: the first place of each block only. */
    allOccurrences: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.Struct({ kind: Schema.Literal("prepend_system_block"), ...block }),
  Schema.Struct({ kind: Schema.Literal("append_system_block"), ...block })
]).annotate({ identifier: "SystemTransform" })
export type SystemTransform = Schema.Schema.Type<typeof SystemTransform>

const Pipeline = Schema.Struct({ enabled: Schema.optionalKey(Schema.Boolean), pipeline: listOf(SystemTransform, mostOperations) })

export const SystemTransforms = Schema.Struct({
  /** By the id, alias or prefix of a provider; `*` is every provider. */
  providers: Schema.optionalKey(Schema.Record(text(1, 200), Pipeline).check(Schema.isMaxProperties(mostProviders)))
}).annotate({ identifier: "SystemTransforms" })
export interface SystemTransforms extends Schema.Schema.Type<typeof SystemTransforms> {}

const isTransforms = Schema.is(SystemTransforms)

/** The operations by names of providers, in force only; empty when nothing changes. */
export const systemTransformsOf = (settings: ReadonlyMap<string, unknown>): ReadonlyMap<string, ReadonlyArray<SystemTransform>> => {
  const stored = settings.get("systemTransforms")
  if (!isTransforms(stored)) return new Map()
  return new Map(Object.entries(stored.providers ?? {}).flatMap(([name, { enabled, pipeline }]) => enabled === false || pipeline.length === 0 ? [] : [[name, pipeline] as const]))
}
