/** A change on one node is acted on by every node within two seconds, and acknowledged; a lost message heals by polling. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, type Ground, ground, startCluster, viewOf } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { watchLate } from "#test/support/late.ts"
import { eventually } from "#test/support/operator.ts"
import { silentRoad } from "#test/support/redis.ts"

const servers = await findServers()
/** Two seconds until every node acts on a change, and what the looking itself may add (ms). */
const within = 2_000 + 500

/** Waits until a look at every node finds what is wanted; fails when one takes longer than promised. */
const everywhere = (cluster: Cluster, look: (node: InProcess) => Promise<number>, status: number, what: string): Promise<unknown> =>
  Promise.all(cluster.nodes.map(async (node, index) => {
    const late = watchLate()
    const from = performance.now()
    await eventually(() => look(node), (seen) => seen === status, `${what} on node ${index + 1}`)
    expect(performance.now() - from, `${what} on node ${index + 1}`).toBeLessThan(within + late())
  }))

/** Changes of every kind on the first node; each is seen by what every node does. */
const changes = async (cluster: Cluster): Promise<void> => {
  const [first] = cluster.nodes
  if (first === undefined) throw new Error("no node")
  const { operator } = first
  const ask = (model: string, key?: string) => async (node: InProcess) => (await cluster.chat(node, model, key)).status
  const tag = Math.random().toString(36).slice(2)

  await everywhere(cluster, ask("lab/m"), 200, "the connection")
  await operator.changeConnection(cluster.connection, { isActive: false })
  await everywhere(cluster, async (node) => (await cluster.chat(node, "lab/m")).status === 200 ? 200 : 400, 400, "the connection's end")
  await operator.changeConnection(cluster.connection, { isActive: true })
  await everywhere(cluster, ask("lab/m"), 200, "the connection's return")

  await operator.call("PATCH", "/api/settings", { blockedProviders: ["lab"] })
  await everywhere(cluster, ask("lab/m"), 403, "the blocked provider")
  await operator.call("PATCH", "/api/settings", { blockedProviders: [] })
  await everywhere(cluster, ask("lab/m"), 200, "the provider's return")

  // Nothing but a forwarding header makes a client on this machine one of another address.
  const elsewhere = async (node: InProcess) => (await Http.send(node.url, { path: "/v1/models", headers: { "x-forwarded-for": "203.0.113.9" } })).status
  await operator.call("PUT", "/api/settings/ip-filter", { enabled: true })
  await everywhere(cluster, elsewhere, 403, "the filter of addresses")
  await operator.call("PUT", "/api/settings/ip-filter", { enabled: false })
  await everywhere(cluster, elsewhere, 200, "the filter's end")

  const { id: proxy } = await operator.call<{ id: string }>("POST", "/api/v1/management/proxies", { name: `proxy-${tag}`, host: "127.0.0.1", port: 1 })
  await operator.call("PUT", "/api/v1/management/proxies/assignments", { scope: "provider", scopeId: "lab", proxyId: proxy })
  await everywhere(cluster, async (node) => (await cluster.chat(node, "lab/m")).status === 200 ? 200 : 502, 502, "the outbound proxy")
  await operator.call("DELETE", `/api/v1/management/proxies?id=${proxy}&force=1`)
  await everywhere(cluster, ask("lab/m"), 200, "the proxy's end")

  await operator.call("POST", "/api/combos", { name: `pair-${tag}`, models: ["lab/m"], strategy: "priority" })
  await everywhere(cluster, ask(`pair-${tag}`), 200, "the combo")
  await operator.call("PUT", "/api/models/alias", { alias: `short-${tag}`, model: "lab/m" })
  await everywhere(cluster, ask(`short-${tag}`), 200, "the alias")

  // A restore changes everything at once.
  const { bytes } = await operator.raw("GET", "/api/db-backups/export")
  await operator.call("DELETE", `/api/models/alias?alias=short-${tag}`)
  await everywhere(cluster, ask(`short-${tag}`), 404, "the alias's end")
  expect((await operator.raw("POST", "/api/db-backups/import", bytes)).status).toBe(200)
  await everywhere(cluster, ask(`short-${tag}`), 200, "the restored alias")

  await operator.setFlag("REQUIRE_API_KEY", "true")
  await everywhere(cluster, ask("lab/m"), 401, "the flag")
  const key = await operator.createKey(`key-${tag}`)
  await everywhere(cluster, ask("lab/m", key.key), 200, "the key")
  await operator.changeKey(key.id, { isActive: false })
  await everywhere(cluster, async (node) => (await cluster.chat(node, "lab/m", key.key)).status === 200 ? 200 : 403, 403, "the key's lock")
  await operator.changeKey(key.id, { isActive: true })
  await everywhere(cluster, ask("lab/m", key.key), 200, "the key's return")
  const issued = await Http.send(first.url, { path: "/api/v1/registered-keys", body: { name: "child" }, headers: { authorization: `Bearer ${key.key}` } })
  const child = String((JSON.parse(issued.text) as { readonly key?: unknown }).key)
  await everywhere(cluster, ask("lab/m", child), 200, "the issued key")
  await operator.changeKey(key.id, { isActive: false })
  await everywhere(cluster, ask("lab/m", child), 403, "the lock of the issued key's issuer")
  await operator.changeKey(key.id, { isActive: true })
  await everywhere(cluster, ask("lab/m", child), 200, "the return of the issued key's issuer")
  await operator.call("DELETE", `/api/keys/${key.id}`)
  await everywhere(cluster, ask("lab/m", child), 401, "the end of the issued key's issuer")
  await everywhere(cluster, ask("lab/m", key.key), 401, "the key's end")
  await operator.clearFlags()
  await everywhere(cluster, ask("lab/m"), 200, "the flag's end")
}

describe.skipIf(servers.missing !== null)("several nodes on one database", { timeout: 180_000 }, () => {
  let common: Ground
  let cluster: Cluster
  let silence: () => void
  const closers: Array<() => Promise<unknown>> = []

  beforeAll(async () => {
    common = await ground(servers.postgres)
    closers.push(common.close)
    const road = await silentRoad(common.redis.url)
    closers.push(road.close)
    silence = road.silence
    const prompt = { GATEWAY_REDIS_TIMEOUT_MS: "50" }
    cluster = await startCluster(common, [{ environment: prompt }, { environment: prompt }, { environment: { ...prompt, REDIS_URL: road.url } }])
    closers.push(cluster.close)
  }, 180_000)
  afterAll(async () => {
    for (const close of closers.reverse()) await close()
  })

  it("act on a change of any of them", async () => {
    await changes(cluster)
  })

  it("say who they are and which version each acts on", async () => {
    for (const node of cluster.nodes) {
      const view = await converged(node)
      expect(view.nodes.map((one) => [one.status, one.version, one.worker])).toEqual([1, 2, 3].map(() => ["alive", view.version, 0]))
      expect(view.nodes.filter((one) => one.self)).toHaveLength(1)
    }
    const before = await viewOf(cluster.nodes[0] as InProcess)
    await cluster.nodes[1]?.operator.call("PUT", "/api/models/alias", { alias: "later", model: "lab/m" })
    const after = await converged(cluster.nodes[2] as InProcess)
    expect(after.version).toBeGreaterThan(before.version)
  })

  it("act on it all the same when a message is lost on its way to one of them", async () => {
    silence()
    await changes(cluster)
  })

  it("act on it all the same while Redis is frozen, and while it is gone", async () => {
    const alias = async (name: string) => {
      await cluster.nodes[0]?.operator.call("PUT", "/api/models/alias", { alias: name, model: "lab/m" })
      await everywhere(cluster, async (node) => (await cluster.chat(node, name)).status, 200, `the alias ${name}`)
    }
    common.redis.freeze()
    await alias("frozen")
    await common.redis.kill()
    await alias("gone")
    await common.redis.start()
    await alias("back")
  })

  it("see a node go at once when it stops", async () => {
    await cluster.nodes[2]?.close()
    expect((await viewOf(cluster.nodes[0] as InProcess)).nodes).toHaveLength(2)
    Object.assign(cluster, { nodes: cluster.nodes.slice(0, 2) })
  })
})
