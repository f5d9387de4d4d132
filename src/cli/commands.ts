/** The command tree. A handler loads its own modules when it runs, so that `--help` is quick and no command pays for another. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { version } from "#schemas/version.ts"
import { remoteCommands } from "./remote/commands.ts"

/** Runs the effect that a lazily loaded module makes. */
const lazily = <A, E, R>(load: () => Promise<Effect.Effect<A, E, R>>): Effect.Effect<A, E, R> => Effect.flatten(Effect.promise(load))

const maybe = <A>(flag: Flag.Flag<A>): Flag.Flag<A | undefined> => Flag.map(Flag.optional(flag), Option.getOrUndefined)

/** Off unless given. */
const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

const several = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.atLeast(0))

const dataDir = maybe(Flag.String("data-dir").pipe(Flag.withMetavar("directory"), Flag.withDescription("Data directory, in place of GATEWAY_DATA_DIR")))
const port = maybe(Flag.Int("port").pipe(Flag.withAlias("p"), Flag.withMetavar("port"), Flag.withDescription("Port, in place of PORT; 0 picks a free one")))
const host = maybe(Flag.String("host").pipe(Flag.withMetavar("address"), Flag.withDescription("Address to listen on, in place of HOST")))
const json = toggle("json", "Print JSON")

const serveFlags = { port, host, dataDir }
const check = toggle("check", "Compare with the file instead of writing it; exit code 1 when it differs")
const output = maybe(Flag.String("output").pipe(Flag.withAlias("o"), Flag.withMetavar("file"), Flag.withDescription("Another file than the repository's own")))

const serve = Command.make("serve", serveFlags, (options) => lazily(async () => (await import("#src/cli/commands/serve.ts")).serve(options))).pipe(
  Command.withDescription("Run the gateway until a signal, then drain and end (the default command)")
)

const sim = Command.make("sim", {
  port: maybe(Flag.Int("port").pipe(Flag.withAlias("p"), Flag.withMetavar("port"), Flag.withDescription("Port (default 20140; 0 picks a free one)"))),
  host: maybe(Flag.String("host").pipe(Flag.withMetavar("address"), Flag.withDescription("Address to listen on (default 127.0.0.1)"))),
  pace: maybe(Flag.Finite("pace").pipe(Flag.withMetavar("ms"), Flag.withDescription("Milliseconds per token, for streams that do not say otherwise"))),
  script: maybe(Flag.String("script").pipe(Flag.withMetavar("file"), Flag.withDescription("JSON file {\"defaults\"?: script, \"models\"?: {id: script}}"))),
  keys: several("key", "key", "Accept only this API key; may be repeated"),
  trustHeaders: toggle("trust-headers", "Heed the request header x-sim-script"),
  bench: toggle("bench", "For load tests: replies are shared and the truth log is off"),
  quiet: toggle("quiet", "Print nothing")
}, (options) => lazily(async () => (await import("#src/cli/commands/sim.ts")).sim(options))).pipe(
  Command.withDescription("Run the scriptable fake upstream alone (docs/simulator.md)")
)

const mcp = Command.make("mcp", { dataDir }, (options) => lazily(async () => (await import("#src/cli/commands/mcp.ts")).mcp(options))).pipe(
  Command.withDescription("Serve the running gateway's tools to an MCP client on standard input and output (docs/mcp.md)")
)

const migrate = Command.make("migrate", {
  dataDir,
  status: toggle("status", "Only show what is applied and pending; exit code 1 when something is pending")
}, (options) => lazily(async () => (await import("#src/cli/commands/migrate.ts")).migrate(options))).pipe(
  Command.withDescription("Bring the database's schema to this release")
)

const keysCreate = Command.make("create", {
  dataDir,
  name: Argument.String("name").pipe(Argument.withDescription("What the key is for")),
  scopes: several("scope", "scope", "Scope beside self:usage, such as manage or admin; may be repeated"),
  models: several("model", "glob", "Only these models; may be repeated"),
  expires: maybe(Flag.String("expires").pipe(Flag.withMetavar("when"), Flag.withDescription("45m, 12h, 30d, or an ISO 8601 time"))),
  json
}, (options) => lazily(async () => (await import("./keys/keys.ts")).create(options))).pipe(Command.withDescription("Make an API key; its value is shown once"))

const keysList = Command.make("list", { dataDir, json }, (options) => lazily(async () => (await import("./keys/keys.ts")).list(options))).pipe(
  Command.withDescription("List the API keys, values masked")
)

const keysRevoke = Command.make("revoke", {
  dataDir,
  key: Argument.String("id").pipe(Argument.withDescription("Id of the key, or its name when only one key has it"))
}, (options) => lazily(async () => (await import("./keys/keys.ts")).revoke(options))).pipe(Command.withDescription("Delete an API key; it is dead at once"))

const keys = Command.make("keys").pipe(
  Command.withDescription("API keys of clients; a running gateway is asked, else the database is opened"),
  Command.withSubcommands([keysCreate, keysList, keysRevoke])
)

const rekey = Command.make("rekey", { dataDir }, (options) => lazily(async () => (await import("#src/cli/commands/rekey.ts")).rekey(options))).pipe(
  Command.withDescription("Seal every stored secret with the current master key")
)

const doctor = Command.make("doctor", { port, host, dataDir, json }, (options) =>
  lazily(async () => (await import("./doctor/doctor.ts")).doctor(options))).pipe(
    Command.withDescription("Look at everything a start needs and say what to mend; exit code 1 when something is broken")
  )

const openapi = Command.make("openapi", { check, output }, (options) =>
  lazily(async () => (await import("#src/cli/commands/openapi.ts")).openapi(options))).pipe(Command.withDescription("Write openapi.json, the description of the management API"))

const passwordReset = Command.make("reset", {
  dataDir,
  stdin: toggle("stdin", "Take the first line of standard input instead of generating one"),
  keepTokens: toggle("keep-tokens", "Keep the access tokens that were minted with the old password")
}, (options) => lazily(async () => (await import("#src/cli/commands/password.ts")).reset(options))).pipe(Command.withDescription("Set a new management password, shown once"))

const password = Command.make("password").pipe(Command.withDescription("The management password"), Command.withSubcommands([passwordReset]))

const docsSettings = Command.make("settings", { check, output }, (options) =>
  lazily(async () => (await import("#src/cli/commands/docs.ts")).docsSettings(options))).pipe(Command.withDescription("Write docs/settings.md"))

const docsLimits = Command.make("limits", { check, output }, (options) =>
  lazily(async () => (await import("#src/cli/commands/docs.ts")).docsLimits(options))).pipe(Command.withDescription("Write docs/known-limits.md"))

const docsProviders = Command.make("providers", { check, output }, (options) =>
  lazily(async () => (await import("#src/cli/commands/docs.ts")).docsProviders(options))).pipe(Command.withDescription("Write docs/providers.md"))

const docs = Command.make("docs").pipe(
  Command.withDescription("Pages made from the sources"),
  Command.withSubcommands([docsSettings, docsLimits, docsProviders])
)

/** Shown in the help; `main.ts` runs it before this parser, so that its own options pass unread. */
const bench = Command.make("bench", { args: Argument.String("options").pipe(Argument.variadic()) }, ({ args }) =>
  lazily(async () => (await import("#src/cli/commands/bench.ts")).bench(args))).pipe(Command.withDescription("Run the benchmark; its options follow (gateway bench --help)"))

export const gateway = Command.make("gateway", serveFlags, (options) => lazily(async () => (await import("#src/cli/commands/serve.ts")).serve(options))).pipe(
  Command.withDescription("A model-routing gateway. Without a command it serves."),
  Command.withSubcommands([serve, sim, mcp, ...remoteCommands, keys, migrate, rekey, doctor, password, openapi, docs, bench])
)

/** A slip gets a line that names it; the help comes when it is asked for. */
const presenter: CliOutput.Presenter = {
  present: (event) => event._tag === "InvalidInvocation"
    ? Effect.flatMap(CliOutput.Formatter, (formatter) =>
      Console.error(`${formatter.formatErrors(event.errors).trim()}\n\nSee \`${event.commandPath.join(" ")} --help\`.`))
    : CliOutput.defaultPresenter.present(event)
}

const services = Layer.mergeAll(
  NodeServices.layer,
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
)

export const command = (args: ReadonlyArray<string>) => Effect.provide(Command.runWith(gateway, { version })(args), services)
