/** The settings under every combo, `comboDefaults` and `providerOverrides`: what of them is refused, stored and shown. Pure. */
import * as Predicate from "effect/Predicate"
import { shownKeys, type Snapshot } from "#actors/ports/Configuration.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import { type ComboConfig, TargetConfig } from "#schemas/records/Combo.ts"
import * as ConfigWords from "#src/features/combos/ports/configWords.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { readLayer } from "#src/routing/combos/config.ts"

export interface Layers {
  readonly comboDefaults?: ComboConfig | null
  readonly providerOverrides?: Readonly<Record<string, TargetConfig>> | null
}

const ofTarget = (value: unknown): TargetConfig =>
  Object.fromEntries(Object.entries(readLayer(value)).filter(([name]) => Object.hasOwn(TargetConfig.fields, name)))

const storedOverrides = ({ settings }: Snapshot): ReadonlyArray<readonly [string, TargetConfig]> => {
  const stored = settings.get("providerOverrides")
  return Predicate.isReadonlyObject(stored) ? Object.entries(stored).map(([provider, layer]) => [provider, ofTarget(layer)] as const) : []
}

/** As replies show them: providers by name, without what never acted there. */
export const shown = (snapshot: Snapshot) => ({
  comboDefaults: readLayer(snapshot.settings.get("comboDefaults")),
  providerOverrides: shownKeys(snapshot, Object.fromEntries(storedOverrides(snapshot)))
})

/** Names that name nothing, and providers that are named twice; a provider that is gone may stay. */
export const issuesOf = (snapshot: Snapshot, { comboDefaults, providerOverrides }: Layers): ReadonlyArray<FieldIssue> => {
  const issues: Array<FieldIssue> = comboDefaults === undefined || comboDefaults === null
    ? []
    : [...ConfigWords.ofDefaults(comboDefaults, readLayer(snapshot.settings.get("comboDefaults")), snapshot)]
  const standing = new Set(storedOverrides(snapshot).map(([provider]) => provider))
  const seen = new Map<string, string>()
  for (const name of Object.keys(providerOverrides ?? {})) {
    const field = `providerOverrides.${name}`
    const id = knownProvider(snapshot, name)
    if (id === null && !standing.has(name)) issues.push({ field, message: unknownProvider(name) })
    const other = seen.get(id ?? name)
    if (other !== undefined) issues.push({ field, message: `'${other}' is the same provider: name it once` })
    seen.set(id ?? name, name)
  }
  return issues
}

/** Providers by id, so that each of their names acts. */
export const stored = (snapshot: Snapshot, overrides: Readonly<Record<string, TargetConfig>>): Readonly<Record<string, TargetConfig>> =>
  Object.fromEntries(Object.entries(overrides).map(([name, layer]) => [knownProvider(snapshot, name) ?? name, layer]))
