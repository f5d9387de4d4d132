/** One configuration file for several nodes: they start together, one of them dies while it applies it, and one SIGHUP is enough for all. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Report } from "#src/features/configFile/ports/ConfigFile.ts"
import { findServers, type Ground, ground } from "#test/support/cluster.ts"
import { inProcess, type InProcess, spawned, type Spawned } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "gateway-config-file-")), "gateway.yaml")
const KEYS = 12

/** Nothing but the file's name tells two keys of one name apart. */
const yaml = (keys: number): string => `keys:\n${Array.from({ length: keys }, (_, at) => `  key-${at}: {}\n`).join("")}`

const names = async (node: { readonly operator: InProcess["operator"] }): Promise<ReadonlyArray<string>> =>
  (await node.operator.call<{ keys: ReadonlyArray<{ name: string }> }>("GET", "/api/keys?limit=1000")).keys.map(({ name }) => name).toSorted()
const wanted = (keys: number): ReadonlyArray<string> => Array.from({ length: keys }, (_, at) => `key-${at}`).toSorted()

describe.skipIf(servers.missing !== null)("nodes with one configuration file", () => {
  let common: Ground
  beforeAll(async () => {
    common = await ground(servers.postgres)
    fs.writeFileSync(file, yaml(KEYS))
  }, 300_000)
  afterAll(() => common?.close())
  const environment = (name: string) => ({ ...common.environment, GATEWAY_CONFIG: file, GATEWAY_NODE_ID: name })

  it("that start at the same time make each record once, and a change through one is the others'", async () => {
    const nodes = await Promise.all(["one", "two", "three"].map((name) => inProcess({ environment: environment(name) })))
    try {
      const [first, second] = nodes as [InProcess, InProcess]
      expect(await names(first)).toEqual(wanted(KEYS))
      const created = await Promise.all(nodes.map(async ({ operator }) => (await operator.call<{ last: Report }>("GET", "/api/config-file")).last.entries.filter(({ action }) => action === "created").length))
      expect(created.toSorted((a, b) => a - b)).toEqual([0, 0, KEYS])
      fs.writeFileSync(file, yaml(KEYS - 1))
      process.emit("SIGHUP")
      expect(await eventually(() => names(second), (seen) => seen.length === KEYS - 1, "the end of one key")).toEqual(wanted(KEYS - 1))
      // Locked on every node.
      const { keys } = await second.operator.call<{ keys: ReadonlyArray<{ id: string }> }>("GET", "/api/keys")
      expect((await second.operator.raw("DELETE", `/api/keys/${keys[0]?.id ?? ""}`)).status).toBe(409)
    } finally {
      for (const node of nodes) await node.close()
    }
  }, 300_000)

  it("with workers: the first of them applies the file, and a SIGHUP to the supervising process reaches it", async () => {
    fs.writeFileSync(file, yaml(KEYS))
    const node: Spawned = await spawned({ environment: { ...environment("workers"), GATEWAY_WORKERS: "2" } })
    try {
      expect(await names(node)).toEqual(wanted(KEYS))
      fs.writeFileSync(file, yaml(KEYS + 2))
      process.kill(node.pid(), "SIGHUP")
      expect(await eventually(() => names(node), (seen) => seen.length === KEYS + 2, "two keys more")).toEqual(wanted(KEYS + 2))
    } finally {
      await node.close()
    }
  }, 300_000)

  it("of which one is killed while it applies the file: the next goes on where it was, and nothing stands twice", async () => {
    const node: Spawned = await spawned({ environment: environment("killed") })
    try {
      fs.writeFileSync(file, yaml(200))
      process.kill(node.pid(), "SIGHUP")
      await eventually(() => names(node), (seen) => seen.length > KEYS + 5, "some keys of the new file")
      await node.kill9()
      await node.start()
      expect(await names(node)).toEqual(wanted(200))
    } finally {
      await node.close()
    }
  }, 300_000)
})
