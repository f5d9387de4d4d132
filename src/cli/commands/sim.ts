/** `gateway sim`: the scriptable upstream, alone. */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { messageOf } from "#actors/thrown.ts"
import { runCli } from "#src/simulator/cli.ts"
import { Script } from "#src/simulator/Script.ts"
import { failure } from "#src/cli/Failure.ts"
import { Launcher } from "#src/cli/Launcher.ts"

export interface Options {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly pace?: number | undefined
  readonly script?: string | undefined
  readonly keys: ReadonlyArray<string>
  readonly bench: boolean
  readonly trustHeaders: boolean
  readonly quiet: boolean
}

/** Not a default of any other command. */
const defaultPort = 20140
/** Sockets are cut at once (ms). */
const stopMs = 2_000

/** A script file: what is laid under every script, and further model ids with what they do. */
const ScriptFile = Schema.Struct({
  defaults: Schema.optionalKey(Script),
  models: Schema.optionalKey(Schema.Record(Schema.String, Script))
})

const decodeFile = Schema.decodeUnknownResult(ScriptFile, { onExcessProperty: "error", errors: "all" })

const readScript = (file: string) =>
  Effect.gen(function*() {
    const json: unknown = yield* Effect.try({
      try: () => JSON.parse(fs.readFileSync(file, "utf8")) as unknown,
      catch: (error) => failure(`The script file ${file} cannot be read: ${messageOf(error)}`)
    })
    const decoded = decodeFile(json)
    if (Result.isSuccess(decoded)) return decoded.success
    return yield* failure(`The script file ${file} is not {"defaults"?: script, "models"?: {id: script}}:\n${decoded.failure.message}`)
  })

const defined = <A extends object>(fields: A) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof A]?: Exclude<A[K], undefined> }

export const sim = (options: Options) =>
  Effect.gen(function*() {
    const launcher = yield* Launcher
    launcher.serves(stopMs)
    const script = options.script === undefined ? {} : yield* readScript(options.script)
    return yield* runCli({
      ...script,
      ...defined({ host: options.host, pace: options.pace }),
      port: options.port ?? defaultPort,
      ...(options.keys.length === 0 ? {} : { keys: options.keys }),
      bench: options.bench,
      trustHeaders: options.trustHeaders,
      quiet: options.quiet
    })
  })
