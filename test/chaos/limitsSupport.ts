/** Two gateways as processes of their own on one Postgres and one Redis, and a key with a token limit. */
import { findServers, ground, type Ground } from "#test/support/cluster.ts"
import { type Road, roadTo } from "#test/support/faults.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

export { findServers }

/** What a call that ends uses. */
export const USE = 20
/** What one call reserves at most (prompt by its bytes, and its cap), and uses at most when it is cut and estimated. */
export const REQUEST = 64

export interface Limit {
  readonly tokensUsed: number
  readonly reserved: number
  readonly unsettled: number
}

export interface Pair {
  readonly sim: Sim
  readonly one: Spawned
  readonly two: Spawned
  /** The second node's way to Postgres. */
  readonly road: Road
  readonly limited: (tokenLimit: number) => Promise<{ readonly id: string; readonly key: string }>
  readonly call: (key: string, model?: string, more?: Readonly<Record<string, unknown>>) => Http.Call
  readonly spend: (node: Spawned, key: string) => Promise<Http.Reply>
  readonly limitOf: (node: Spawned, id: string) => Promise<Limit>
  /** Both nodes say the same of a key at rest, and nothing is reserved or unsettled; answers what was used. */
  readonly rest: (id: string) => Promise<number>
  readonly close: () => Promise<void>
}

export const startPair = async (postgres: Parameters<typeof ground>[0]): Promise<Pair> => {
  const common: Ground = await ground(postgres)
  const sim = await startSim({ models: { "*": {} } })
  const road = await roadTo(common.database)
  // The first migrates.
  const one = await spawned({ environment: { ...common.environment, GATEWAY_NODE_ID: "one" } })
  const two = await spawned({ environment: { ...common.environment, GATEWAY_NODE_ID: "two", DATABASE_URL: road.url } })
  await one.operator.letFailuresPass()
  const provider = await one.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  await one.operator.createConnection({ provider, apiKey: CREDENTIAL })
  await sim.rule({ match: { model: "spend" }, script: { tokens: 2, usage: { promptTokens: USE - 1, completionTokens: 1, totalTokens: USE } } })

  const call: Pair["call"] = (key, model = "spend", more = {}) => ({
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}` }, body: { model: `lab/${model}`, messages, max_tokens: 4, ...more }
  })
  const limitOf: Pair["limitOf"] = async (node, id) => {
    const [limit] = (await node.operator.call<{ readonly limits: ReadonlyArray<Limit> }>("GET", `/api/usage/token-limits?apiKeyId=${id}`)).limits
    if (limit === undefined) throw new Error(`key ${id} has no token limit`)
    return limit
  }
  return {
    sim, one, two, road, call, limitOf,
    limited: async (tokenLimit) => {
      const key = await one.operator.createKey("limited")
      await one.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit })
      await eventually(() => one.operator.call<{ readonly converged: boolean }>("GET", "/api/nodes"), (view) => view.converged, "the limit on both nodes")
      return key
    },
    spend: (node, key) => Http.send(node.url, call(key)),
    rest: async (id) => {
      for (const node of [one, two]) await node.operator.settled()
      const seen = await eventually(() => Promise.all([one, two].map((node) => limitOf(node, id))), (limits) =>
        limits.every((limit) => limit.reserved === 0 && limit.unsettled === 0 && limit.tokensUsed === limits[0]?.tokensUsed), "the same figures on both nodes")
      return seen[0]?.tokensUsed ?? 0
    },
    close: async () => {
      for (const node of [one, two]) if (node.pid() > 0) process.kill(node.pid(), "SIGCONT")
      for (const node of [one, two]) await node.close()
      await sim.stop()
      await road.close()
      await common.close()
    }
  }
}
