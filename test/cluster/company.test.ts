/** Several nodes need a Redis that they share, and a name each; starting otherwise says so and ends. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { findServers, type Ground, ground } from "#test/support/cluster.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"

const servers = await findServers()

describe("several processes", () => {
  it("are refused without both servers, and the variables that are missing are named", () => {
    const refusal = (environment: Record<string, string>) => {
      const decoded = Settings.decode({ GATEWAY_WORKERS: "2", ...environment })
      return decoded._tag === "Failure" ? decoded.failure.message : null
    }
    expect(refusal({})).toContain("set DATABASE_URL and REDIS_URL")
    expect(refusal({ REDIS_URL: "redis://r" })).toContain("set DATABASE_URL, or")
    expect(refusal({ DATABASE_URL: "postgres://p" })).toContain("set REDIS_URL, or")
    expect(refusal({ DATABASE_URL: "postgres://p", REDIS_URL: "redis://r" })).toBeNull()
  })
})

describe.skipIf(servers.missing !== null)("a second node on one database", { timeout: 180_000 }, () => {
  let common: Ground
  let first: InProcess
  const start = async (environment: Readonly<Record<string, string>>): Promise<string> => {
    try {
      const node = await inProcess({ environment: { ...common.environment, ...environment } })
      await node.close()
      return ""
    } catch (error) {
      return String(error)
    }
  }

  beforeAll(async () => {
    common = await ground(servers.postgres)
    first = await inProcess({ environment: { ...common.environment, GATEWAY_NODE_ID: "node-one" } })
  }, 180_000)
  afterAll(async () => {
    await first.close()
    await common.close()
  })

  it("does not start without a shared Redis", async () => {
    expect(await start({ REDIS_URL: "" })).toMatch(/Node node-one .* works on the same database.*set REDIS_URL/)
  })

  it("does not start under the name of one that lives", async () => {
    expect(await start({ GATEWAY_NODE_ID: "node-one" })).toMatch(/is node node-one on this database. Give each node its own GATEWAY_NODE_ID/)
  })

  it("starts with a name of its own and the shared Redis", async () => {
    expect(await start({ GATEWAY_NODE_ID: "node-two" })).toBe("")
  })
})
