/** The setting `fallbackChains`: providers that serve a bare model id, in their order. */
import * as Schema from "effect/Schema"
import { integer, listOf, text } from "#schemas/api/fields.ts"

/** Chains, and the providers of one. */
export const CHAINS = 200
const PROVIDERS = 50

const link = { provider: text(1, 200), priority: integer(1, 100), enabled: Schema.Boolean }

/** `provider`: a registry id or a node's id. `priority`: lowest first; equal ones as they are listed. */
export const Link = Schema.Struct(link).annotate({ identifier: "FallbackLink" })
export interface Link extends Schema.Schema.Type<typeof Link> {}

export const FallbackChain = Schema.Struct({ model: text(1, 200), chain: Schema.Array(Link) }).annotate({ identifier: "FallbackChain" })
export interface FallbackChain extends Schema.Schema.Type<typeof FallbackChain> {}

/** `provider`: an id, an alias or a node's prefix. `priority`: absent = its place in the list. */
export const ChainInput = Schema.Struct({
  model: text(1, 200),
  chain: listOf(Schema.Struct({ ...link, priority: Schema.optionalKey(link.priority), enabled: Schema.optionalKey(link.enabled) }), PROVIDERS).check(Schema.isMinLength(1))
})
export interface ChainInput extends Schema.Schema.Type<typeof ChainInput> {}

/** Its name among the settings. */
export const settingKey = "fallbackChains"

const isStored = Schema.is(Schema.Array(FallbackChain))

/** As they are stored, by model. */
export const chainsOf = (settings: ReadonlyMap<string, unknown>): ReadonlyArray<FallbackChain> => {
  const stored = settings.get(settingKey)
  return isStored(stored) ? stored : []
}

/** The order in which its providers are asked. */
export const ordered = (chain: ReadonlyArray<Link>): ReadonlyArray<Link> => [...chain].sort((a, b) => a.priority - b.priority)
