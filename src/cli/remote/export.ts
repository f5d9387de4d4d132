/** `gateway export`: the records of a running gateway as a configuration file. */
import * as fs from "node:fs/promises"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { messageOf } from "#actors/thrown.ts"
import { failure } from "#src/cli/Failure.ts"
import { decoding, find, type RemoteOptions } from "./Remote.ts"

const Exported = decoding(Schema.Struct({
  yaml: Schema.String,
  variables: Schema.Array(Schema.Struct({ name: Schema.String, path: Schema.String })),
  leftOut: Schema.Array(Schema.Struct({ kind: Schema.String, name: Schema.String, why: Schema.String }))
}))

/** Never over a file that stands there: it may be the one that the gateway was started with. */
const write = (file: string, text: string) => Effect.tryPromise({
  try: () => fs.writeFile(file, text, { flag: "wx", mode: 0o600 }),
  catch: (error) => failure(`${file} cannot be written: ${messageOf(error)}`)
})

export const exported = Effect.fnUntraced(function*(options: RemoteOptions & { readonly output: string | undefined }) {
  const remote = yield* find(options)
  const body = yield* remote.call("GET", "/api/config-file/export")
  const { leftOut, variables, yaml } = yield* Exported(body)
  const text = options.json ? `${JSON.stringify(body)}\n` : yaml
  if (options.output === undefined) return yield* Console.log(text.trimEnd())
  yield* write(options.output, text)
  yield* Console.log(`${options.output} is written. It names ${variables.length} variables for secrets${leftOut.length === 0 ? "" : `, and leaves out ${leftOut.length} records: its head says why`}.`)
})
