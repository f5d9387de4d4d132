/** The installation's file of variables, and the variables that the process was given beside it. */
import * as Context from "effect/Context"
import { envFile } from "#src/platform/configuration/envFile.ts"

export interface EnvFile {
  readonly path: string
  /** Of the process itself: they win over the file's. */
  readonly process: Readonly<Record<string, string | undefined>>
}

export const EnvFile = Context.Reference<EnvFile>("gateway/environment/EnvFile", {
  defaultValue: () => ({ path: envFile(), process: process.env })
})
