/** Prices and facts of models that were read from public lists: how they are stored, and what a snapshot has of them. */
import * as Schema from "effect/Schema"
import { Modality } from "#schemas/Provider.ts"

/** Kinds of documents. The first two have the key `<subject>/<source>`, the last one has the key `<subject>`. */
export const stateKind = "catalogue-state"
export const entriesKind = "catalogue-entries"
export const turnKind = "catalogue-turn"

export const Source = Schema.Literals(["litellm", "models.dev"])
export type Source = typeof Source.Type

export const Subject = Schema.Literals(["prices", "facts"])
export type Subject = typeof Subject.Type

/** What is known of the entries of a source. */
export const State = Schema.Struct({
  /** Of the entries: the same entries have the same revision. */
  revision: Schema.String,
  syncedAt: Schema.String,
  modelCount: Schema.Int,
  providerCount: Schema.Int,
  warnings: Schema.Array(Schema.String)
})
export interface State extends Schema.Schema.Type<typeof State> {}

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** What a source says of a model; a member that it does not give stays as the registry has it. */
export const ModelFacts = Schema.Struct({
  contextWindow: Schema.optionalKey(Tokens),
  maxOutputTokens: Schema.optionalKey(Tokens),
  inputModalities: Schema.optionalKey(Schema.Array(Modality)),
  outputModalities: Schema.optionalKey(Schema.Array(Modality)),
  tools: Schema.optionalKey(Schema.Boolean),
  vision: Schema.optionalKey(Schema.Boolean),
  structuredOutput: Schema.optionalKey(Schema.Boolean)
})
export interface ModelFacts extends Schema.Schema.Type<typeof ModelFacts> {}

/** Keys are `<provider>/<model>`. */
export interface SyncedModels {
  /** Partial prices. */
  readonly prices: ReadonlyMap<string, unknown>
  readonly facts: ReadonlyMap<string, ModelFacts>
}

export const none: SyncedModels = { prices: new Map(), facts: new Map() }
