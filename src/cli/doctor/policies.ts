/** What the environment says about flags and providers. Pure. */
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import type { Provider } from "#schemas/Provider.ts"
import type { Environment } from "#src/cli/environment.ts"
import { describe, unknownVariables } from "#src/bootstrap/unknownVariables.ts"
import { type Finding, note, ok, warning } from "./Finding.ts"

const inEnvironment = (flag: FlagCatalogue.FlagDefinition, environment: Environment): string | null => FlagCatalogue.read(flag, environment[flag.key] ?? "")

/**
 * Values that a flag does not take are among the findings about settings. `overrides`: what the database holds, which wins over the
 * environment; null when it could not be read.
 */
export const flags = (environment: Environment, overrides: ReadonlyMap<string, unknown> | null): Finding => {
  const set = FlagCatalogue.catalogue.filter((flag) => inEnvironment(flag, environment) !== null)
  const text = `${set.length} of ${FlagCatalogue.catalogue.length} set in the environment`
  if (overrides === null) return note("flags", `${text}; those in the database could not be read`)
  if (overrides.size === 0) return ok("flags", `${text}, none in the database`)
  const values = [...overrides].map(([key, value]) => `${key}=${String(value)}`).sort()
  return ok("flags", `${text}, ${values.length} in the database, which wins: ${values.join(", ")}`)
}

export const variables = (environment: Environment, known: ReadonlyArray<Provider>, taken: ReadonlySet<string>): ReadonlyArray<Finding> =>
  unknownVariables(environment, known, taken).map((unknown) =>
    warning("settings", describe(unknown), unknown.meant === null ? `Unset ${unknown.name}, or look its name up in docs/settings.md.` : `Rename ${unknown.name} to ${unknown.meant}.`))

/** Whether a flag is on, by what could be read of the database. */
export const isOn = (key: FlagCatalogue.FlagKey, environment: Environment, overrides: ReadonlyMap<string, unknown>): boolean => {
  const definition = FlagCatalogue.byKey.get(key)
  return definition !== undefined && FlagCatalogue.isTruthy(String(overrides.get(key) ?? inEnvironment(definition, environment) ?? definition.defaultValue))
}

export const providers = (environment: Environment, known: ReadonlyArray<Provider>, simulator: string): Finding => {
  const found = known.flatMap((provider) => {
    const name = provider.auth.type === "none" ? undefined : provider.env.find((variable) => (environment[variable] ?? "") !== "")
    return name === undefined ? [] : [`${provider.id} (${name})`]
  })
  if (found.length > 0) return ok("provider keys", found.join(", "))
  return note("provider keys", `none in the environment${simulator === "false" ? "" : "; without any connection the built-in simulator answers as provider sim"}`,
    "Set OPENAI_API_KEY, ANTHROPIC_API_KEY ... or add a connection with POST /api/providers.")
}
