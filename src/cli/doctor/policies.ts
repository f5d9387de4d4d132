/** What the environment says about flags and providers. Pure. */
import * as Catalogue from "#schemas/flags.ts"
import type { Provider } from "#schemas/Provider.ts"
import type { Environment } from "#src/cli/environment.ts"
import { type Finding, note, ok, warning } from "./Finding.ts"

/** Texts that a boolean flag takes; anything else counts as off. */
const booleans: ReadonlySet<string> = new Set(["true", "1", "yes", "false", "0", "no"])

export const flags = (environment: Environment): ReadonlyArray<Finding> => {
  let set = 0
  const strange: Array<Finding> = []
  for (const flag of Catalogue.catalogue) {
    const value = environment[flag.key]
    if (value === undefined || value === "") continue
    set++
    if (flag.enumValues !== null && !flag.enumValues.some((known) => known === value)) {
      strange.push(warning("flags", `${flag.key}='${value.slice(0, 60)}' is none of ${flag.enumValues.join(", ")}; the default ${flag.defaultValue} stands`,
        `Set ${flag.key} to one of them, or unset it.`))
    } else if (flag.enumValues === null && !booleans.has(value)) {
      strange.push(warning("flags", `${flag.key}='${value.slice(0, 60)}' counts as off`, `Set ${flag.key} to true or false.`))
    }
  }
  return strange.length > 0 ? strange : [ok("flags", `${set} of ${Catalogue.catalogue.length} set in the environment`)]
}

/** The value a flag has before the database is asked. */
export const isOn = (key: Catalogue.FlagKey, environment: Environment, overrides: ReadonlyMap<string, unknown>): boolean => {
  const definition = Catalogue.catalogue.find((flag) => flag.key === key)
  return Catalogue.isTruthy(String(overrides.get(key) ?? (environment[key] || definition?.defaultValue)))
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
