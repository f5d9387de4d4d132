/** Several gateways on one Postgres database and one Redis server, with a simulator behind them under the prefix `lab`. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { inProcess, type InProcess, type Options } from "./gateway.ts"
import * as Http from "./http.ts"
import { CREDENTIAL, messages } from "./lab.ts"
import { eventually, PASSWORD } from "./operator.ts"
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

/** `options` per node, over the common ground. */
export const startCluster = async (common: Ground, options: ReadonlyArray<Options>): Promise<Cluster> => {
  const sim = await startSim({ models: { "*": {} } })
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
