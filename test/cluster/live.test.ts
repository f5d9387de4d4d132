/** Over several nodes: a dashboard at one node hears of the requests of all, and each node watches only while a client listens. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, findServers, startTwo } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import { connect, type Frame } from "#test/support/webSocket.ts"

const servers = await findServers()

describe.skipIf(servers.missing !== null)("live events over several nodes", { timeout: 180_000 }, () => {
  let cluster: Cluster
  let first: InProcess
  let second: InProcess
  let close: () => Promise<void>

  beforeAll(async () => {
    ({ close, cluster, first, second } = await startTwo(servers.postgres))
  }, 180_000)
  afterAll(() => close())

  it("come from every node, once each, and name it", async () => {
    const { token } = await first.operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: "live", scope: "read" })
    const client = await connect(first.url, "/api/live", { headers: { authorization: `Bearer ${token}` } })
    expect(await client.next()).toMatchObject({ type: "welcome" })
    client.send({ type: "subscribe", channels: ["requests"] })
    // The other node's interest begins with a message over Redis: its first requests may come before that.
    const heard: Array<Frame> = []
    const nodeOf = (frame: Frame) => (frame["data"] as Frame)["node"]
    const idOf = (frame: Frame) => (frame["data"] as Frame)["id"]
    const own = await cluster.chat(first, "lab/near")
    heard.push(...await client.until((frame) => frame["event"] === "request.completed" && idOf(frame) === own.headers["x-gateway-request-id"]))
    const ownNode = nodeOf(heard.at(-1)!)
    for (let calls = 0; calls < 200 && heard.every((frame) => nodeOf(frame) === ownNode); calls++) {
      await cluster.chat(second, "lab/far")
      const again = await cluster.chat(first, "lab/near")
      heard.push(...await client.until((frame) => frame["event"] === "request.completed" && idOf(frame) === again.headers["x-gateway-request-id"]))
    }
    const far = await cluster.chat(second, "lab/far")
    const frames = await client.until((frame) => frame["event"] === "request.completed" && idOf(frame) === far.headers["x-gateway-request-id"])
    const mine = frames.filter((frame) => idOf(frame) === far.headers["x-gateway-request-id"])
    expect(mine.map(({ event }) => event)).toEqual(["request.started", "request.completed"])
    expect(nodeOf(mine[0]!)).not.toBe(ownNode)
    await client.close()
  })
})
