/** Signing in over several nodes: to a provider, begun on one and come back to another; and to the gateway itself, braked by all as one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { errorIn } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()

describe.skipIf(servers.missing !== null)("signing in over several nodes", { timeout: 180_000 }, () => {
  let common: Ground
  let cluster: Cluster
  let first: InProcess
  let second: InProcess

  beforeAll(async () => {
    common = await ground(servers.postgres)
    const environment = { HUGGINGFACE_OAUTH_CLIENT_ID: "client-of-the-operator" }
    cluster = await startCluster(common, [{ environment }, { environment }])
    const [one, two] = cluster.nodes
    if (one === undefined || two === undefined) throw new Error("two nodes")
    first = one
    second = two
  }, 180_000)
  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  it("a sign-in to a provider that began on one node comes back to the other, once", async () => {
    const { authorizeUrl, state } = await eventually(
      () => first.operator.raw("POST", "/api/oauth/huggingface/start", {}), ({ status }) => status !== 503, "an answer of Redis"
    ).then(({ text }) => JSON.parse(text) as { readonly state: string; readonly authorizeUrl: string })
    expect(authorizeUrl).toContain(state)
    const back = async (node: InProcess) => errorIn(await eventually(
      () => node.operator.raw("GET", `/api/oauth/huggingface/callback?error=access_denied&state=${state}`), ({ status }) => status !== 503, "an answer of Redis"
    ))["code"]
    expect(await back(second)).toBe("oauth_denied")
    expect([await back(first), await back(second)]).toEqual(["oauth_state_invalid", "oauth_state_invalid"])
  })

  it("guesses of the password count on all nodes as one", async () => {
    const guess = (node: InProcess) => Http.send(node.url, { path: "/api/auth/login", body: { password: "a wrong guess" } })
    let wrong = 0
    for (let i = 0; i < 12; i++) if ((await guess(i % 2 === 0 ? first : second)).status === 401) wrong++
    // Five; on a busy machine an exchange with Redis may be late, and its guess counts on its node only. Two brakes would let ten through.
    expect(wrong).toBeGreaterThanOrEqual(5)
    expect(wrong).toBeLessThan(8)
    for (const node of [second, first]) {
      const locked = await guess(node)
      expect([locked.status, errorIn(locked)["code"]]).toEqual([429, "login_locked"])
    }
  })
})
