/** The installation's file of variables, and the variables that the process was given beside it. */
import * as path from "node:path"
import * as Context from "effect/Context"

export interface EnvFile {
  readonly path: string
  /** Of the process itself: they win over the file's. */
  readonly process: Readonly<Record<string, string | undefined>>
}

export const EnvFile = Context.Reference<EnvFile>("gateway/environment/EnvFile", {
  defaultValue: () => ({ path: path.resolve(".env"), process: process.env })
})
