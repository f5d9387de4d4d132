/** The gateway that a command calls: the one that runs on the data directory, or another one by address and token. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { load, type Loaded, type Overrides } from "#src/cli/environment.ts"
import { type Failure, failure, refusalText, unreached } from "#src/cli/Failure.ts"
import * as LocalHttp from "#src/cli/LocalHttp.ts"
import * as RunningGateway from "#src/cli/RunningGateway.ts"
import * as Table from "#src/cli/terminal/table.ts"

export interface RemoteOptions extends Overrides {
  /** Address of a gateway elsewhere. */
  readonly url: string | undefined
  /** Access token, or API key with scope manage, for `url`. */
  readonly token: string | undefined
  readonly json: boolean
}

export interface Remote {
  readonly url: string
  readonly settings: Loaded
  readonly call: LocalHttp.LocalHttp
}

/** ms for one call to a gateway elsewhere. */
const timeoutMs = 15_000

const tokenVariable = "GATEWAY_TOKEN"

const elsewhere = (url: string, token: string | undefined): LocalHttp.LocalHttp => (method, path, body) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(new URL(path, url), {
        method,
        headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...(body === undefined ? {} : { "content-type": "application/json" }) },
        signal: AbortSignal.timeout(timeoutMs),
        redirect: "error",
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? null : JSON.parse(text) as unknown }
    },
    catch: (error) => failure(`The gateway at ${url} cannot be asked: ${unreached(error)}`)
  }).pipe(Effect.flatMap(({ body: answer, status }) => status >= 200 && status < 300
    ? Effect.succeed(answer)
    : Effect.fail(failure(`The gateway at ${url} refused ${method} ${path} with ${status}: ${refusalText(answer)}`
      + (status === 401 && token === undefined ? `\nGive an access token with --token or ${tokenVariable}.` : "")))))

export const find = (options: RemoteOptions): Effect.Effect<Remote, unknown> => Effect.gen(function*() {
  const settings = yield* load(options)
  if (options.url !== undefined) {
    const url = URL.parse(options.url)
    if (url === null || !/^https?:$/.test(url.protocol)) return yield* failure(`--url '${options.url}' is no http or https address.`)
    return { url: url.origin, settings, call: elsewhere(url.origin, options.token ?? settings.environment[tokenVariable]) }
  }
  const running = RunningGateway.find(settings.dataDir)
  if (running === null || running.url === null) {
    return yield* failure(`No gateway runs on ${settings.dataDir}. Start it (\`gateway serve\`), name its directory with --data-dir, or another gateway with --url.`)
  }
  return { url: running.url, settings, call: yield* LocalHttp.make(settings, running.url) }
})

/** Reads an answer; a gateway of another version may answer otherwise. */
export const decoding = <A>(schema: Schema.Decoder<A>) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (body: unknown): Effect.Effect<A, Failure> =>
    Effect.mapError(decode(body), () => failure("The gateway's answer is of another version of the gateway; use its own command line."))
}

/** A table for a person, or the gateway's own JSON. */
export const show = (options: { readonly json: boolean }, body: unknown, columns: ReadonlyArray<Table.Column>, rows: ReadonlyArray<ReadonlyArray<Table.Cell>>, empty: string) =>
  Console.log(options.json
    ? JSON.stringify(body)
    : rows.length === 0 ? empty : Table.render(columns, rows, Table.isColoured(process.env, process.stdout.isTTY)))
