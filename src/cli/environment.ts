/** Variables of the process over those of `.env` in the working directory, over nothing; options of the command line win. */
import * as fs from "node:fs"
import { parseEnv } from "node:util"
import * as Effect from "effect/Effect"
import { messageOf } from "#actors/thrown.ts"
import { envFile } from "#src/platform/configuration/envFile.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import { failure } from "./Failure.ts"

export type Environment = Readonly<Record<string, string | undefined>>

/** What the command line sets in place of variables. */
export interface Overrides {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly dataDir?: string | undefined
}

/** The file's variables; null when there is none. */
const readFile = (file: string) =>
  Effect.try({
    try: (): Environment | null => {
      try {
        return parseEnv(fs.readFileSync(file, "utf8"))
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
        throw error
      }
    },
    catch: (error) => failure(`${file} cannot be read: ${messageOf(error)}\nMake it readable, or start from another directory.`)
  })

const named = (overrides: Overrides): Environment => ({
  ...(overrides.host === undefined ? {} : { HOST: overrides.host }),
  ...(overrides.port === undefined ? {} : { PORT: String(overrides.port) }),
  ...(overrides.dataDir === undefined ? {} : { GATEWAY_DATA_DIR: overrides.dataDir })
})

export interface Read {
  readonly environment: Environment
  /** The `.env` file that was found. */
  readonly file: string | null
  /** Variables of the file that the process's own variables hide. */
  readonly hidden: ReadonlyArray<string>
}

export const read = Effect.fnUntraced(function*(overrides: Overrides) {
  const file = envFile()
  const variables = yield* readFile(file)
  const found: Read = {
    environment: { ...variables, ...process.env, ...named(overrides) },
    file: variables === null ? null : file,
    hidden: Object.keys(variables ?? {}).filter((name) => process.env[name] !== undefined && process.env[name] !== variables?.[name])
  }
  return found
})

/** The decoded settings, with the environment they came from. */
export const load = Effect.fnUntraced(function*(overrides: Overrides) {
  const { environment } = yield* read(overrides)
  const values = yield* Effect.fromResult(Settings.decode(environment))
  return { ...values, environment }
})

export type Loaded = Settings.Settings["Service"]
