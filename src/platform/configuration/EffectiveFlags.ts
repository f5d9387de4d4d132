/** The Flags port: database override, else environment, else the definition's default; for a few flags the environment comes first. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { features } from "#schemas/acting/features.ts"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import type { FlagKey, FlagSource } from "#schemas/flagCatalogue.ts"

interface Effective {
  readonly value: string
  readonly source: FlagSource
  readonly on: boolean
}

/** Null when unset; Settings refuses the start over a value that the flag does not take. */
const fromEnvironment = (definition: FlagCatalogue.FlagDefinition, value: string | undefined): string | null =>
  value === undefined || value === "" ? null : FlagCatalogue.read(definition, value)

/** `environment` is read once: process variables do not change under a running gateway. */
export const make = Effect.fnUntraced(function*(environment: Readonly<Record<string, string | undefined>>) {
  const configuration = yield* Configuration
  const startValues = new Map<string, Effective>()
  let table = new Map<string, Effective>()

  const build = (): void => {
    const overrides = configuration.current().flagOverrides
    const next = new Map<string, Effective>()
    for (const definition of FlagCatalogue.catalogue) {
      const env = fromEnvironment(definition, environment[definition.key])
      const override = env !== null && definition.environmentFirst ? undefined : overrides.get(definition.key)
      const value = override ?? env ?? definition.defaultValue
      next.set(definition.key, { value, source: override !== undefined ? "db" : env !== null ? "env" : "default", on: FlagCatalogue.isTruthy(value) })
    }
    table = next
  }
  build()
  // A flag that requires a restart is persisted at once but read only at process start.
  for (const definition of FlagCatalogue.catalogue) {
    if (definition.requiresRestart) startValues.set(definition.key, table.get(definition.key) as Effective)
  }
  configuration.onChange(build)
  for (const definition of FlagCatalogue.catalogue) {
    const { lacks } = definition
    const env = fromEnvironment(definition, environment[definition.key])
    if (lacks === null || env === null || env === definition.defaultValue) continue
    yield* Effect.logWarning(`${definition.key}=${env} has no effect in this release: ${features[lacks].title} is not built (docs/known-limits.md)`)
  }

  const at = (key: FlagKey): Effective => table.get(key) as Effective
  return Flags.of({
    isOn: (key) => (startValues.get(key) ?? at(key)).on,
    value: (key) => at(key).value,
    source: (key) => at(key).source
  })
})

export const layer = (environment: Readonly<Record<string, string | undefined>>) => Layer.effect(Flags, make(environment))
