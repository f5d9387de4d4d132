/** Settings, flags, aliases and prices of a document. Pure. */
import type * as Schema from "effect/Schema"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import * as FallbackChains from "#schemas/words/FallbackChains.ts"
import * as Chains from "#src/features/fallbackChains/ports/chains.ts"
import * as GeneralSettings from "#src/features/settings/ports/generalSettings.ts"
import { inertFlagIssue } from "#src/management/acting.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { type Document, ownSettings, same } from "#src/features/transfer/document.ts"
import { isGuarded } from "#src/features/transfer/guardedFlags.ts"
import type { DocumentKind, Draft, Section } from "./Draft.ts"

/** Puts the value where another stands, or none. */
const put = (draft: Draft, section: Section, kind: DocumentKind, key: string, standing: unknown, value: unknown, name = key): void => {
  if (standing === undefined ? value === null : same(standing, value)) return draft.note(section, name, "unchanged")
  draft.writes.push({ record: "document", kind, key, value })
  draft.note(section, name, standing === undefined ? "created" : "changed")
}

/** Chains of other models stay; the last one of a model counts. */
const chains = (draft: Draft, given: ReadonlyArray<FallbackChains.ChainInput>): ReadonlyArray<FallbackChains.FallbackChain> => {
  const all = new Map(FallbackChains.chainsOf(draft.before.settings).map((chain) => [chain.model, chain]))
  for (const [index, input] of given.entries()) {
    const chain = Chains.read(draft.after, input)
    if ("model" in chain) all.set(chain.model, chain)
    else draft.refused(`settings.${FallbackChains.settingKey}.${index}`, chain)
  }
  if (all.size > FallbackChains.CHAINS) draft.issue(`settings.${FallbackChains.settingKey}`, `At most ${FallbackChains.CHAINS} models have a chain: remove one first`)
  return [...all.values()].sort((a, b) => a.model < b.model ? -1 : 1)
}

export const settings = (draft: Draft, given: NonNullable<Document["settings"]>): void => {
  // What comboDefaults names may be a combo of the document, which comes later.
  const { comboDefaults: _later, ...named } = given
  if (draft.refused("settings", [...GeneralSettings.inertOf(given), ...GeneralSettings.issuesIn(draft.after, named)])) return
  const { settings: before } = draft.before
  const after = new Map(before)
  const { fallbackChains, ...others } = given
  if (fallbackChains !== undefined) {
    const next = chains(draft, fallbackChains)
    put(draft, "settings", "setting", FallbackChains.settingKey, before.get(FallbackChains.settingKey), next.length === 0 ? null : next)
    after.set(FallbackChains.settingKey, next)
  }
  for (const [name, value] of Object.entries(others as Readonly<Record<string, Schema.Json>>)) {
    const own = Object.hasOwn(ownSettings, name) ? ownSettings[name] : undefined
    const next = own === undefined ? GeneralSettings.whole(draft.after, name, value) : { ...own(before), ...value as object } as Schema.Json
    const standing = before.get(name) ?? (own === undefined || !same(next, own(before)) ? undefined : next)
    put(draft, "settings", "setting", name, standing, next)
    if (next === null) after.delete(name)
    else after.set(name, next)
  }
  for (const [name, value] of GeneralSettings.beside(draft.after, Object.keys(given))) {
    put(draft, "settings", "setting", name, before.get(name), value)
    after.set(name, value)
  }
  draft.after = { ...draft.after, settings: after }
}

export const flags = (draft: Draft, given: NonNullable<Document["flags"]>): void => {
  for (const [key, text] of Object.entries(given)) {
    const at = `flags.${key}`
    const definition = FlagCatalogue.byKey.get(key)
    const value = definition === undefined ? null : FlagCatalogue.read(definition, text)
    if (definition === undefined) draft.issue(at, "No such feature flag")
    else if (isGuarded(key)) draft.issue(at, "It decides what callers may do, and no document sets it. Set it with PUT /api/settings/feature-flags")
    else if (value === null) draft.issue(at, `${definition.key} takes ${FlagCatalogue.expects(definition)}`)
    else {
      const inert = inertFlagIssue(definition, value)
      const standing = draft.before.flagOverrides.get(key)
      if (inert !== null) draft.issue(at, inert.message)
      else if (standing === value) draft.note("flags", key, "unchanged")
      else if (!draft.isOwned("flags", "flag", key, key)) put(draft, "flags", "flag", key, standing, value)
    }
  }
}

export const aliases = (draft: Draft, given: NonNullable<Document["aliases"]>): void => {
  const after = new Map(draft.before.aliases)
  for (const [alias, model] of Object.entries(given)) {
    if (alias === model) {
      draft.issue(`aliases.${alias}`, "An alias cannot point at itself")
      continue
    }
    put(draft, "aliases", "alias", alias, draft.before.aliases.get(alias), model)
    after.set(alias, model)
  }
  draft.after = { ...draft.after, aliases: after }
}

export const prices = (draft: Draft, given: NonNullable<Document["prices"]>): void => {
  for (const [name, models] of Object.entries(given)) {
    const provider = knownProvider(draft.after, name)
    if (provider === null) {
      draft.issue(`prices.${name}`, unknownProvider(name))
      continue
    }
    for (const [model, price] of Object.entries(models)) {
      const key = `${provider}/${model}`
      put(draft, "prices", "pricing", key, draft.before.pricing.get(key), price, `${name}/${model}`)
    }
  }
}
