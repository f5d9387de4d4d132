/** Variables that the configuration file takes of the environment: they are not the gateway's own, and no slips either. */
import * as fs from "node:fs"
import { variablesIn } from "#src/features/configFile/read.ts"
import { configFileOf } from "#src/platform/configuration/configFile.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"

/** None of a file that cannot be read, which its reader tells. */
export const configFileVariables = (settings: Pick<Values, "configFile">): ReadonlySet<string> => {
  const file = configFileOf(settings)
  if (file === null) return new Set()
  try {
    return variablesIn(fs.readFileSync(file, "utf8"))
  } catch {
    return new Set()
  }
}
