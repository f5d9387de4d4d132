/** `gateway providers | nodes | combos | usage | logs`: what a running gateway holds and did. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { failure } from "#src/cli/Failure.ts"
import type { Cell } from "#src/cli/terminal/table.ts"
import { decoding, find, type RemoteOptions, show } from "./Remote.ts"

const optional = Schema.optionalKey

const Connections = decoding(Schema.Struct({
  connections: Schema.Array(Schema.Struct({
    id: Schema.String, provider: Schema.String, name: Schema.String, isActive: Schema.Boolean, testStatus: Schema.String, priority: Schema.Number
  }))
}))
const Made = decoding(Schema.Struct({ connection: Schema.Struct({ id: Schema.String, provider: Schema.String, name: Schema.String }) }))
const Node = Schema.Struct({
  id: Schema.String, prefix: Schema.String, name: Schema.String, type: Schema.String, apiType: Schema.NullOr(Schema.String), baseUrl: Schema.String
})
const Nodes = decoding(Schema.Struct({ nodes: Schema.Array(Node) }))
const Tested = decoding(Schema.Struct({ valid: Schema.Boolean, latencyMs: optional(Schema.NullOr(Schema.Number)), diagnosis: optional(Schema.NullOr(Schema.Struct({ message: Schema.String }))) }))
const Combos = decoding(Schema.Struct({
  combos: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, strategy: Schema.String, models: Schema.Array(Schema.Json) }))
}))
const Combo = decoding(Schema.Struct({ id: Schema.String, name: Schema.String }))
const Totals = { requests: Schema.Number, promptTokens: Schema.Number, completionTokens: Schema.Number, cost: Schema.Number }
const History = decoding(Schema.Struct({
  totalRequests: Schema.Number, totalPromptTokens: Schema.Number, totalCompletionTokens: Schema.Number, totalCost: Schema.Number,
  byModel: Schema.Record(Schema.String, Schema.Struct({ ...Totals, provider: Schema.String, rawModel: Schema.String }))
}))
const Calls = decoding(Schema.Array(Schema.Struct({
  timestamp: Schema.String, status: Schema.Number, provider: Schema.String, model: Schema.String, duration: Schema.Number,
  tokensIn: Schema.Number, tokensOut: Schema.Number, cost: Schema.Number, outcome: Schema.String, requestId: Schema.String
})))

const usd = (amount: number): string => `$${amount.toFixed(amount !== 0 && Math.abs(amount) < 0.01 ? 6 : 2)}`
const count = (amount: number): string => Math.round(amount).toLocaleString("en-US")
const state = (isActive: boolean, testStatus: string): Cell =>
  !isActive ? { text: "off", mood: "dim" } : testStatus === "active" ? { text: "active", mood: "good" } : testStatus === "unknown" ? "untested" : { text: testStatus, mood: "bad" }

/** The one record of this id, else of this name; an ambiguous name changes nothing. */
const only = <A extends { readonly id: string }>(records: ReadonlyArray<A>, named: string, nameOf: (record: A) => ReadonlyArray<string>, what: string) => {
  const byId = records.find(({ id }) => id === named)
  const found = byId === undefined ? records.filter((record) => nameOf(record).includes(named)) : [byId]
  const [first] = found
  if (first === undefined) return Effect.fail(failure(`No ${what} has the id or name '${named}'.`))
  return found.length > 1 ? Effect.fail(failure(`${found.length} ${what}s are named '${named}'; name one by its id: ${found.map(({ id }) => id).join(", ")}.`)) : Effect.succeed(first)
}

const connectionsOf = Effect.fnUntraced(function*(options: RemoteOptions) {
  const remote = yield* find(options)
  const body = yield* remote.call("GET", "/api/providers")
  const { connections } = yield* Connections(body)
  const { nodes } = yield* Nodes(yield* remote.call("GET", "/api/provider-nodes"))
  const prefixes = new Map(nodes.map(({ id, prefix }) => [id, prefix]))
  return { remote, body, connections: connections.map((connection) => ({ ...connection, provider: prefixes.get(connection.provider) ?? connection.provider })) }
})

export const providers = Effect.fnUntraced(function*(options: RemoteOptions) {
  const { body, connections } = yield* connectionsOf(options)
  yield* show(options, body, [{ title: "provider" }, { title: "name" }, { title: "state" }, { title: "priority", right: true }, { title: "id" }],
    connections.map(({ id, isActive, name, priority, provider, testStatus }) => [provider, name, state(isActive, testStatus), String(priority), { text: id, mood: "dim" }]),
    "No connections. Add one: gateway providers add <provider> --key -")
})

/** The first line of standard input, so that a key stands in no shell history. */
const fromInput = Effect.promise(async () => {
  let text = ""
  for await (const chunk of process.stdin) text += String(chunk)
  return text.split("\n", 1)[0]?.trim() ?? ""
})

export const secretOf = (given: string | undefined): Effect.Effect<string | undefined> => given === "-" ? fromInput : Effect.succeed(given)

export const addProvider = Effect.fnUntraced(function*(options: RemoteOptions & { readonly provider: string; readonly name: string | undefined; readonly key: string | undefined }) {
  const remote = yield* find(options)
  const apiKey = yield* secretOf(options.key)
  const body = yield* remote.call("POST", "/api/providers", { provider: options.provider, name: options.name ?? options.provider, ...(apiKey === undefined ? {} : { apiKey }) })
  const { connection } = yield* Made(body)
  yield* Console.log(options.json ? JSON.stringify(body) : `Connection '${connection.name}' of ${options.provider} is stored (id ${connection.id}). Try it: gateway providers test ${connection.id}`)
})

export const testProvider = Effect.fnUntraced(function*(options: RemoteOptions & { readonly connection: string }) {
  const { connections, remote } = yield* connectionsOf(options)
  const { id, name } = yield* only(connections, options.connection, (connection) => [connection.name, connection.provider], "connection")
  const body = yield* remote.call("POST", `/api/providers/${encodeURIComponent(id)}/test`)
  const { diagnosis, latencyMs, valid } = yield* Tested(body)
  if (options.json) yield* Console.log(JSON.stringify(body))
  else if (valid) yield* Console.log(`Connection '${name}' works${typeof latencyMs === "number" ? ` (${Math.round(latencyMs)} ms)` : ""}.`)
  if (!valid) return yield* failure(options.json ? "" : `Connection '${name}' does not work: ${diagnosis?.message ?? "the provider refused it"}`)
})

export const removeProvider = Effect.fnUntraced(function*(options: RemoteOptions & { readonly connection: string }) {
  const { connections, remote } = yield* connectionsOf(options)
  const { id, name, provider } = yield* only(connections, options.connection, (connection) => [connection.name], "connection")
  const body = yield* remote.call("DELETE", `/api/providers/${encodeURIComponent(id)}`)
  yield* Console.log(options.json ? JSON.stringify(body) : `Connection '${name}' of ${provider} is deleted.`)
})

export const nodes = Effect.fnUntraced(function*(options: RemoteOptions) {
  const remote = yield* find(options)
  const body = yield* remote.call("GET", "/api/provider-nodes")
  const { nodes } = yield* Nodes(body)
  yield* show(options, body, [{ title: "prefix" }, { title: "name" }, { title: "kind" }, { title: "address" }],
    nodes.map(({ apiType, baseUrl, name, prefix, type }) => [prefix, name, apiType ?? type, baseUrl]),
    "No nodes. Add one: gateway nodes add <prefix> <base URL> --key -")
})

export const addNode = Effect.fnUntraced(function*(options: RemoteOptions & {
  readonly prefix: string
  readonly baseUrl: string
  readonly type: "openai-compatible" | "anthropic-compatible"
  readonly apiType: string
  readonly key: string | undefined
}) {
  const remote = yield* find(options)
  const apiKey = yield* secretOf(options.key)
  const body = yield* remote.call("POST", "/api/provider-nodes", {
    type: options.type,
    ...(options.type === "openai-compatible" ? { apiType: options.apiType } : {}),
    name: options.prefix,
    prefix: options.prefix,
    baseUrl: options.baseUrl,
    apiKey: apiKey ?? null
  })
  yield* Console.log(options.json ? JSON.stringify(body) : `Node '${options.prefix}' is stored; call its models as ${options.prefix}/<model>.`)
})

export const removeNode = Effect.fnUntraced(function*(options: RemoteOptions & { readonly node: string }) {
  const remote = yield* find(options)
  const { nodes } = yield* Nodes(yield* remote.call("GET", "/api/provider-nodes"))
  const { id, prefix } = yield* only(nodes, options.node, (node) => [node.prefix], "node")
  const body = yield* remote.call("DELETE", `/api/provider-nodes/${encodeURIComponent(id)}`)
  yield* Console.log(options.json ? JSON.stringify(body) : `Node '${prefix}' and its connections are deleted.`)
})

const modelOf = (step: Schema.Json): string => {
  if (typeof step === "string") return step
  const named = typeof step === "object" && step !== null ? Reflect.get(step, "model") ?? Reflect.get(step, "combo") : null
  return typeof named === "string" ? named : "?"
}

export const combos = Effect.fnUntraced(function*(options: RemoteOptions) {
  const remote = yield* find(options)
  const body = yield* remote.call("GET", "/api/combos")
  const { combos } = yield* Combos(body)
  yield* show(options, body, [{ title: "name" }, { title: "strategy" }, { title: "targets" }],
    combos.map(({ models, name, strategy }) => [name, strategy, models.map(modelOf).join(", ")]),
    "No combos. Add one: gateway combos add <name> <model> <model> ...")
})

export const addCombo = Effect.fnUntraced(function*(options: RemoteOptions & { readonly name: string; readonly models: ReadonlyArray<string>; readonly strategy: string }) {
  const remote = yield* find(options)
  const body = yield* remote.call("POST", "/api/combos", { name: options.name, strategy: options.strategy, models: options.models })
  const { name } = yield* Combo(body)
  yield* Console.log(options.json ? JSON.stringify(body) : `Combo '${name}' is stored; call it like a model: gateway chat ${name} "Hello"`)
})

export const removeCombo = Effect.fnUntraced(function*(options: RemoteOptions & { readonly combo: string }) {
  const remote = yield* find(options)
  const { combos } = yield* Combos(yield* remote.call("GET", "/api/combos"))
  const { id, name } = yield* only(combos, options.combo, (combo) => [combo.name], "combo")
  const body = yield* remote.call("DELETE", `/api/combos/${encodeURIComponent(id)}`)
  yield* Console.log(options.json ? JSON.stringify(body) : `Combo '${name}' is deleted.`)
})

export const usage = Effect.fnUntraced(function*(options: RemoteOptions) {
  const remote = yield* find(options)
  const body = yield* remote.call("GET", "/api/usage/history")
  const history = yield* History(body)
  const rows = Object.values(history.byModel).toSorted((a, b) => b.cost - a.cost || b.requests - a.requests)
  const totals = { requests: history.totalRequests, promptTokens: history.totalPromptTokens, completionTokens: history.totalCompletionTokens, cost: history.totalCost }
  const figures = ({ completionTokens, cost, promptTokens, requests }: typeof totals): ReadonlyArray<Cell> =>
    [count(requests), count(promptTokens), count(completionTokens), usd(cost)]
  yield* show(options, body,
    [{ title: "model" }, { title: "requests", right: true }, { title: "tokens in", right: true }, { title: "tokens out", right: true }, { title: "cost", right: true }],
    rows.length === 0 ? [] : [...rows.map((row): ReadonlyArray<Cell> => [`${row.provider}/${row.rawModel}`, ...figures(row)]), ["total", ...figures(totals)]],
    "Nothing was called yet.")
})

export const logs = Effect.fnUntraced(function*(options: RemoteOptions & { readonly limit: number; readonly model: string | undefined; readonly status: string | undefined }) {
  const remote = yield* find(options)
  const query = new URLSearchParams({ limit: String(options.limit) })
  if (options.model !== undefined) query.set("model", options.model)
  if (options.status !== undefined) query.set("status", options.status)
  const body = yield* remote.call("GET", `/api/usage/call-logs?${query}`)
  const calls = yield* Calls(body)
  yield* show(options, body,
    [{ title: "time" }, { title: "status" }, { title: "model" }, { title: "ms", right: true }, { title: "in", right: true }, { title: "out", right: true }, { title: "cost", right: true }, { title: "outcome" }, { title: "request" }],
    calls.map((call) => [
      call.timestamp, { text: String(call.status), mood: call.status < 400 ? "good" : "bad" }, `${call.provider}/${call.model}`, count(call.duration),
      count(call.tokensIn), count(call.tokensOut), usd(call.cost), call.outcome, { text: call.requestId, mood: "dim" }
    ]),
    "No call fits.")
})
