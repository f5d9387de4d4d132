/** GATEWAY_WORKERS: one of several processes runs a tunnel of their machine, and callers of all meet it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TunnelStatus } from "#src/features/tunnels/api.ts"
import { findServers, type Ground, ground, type NodeView } from "#test/support/cluster.ts"
import { spawned, type Spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import * as TunnelPrograms from "#test/support/tunnelPrograms.ts"

const servers = await findServers()

describe.skipIf(servers.missing !== null)("a tunnel of several workers", { timeout: 120_000 }, () => {
  const programs = TunnelPrograms.make("cloudflared")
  let common: Ground
  let gateway: Spawned

  beforeAll(async () => {
    common = await ground(servers.postgres)
    gateway = await spawned({ environment: { ...common.environment, GATEWAY_WORKERS: "2", GATEWAY_TUNNELS: "on", REQUIRE_API_KEY: "true", GATEWAY_CLOUDFLARED_PATH: `${programs.directory}/cloudflared` } })
  }, 120_000)
  afterAll(async () => {
    await gateway.close()
    await common.close()
    programs.remove()
  })

  /** Of every worker: the kernel spreads connections, and each call has one of its own. */
  const ofAll = async <A>(ask: () => Promise<A>): Promise<ReadonlyArray<A>> => Promise.all(Array.from({ length: 24 }, ask))
  const status = () => gateway.operator.call<TunnelStatus>("GET", "/api/tunnels/cloudflared")
  // A worker that was killed takes the calls with it that the kernel had given it.
  const standsAt = (former: string | null) => eventually(() => ofAll(status).catch(() => []), (all) => all.length > 0 && all.every(({ publicUrl, running }) => running && publicUrl !== former && publicUrl === all[0]?.publicUrl), "the tunnel, as all see it")
  const act = (action: string) => gateway.operator.call("POST", "/api/tunnels/cloudflared", { action })

  it("is one, at any worker's word; it is opened again after the death of its worker, and ends with all", async () => {
    await ofAll(() => act("enable"))
    const [first] = await standsAt(null)
    expect(programs.called("cloudflared")).toHaveLength(1)
    const host = new URL(first?.publicUrl ?? "").host
    const ping = async (name: string) => (await Http.send(gateway.url, { method: "GET", path: "/api/health/ping", headers: { host: name, "x-forwarded-for": "203.0.113.7" } })).status
    expect(new Set(await ofAll(() => ping(host)))).toEqual(new Set([200]))
    expect(new Set(await ofAll(() => ping(`x${host}`)))).toEqual(new Set([421]))

    const { nodes } = await gateway.operator.call<{ readonly nodes: ReadonlyArray<NodeView> }>("GET", "/api/nodes")
    process.kill(nodes.find(({ worker }) => worker === 1)?.pid ?? 0, "SIGKILL")
    await eventually(async () => programs.alive().map(({ pid }) => pid), (pids) => !pids.includes(programs.called()[0]?.pid ?? 0), "the end of its program")
    await standsAt(first?.publicUrl ?? null)
    expect(programs.alive()).toHaveLength(1)

    await act("disable")
    await eventually(async () => programs.alive(), (alive) => alive.length === 0, "the end of the tunnel")
    await eventually(() => ofAll(() => ping(host)), (all) => all.every((answer) => answer === 421), "the end of its name")
    await act("enable")
    await standsAt(first?.publicUrl ?? null)
    // Its worker hears of the death of the others, and ends; then its program does.
    await gateway.close()
    await eventually(async () => programs.alive(), (alive) => alive.length === 0, "the end of the program with all workers")
  })
})
