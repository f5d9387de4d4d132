/** The commands that ask a running gateway. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

const lazily = <A, E, R>(load: () => Promise<Effect.Effect<A, E, R>>): Effect.Effect<A, E, R> => Effect.flatten(Effect.promise(load))
const maybe = <A>(flag: Flag.Flag<A>): Flag.Flag<A | undefined> => Flag.map(Flag.optional(flag), Option.getOrUndefined)
const text = (name: string, metavar: string, description: string) => maybe(Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description)))
const named = (name: string, description: string) => Argument.String(name).pipe(Argument.withDescription(description))

const lists = () => import("./lists.ts")

/** Every command here takes them. */
const where = {
  dataDir: text("data-dir", "directory", "Data directory of the gateway, in place of GATEWAY_DATA_DIR"),
  url: text("url", "address", "Another gateway than the one of the data directory"),
  token: text("token", "token", "Access token for --url, in place of GATEWAY_TOKEN"),
  json: Flag.Boolean("json").pipe(Flag.withoutNegation, Flag.withDescription("Print the gateway's JSON"), Flag.withDefault(false))
}
const key = text("key", "key", "Credential; - reads it from standard input, so that no shell remembers it")

const providers = Command.make("providers", where, (options) => lazily(async () => (await lists()).providers(options))).pipe(
  Command.withDescription("Connections to providers; without a subcommand lists them"),
  Command.withSubcommands([
    Command.make("list", where, (options) => lazily(async () => (await lists()).providers(options))).pipe(Command.withDescription("List the connections")),
    Command.make("add", { ...where, provider: named("provider", "Provider id, alias or node prefix"), name: text("name", "name", "Name of the connection"), key },
      (options) => lazily(async () => (await lists()).addProvider(options))).pipe(Command.withDescription("Store a credential")),
    Command.make("test", { ...where, connection: named("connection", "Id or name") },
      (options) => lazily(async () => (await lists()).testProvider(options))).pipe(Command.withDescription("Ask the provider whether a credential works; exit code 1 when not")),
    Command.make("remove", { ...where, connection: named("connection", "Id or name") },
      (options) => lazily(async () => (await lists()).removeProvider(options))).pipe(Command.withDescription("Delete a connection"))
  ])
)

const nodes = Command.make("nodes", where, (options) => lazily(async () => (await lists()).nodes(options))).pipe(
  Command.withDescription("Compatible endpoints under prefixes of your own; without a subcommand lists them"),
  Command.withSubcommands([
    Command.make("list", where, (options) => lazily(async () => (await lists()).nodes(options))).pipe(Command.withDescription("List the nodes")),
    Command.make("add", {
      ...where,
      prefix: named("prefix", "Model prefix"),
      baseUrl: named("base-url", "Address, such as http://127.0.0.1:8000/v1"),
      type: Flag.Literals("type", ["openai-compatible", "anthropic-compatible"]).pipe(Flag.withDescription("What the endpoint speaks"), Flag.withDefault("openai-compatible" as const)),
      apiType: Flag.String("api-type").pipe(Flag.withDescription("Kind of its models: chat, responses, embeddings ..."), Flag.withDefault("chat")),
      key
    }, (options) => lazily(async () => (await lists()).addNode(options))).pipe(Command.withDescription("Define an endpoint, with its first credential where it takes one")),
    Command.make("remove", { ...where, node: named("node", "Prefix or id") },
      (options) => lazily(async () => (await lists()).removeNode(options))).pipe(Command.withDescription("Delete a node and its connections"))
  ])
)

const combos = Command.make("combos", where, (options) => lazily(async () => (await lists()).combos(options))).pipe(
  Command.withDescription("Named plans over several models; without a subcommand lists them"),
  Command.withSubcommands([
    Command.make("list", where, (options) => lazily(async () => (await lists()).combos(options))).pipe(Command.withDescription("List the combos")),
    Command.make("add", {
      ...where,
      name: named("name", "Name that clients call"),
      models: Argument.String("model").pipe(Argument.withDescription("Targets in their order"), Argument.variadic({ min: 1 })),
      strategy: Flag.String("strategy").pipe(Flag.withDescription("How targets are ordered"), Flag.withDefault("priority"))
    }, (options) => lazily(async () => (await lists()).addCombo(options))).pipe(Command.withDescription("Store a combo")),
    Command.make("remove", { ...where, combo: named("combo", "Name or id") },
      (options) => lazily(async () => (await lists()).removeCombo(options))).pipe(Command.withDescription("Delete a combo"))
  ])
)

const usage = Command.make("usage", where, (options) => lazily(async () => (await lists()).usage(options))).pipe(
  Command.withDescription("Requests, tokens and cost per model")
)

const logs = Command.make("logs", {
  ...where,
  limit: Flag.Int("limit").pipe(Flag.withDescription("Calls shown, newest first (1 to 500)"), Flag.withDefault(20)),
  model: text("model", "model", "Only calls of this model"),
  status: text("status", "status", "Only calls of this status, such as 429 or error")
}, (options) => lazily(async () => (await lists()).logs(options))).pipe(Command.withDescription("The newest calls"))

const chat = Command.make("chat", {
  ...where,
  model: named("model", "Model id, alias or combo"),
  message: Argument.String("message").pipe(Argument.withDescription("What to say; without it standard input is read"), Argument.optional, Argument.map(Option.getOrUndefined)),
  key: text("key", "key", "API key of the gateway, in place of GATEWAY_API_KEY")
}, (options) => lazily(async () => (await import("./chat.ts")).chat(options))).pipe(Command.withDescription("Ask a model and print its answer as it comes"))

const exported = Command.make("export", {
  ...where,
  output: Flag.String("output").pipe(Flag.withAlias("o"), Flag.withMetavar("file"), Flag.withDescription("File to write, in place of standard output"), Flag.optional, Flag.map(Option.getOrUndefined))
}, (options) => lazily(async () => (await import("./export.ts")).exported(options))).pipe(
  Command.withDescription("Print the gateway's records as a configuration file, without secrets (docs/configuration-file.md)")
)

export const remoteCommands = [providers, nodes, combos, usage, logs, chat, exported] as const
