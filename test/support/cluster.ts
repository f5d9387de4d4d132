/** Several gateways on one Postgres database and one Redis server, with a simulator behind them under the prefix `lab`. */
import { randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Script } from "#src/simulator/Script.ts"
import { type Road, roadTo } from "./faults.ts"
import { inProcess, type InProcess, type Options } from "./gateway.ts"
import * as Http from "./http.ts"
import { CREDENTIAL, messages } from "./lab.ts"
import { eventually, type Operator, PASSWORD } from "./operator.ts"
import { findServer, freshDatabase, type Server } from "./postgres.ts"
import { canStartRedis, ownRedis, type OwnRedis } from "./redis.ts"
import { startSim, type Sim } from "./sim.ts"

export const SECRET = "a master secret of several nodes"

/** A Postgres server and the program of a Redis server, or the reason why there are none. */
export const findServers = async (): Promise<{ readonly postgres: Server; readonly missing: string | null }> => {
  const postgres = await findServer()
  return { postgres, missing: postgres.url === null ? postgres.reason : canStartRedis() ? null : "no redis-server program" }
}

/** A database and a Redis of their own for one test file. */
export interface Ground {
  readonly database: string
  readonly redis: OwnRedis
  readonly environment: Readonly<Record<string, string>>
  readonly close: () => Promise<void>
}

export const ground = async (postgres: Server): Promise<Ground> => {
  const scope = Scope.makeUnsafe()
  const database = await Effect.runPromise(Scope.provide(freshDatabase(postgres.url ?? ""), scope))
  const redis = await ownRedis()
  return {
    database,
    redis,
    environment: { DATABASE_URL: database, REDIS_URL: redis.url, GATEWAY_SECRET: SECRET, GATEWAY_DATABASE_POOL: "3", INITIAL_PASSWORD: PASSWORD },
    close: async () => {
      await redis.stop()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

export interface Cluster {
  readonly nodes: ReadonlyArray<InProcess>
  readonly sim: Sim
  /** The provider node `lab` and its connection. */
  readonly lab: string
  readonly connection: string
  readonly chat: (node: InProcess, model: string, key?: string) => Promise<Http.Reply>
  readonly close: () => Promise<void>
}

/** `options` per node, over the common ground; `script`: how each model of the simulator answers. */
export const startCluster = async (common: Ground, options: ReadonlyArray<Options>, script: Script = {}): Promise<Cluster> => {
  const sim = await startSim({ models: { "*": script } })
  const nodes: Array<InProcess> = []
  for (const one of options) nodes.push(await inProcess({ environment: { ...common.environment, ...one.environment } }))
  const [first] = nodes
  if (first === undefined) throw new Error("a cluster has one node at least")
  const lab = await first.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  const connection = await first.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
  const chat = (node: InProcess, model: string, key?: string) => Http.send(node.url, {
    path: "/v1/chat/completions", headers: key === undefined ? {} : { authorization: `Bearer ${key}` }, body: { model, messages }
  })
  return {
    nodes, sim, lab, connection, chat,
    close: async () => {
      for (const node of nodes) await node.close()
      await sim.stop()
    }
  }
}

/** Two nodes on a ground of their own. */
export interface TwoNodes {
  readonly common: Ground
  readonly cluster: Cluster
  readonly first: InProcess
  readonly second: InProcess
  readonly close: () => Promise<void>
}

export const startTwo = async (postgres: Server, options: Options = {}): Promise<TwoNodes> => {
  const common = await ground(postgres)
  const cluster = await startCluster(common, [options, options])
  const [first, second] = cluster.nodes as [InProcess, InProcess]
  return {
    common, cluster, first, second,
    close: async () => {
      await cluster.close()
      await common.close()
    }
  }
}

/** Two gateways that share a Redis and nothing else; each has this connection. */
export const startSharing = async (connection: Parameters<Operator["createConnection"]>[0]) => {
  const redis = await ownRedis()
  const environment = { REDIS_URL: redis.url, GATEWAY_REDIS_PREFIX: `t${randomBytes(4).toString("hex")}:`, GATEWAY_ALLOW_LOCAL_PROVIDER_URLS: "true" }
  const [one, two] = await Promise.all([inProcess({ environment }), inProcess({ environment })])
  for (const { operator } of [one, two]) {
    await operator.letFailuresPass()
    await operator.createConnection(connection)
  }
  return {
    one, two,
    [Symbol.asyncDispose]: async () => {
      for (const node of [one, two]) await node.close()
      await redis.stop()
    }
  }
}

/** A cluster whose Postgres can be slow, silent or gone: `road` leads to it. */
export interface Remote {
  readonly cluster: Cluster
  readonly road: Road
  readonly close: () => Promise<void>
}

export const startRemote = async (postgres: Server, options: ReadonlyArray<Options>, script: Script = {}): Promise<Remote> => {
  const common = await ground(postgres)
  const road = await roadTo(common.database)
  const environment = { ...common.environment, DATABASE_URL: road.url, GATEWAY_LOOKUP_TIMEOUT_MS: "1000" }
  const cluster = await startCluster({ ...common, environment }, options, script)
  return {
    cluster, road,
    close: async () => {
      await road.is("open")
      await cluster.close()
      await road.close()
      await common.close()
    }
  }
}

/** `options` of nodes with these ids. */
export const named = (...ids: ReadonlyArray<string>): ReadonlyArray<Options> => ids.map((id) => ({ environment: { GATEWAY_NODE_ID: id } }))

export interface NodeView {
  readonly id: string
  readonly self: boolean
  readonly status: string
  readonly version: number
  readonly worker: number
  readonly pid: number
}

/** GET /api/nodes. */
export const viewOf = (node: Pick<InProcess, "operator">) =>
  node.operator.call<{ readonly version: number; readonly converged: boolean; readonly nodes: ReadonlyArray<NodeView> }>("GET", "/api/nodes")

/** Waits until every node acts on the latest version: two seconds at most, and a little more for a busy machine. */
export const converged = (node: Pick<InProcess, "operator">) => eventually(() => viewOf(node), (view) => view.converged, "every node's acknowledgement", 2_500)
