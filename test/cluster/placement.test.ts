/** Placed work runs on one node at a time, and another takes over when that one is killed. */
import { type ChildProcess, spawn } from "node:child_process"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { EXPIRES_S } from "#src/platform/cluster/ShardedPlacement.ts"
import { eventually } from "#test/support/operator.ts"
import { findServer, freshDatabase } from "#test/support/postgres.ts"

const server = await findServer()
/** The death of a session and of a row's time, one look of every survivor, and this machine's noise (ms). */
const takeover = EXPIRES_S * 1_000 + 10_000

interface Node {
  readonly child: ChildProcess
  /** Names of the work that it has begun and not ended. */
  readonly runs: Set<string>
}

const nodes: Array<Node> = []
const names = ["a", "b", "c", "d", "e", "f"]

const start = (database: string, id: string): Node => {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "test/cluster/placedNode.ts", database, id, names.join(",")], { stdio: ["ignore", "pipe", "inherit"] })
  const node: Node = { child, runs: new Set() }
  let rest = ""
  child.stdout?.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const [what, name = ""] = line.split(" ")
      if (what === "begin") node.runs.add(name)
      else node.runs.delete(name)
    }
  })
  child.once("exit", () => node.runs.clear())
  nodes.push(node)
  return node
}

const gone = async (node: Node | undefined, signal: NodeJS.Signals): Promise<void> => {
  if (node === undefined) throw new Error("no such node")
  const exit = new Promise((resolve) => node.child.once("exit", resolve))
  node.child.kill(signal)
  await exit
}

const held = () => nodes.flatMap((node) => [...node.runs]).sort()
const eachOnce = (within: number) => eventually(async () => held(), (seen) => JSON.stringify(seen) === JSON.stringify(names), "each work on one node", within)

describe.skipIf(server.url === null)("placed work", { timeout: 300_000 }, () => {
  const scope = Scope.makeUnsafe()
  let database = ""
  beforeAll(async () => {
    database = await Effect.runPromise(Scope.provide(freshDatabase(server.url ?? ""), scope))
  })
  afterAll(async () => {
    for (const { child } of nodes) child.kill("SIGKILL")
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("runs on one of the nodes, moves to those that are left when one is killed or stops, and nobody runs it twice at rest", async () => {
    const one = start(database, "one")
    await eachOnce(30_000)
    const two = start(database, "two")
    const three = start(database, "three")
    await eventually(async () => [one, two, three].filter((node) => node.runs.size > 0).length, (spread) => spread > 1, "the spread of the work", 30_000)
    await eachOnce(takeover)
    const owner = [one, two, three].find((node) => node.runs.size > 0)
    await gone(owner, "SIGKILL")
    const began = performance.now()
    await eachOnce(takeover)
    expect(performance.now() - began).toBeLessThan(takeover)
    const [next, last] = [one, two, three].filter((node) => node !== owner)
    await gone(next, "SIGTERM")
    await eachOnce(takeover)
    expect(last?.runs.size).toBe(names.length)
  })
})
