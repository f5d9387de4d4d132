/** Over several nodes: a breaker that opened on one is open on all, and one good probe closes it everywhere. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, startTwo } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()
const FAILURES = 3
/** Long enough for a busy machine to see it open on both. */
const RESET_MS = 4_000

describe.skipIf(servers.missing !== null)("a provider's breaker over several nodes", { timeout: 180_000 }, () => {
  let cluster: Cluster
  let first: InProcess
  let second: InProcess
  let close: () => Promise<void>

  beforeAll(async () => {
    ({ close, cluster, first, second } = await startTwo(servers.postgres))
    const each = <A>(section: A) => ({ oauth: section, apikey: section, local: section })
    await first.operator.call("PATCH", "/api/resilience", {
      providerBreaker: each({ degradationThreshold: 2, failureThreshold: FAILURES, resetTimeoutMs: RESET_MS }),
      connectionCooldown: each({ baseCooldownMs: 0, rateLimitCooldownMs: 0, useUpstreamRetryHints: false })
    })
    await converged(first)
  }, 180_000)
  afterAll(() => close())

  const calls = async () => (await cluster.sim.entries()).length
  const stateOn = async (node: InProcess) => {
    const view = await node.operator.call<{ readonly breakers: ReadonlyArray<{ readonly provider: string; readonly state: string }> }>("GET", "/api/resilience")
    return view.breakers.find((breaker) => breaker.provider === "lab")?.state ?? "closed"
  }

  it("opens, probes and closes for all of them together", async () => {
    // Of one model's failures only that model's breaker would speak.
    for (const model of ["bad", "worse"]) await cluster.sim.rule({ match: { model }, script: { status: 500 } })
    for (let i = 0; i < FAILURES; i++) await cluster.chat(first, i % 2 === 0 ? "lab/bad" : "lab/worse")
    await eventually(() => stateOn(second), (state) => state === "open", "the opening on the other node", 3_000)
    const before = await calls()
    expect((await cluster.chat(second, "lab/good")).status).toBe(503)
    expect(await calls()).toBe(before)
    await eventually(async () => (await cluster.chat(second, "lab/good")).status, (status) => status === 200, "the good probe")
    await eventually(async () => (await cluster.chat(first, "lab/good")).status, (status) => status === 200, "the closing on the other node", 3_000)
  })
})
