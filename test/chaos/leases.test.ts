/** Leases of several nodes on one Redis are linearizable: through pauses, kills and the loss of its data a connection never has two holders. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Migrations from "#src/Migrations.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import { chance } from "#test/chaos/support.ts"
import { callsOf, type Call, faultsOf, type Line, type Loss } from "#test/chaos/leases/history.ts"
import { eventually } from "#test/support/operator.ts"
import { findServer, freshDatabase, withServer } from "#test/support/postgres.ts"
import { canStartRedis, type OwnRedis, ownRedis } from "#test/support/redis.ts"
import type { Lease } from "#schemas/protocols/Lease.ts"

const CLIENTS = 3
/** From the moment at which every client has asked something, ms. */
const RUN_MS = 7_000

const server = await findServer()
afterAll(server.stop)

const clock = (): number => Number(process.hrtime.bigint()) / 1e6

describe.skipIf(!canStartRedis())("leases of several nodes", () => withServer(server, "with a Redis and a Postgres", (url) => {
  let redis: OwnRedis
  let postgres: string
  let directory: string
  const scope = Scope.makeUnsafe()
  const children = new Set<ChildProcess>()
  beforeAll(async () => {
    redis = await ownRedis()
    postgres = await Effect.runPromise(Scope.provide(freshDatabase(url), scope))
    await Effect.runPromise(Effect.provide(Migrations.run, PostgresClient.layer({ url: Redacted.make(postgres), poolSize: 1 })))
    directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-leases-"))
  })
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL")
    await redis.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    fs.rmSync(directory, { recursive: true, force: true })
  })

  it("never two holders of a connection, generations only rise, and what is over is over", async () => {
    const random = chance()
    const files: Array<string> = []
    const start = (): ChildProcess => {
      const file = path.join(directory, `client-${files.length}.jsonl`)
      files.push(file)
      fs.writeFileSync(file, "")
      const child = spawn(process.execPath, [
        "--disable-warning=ExperimentalWarning", path.join(import.meta.dirname, "leases/client.ts"),
        redis.url, postgres, file, `s${files.length}`
      ], { stdio: ["pipe", "ignore", "inherit"] })
      children.add(child)
      child.once("exit", () => children.delete(child))
      return child
    }
    const clients = Array.from({ length: CLIENTS }, start)
    const losses: Array<Loss> = []
    const admin = redis.client()
    let kills = 0
    await eventually(async () => files.map((file) => fs.statSync(file).size), (sizes) => sizes.every((size) => size > 0), "the clients' first calls")
    const began = clock()
    for (let round = 0; clock() - began < RUN_MS; round++) {
      await delay(random.below(250))
      const i = random.below(CLIENTS)
      const client = clients[i] as ChildProcess
      const what = round % 8
      if (what !== 3 && what !== 6) {
        client.kill("SIGSTOP")
        await delay(random.below(400))
        client.kill("SIGCONT")
      } else if (what === 3) {
        client.kill("SIGKILL")
        kills++
        clients[i] = start()
      } else {
        const from = clock()
        await admin.flushall()
        losses.push({ from, to: clock() })
      }
    }
    await Promise.all([...children].map((child) => new Promise((resolve) => {
      child.once("exit", resolve)
      child.stdin?.end()
    })))
    const read: ReadonlyArray<Line> = files.flatMap((file) => fs.readFileSync(file, "utf8").split("\n").filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as Line))
    const calls = callsOf(read)
    const count = (tag: string) => calls.filter(({ said }) => said.tag === tag).length
    console.log(`leases: ${calls.length} calls of ${files.length} processes, ${kills} kills, ${losses.length} losses; ` +
      ["Granted", "Held", "Capacity", "Stale", "Taken", "Down"].map((tag) => `${count(tag)} ${tag}`).join(", "))
    expect({ seed: random.seed, faults: faultsOf(calls, losses) }).toEqual({ seed: random.seed, faults: [] })
    expect(Math.min(kills, losses.length)).toBeGreaterThan(0)
    for (const tag of ["Granted", "Held", "Capacity", "Stale"]) expect(count(tag)).toBeGreaterThan(10)
  }, 180_000)
}))

describe("the checker of histories", () => {
  const lease = (owner: string, generation: number, connection: string, acquiredAt: number, more: Partial<Lease> = {}): Lease => ({
    owner, keyId: "k", keyPrint: "p", connection, generation, acquiredAt, renewedAt: acquiredAt, expiresAt: acquiredAt + 200, ...more
  })
  const call = (op: Call["op"], from: number, to: number, tag: string, of: Lease, reused?: boolean): Call => ({
    op, owner: of.owner, generation: op === "acquire" ? 0 : of.generation, from, to,
    said: tag === "Stale" ? { tag } : { tag, lease: of, ...(reused === undefined ? {} : { reused }) }
  })
  const a = lease("a", 1, "c", 1_000)

  it.each<[string, ReadonlyArray<Call>, ReadonlyArray<Loss>, RegExp | null]>([
    ["a lease after another", [call("acquire", 0, 1, "Granted", a, false), call("find", 2, 3, "Held", a), call("acquire", 300, 301, "Granted", lease("b", 1, "c", 1_300), false)], [], null],
    ["two holders at once", [
      call("acquire", 0, 1, "Granted", a, false), call("acquire", 2, 3, "Granted", lease("b", 1, "c", 1_400), false),
      call("find", 10, 11, "Held", a), call("find", 12, 13, "Held", lease("b", 1, "c", 1_400))
    ], [], /both held c/],
    ["a connection given away before its time", [call("acquire", 0, 1, "Granted", a, false), call("acquire", 50, 51, "Granted", lease("b", 1, "c", 1_050), false)], [], /before a #1 was over/],
    ["the same after a loss", [call("acquire", 0, 1, "Granted", a, false), call("acquire", 50, 51, "Granted", lease("b", 1, "c", 1_050), false)], [{ from: 10, to: 11 }], null],
    ["the same where it was asked for before the loss, and given away after it", [call("acquire", 0, 1, "Granted", a, false), call("acquire", 8, 30, "Granted", lease("b", 1, "c", 1_020), false)], [{ from: 10, to: 20 }], null],
    ["a connection given away before its time, and a loss after it", [
      call("acquire", 0, 1, "Granted", a, false), call("acquire", 50, 51, "Granted", lease("b", 1, "c", 1_050), false), call("find", 70, 71, "Held", lease("b", 1, "c", 1_050))
    ], [{ from: 60, to: 61 }], /before a #1 was over/],
    ["a generation that comes again", [call("acquire", 0, 1, "Granted", a, false), call("acquire", 300, 301, "Granted", lease("a", 1, "c", 1_300), false)], [], /granted twice/],
    ["a generation that falls", [call("acquire", 0, 1, "Granted", lease("a", 2, "c", 1_000), false), call("acquire", 300, 301, "Granted", lease("a", 1, "c", 1_300), false)], [], /came after/],
    ["a stale lease that is found again", [call("acquire", 0, 1, "Granted", a, false), call("find", 2, 3, "Stale", a), call("find", 4, 5, "Held", a)], [], /over and find found it/],
    ["a released lease that is renewed", [call("acquire", 0, 1, "Granted", a, false), call("release", 2, 3, "Held", a), call("renew", 4, 5, "Held", a)], [], /over and renew found it/],
    ["a claim that is answered with another lease", [{ ...call("find", 0, 1, "Held", lease("a", 2, "c", 1_000)), generation: 1 }], [], /answered with a #2/],
    ["a lease that outlives the loss of the store", [call("acquire", 0, 1, "Granted", a, false), call("find", 20, 21, "Held", a)], [{ from: 10, to: 11 }], /over and find found it/]
  ])("tells %s", (_name, calls, losses, fault) => {
    const faults = faultsOf(calls, losses)
    if (fault === null) expect(faults).toEqual([])
    else expect(faults.join("\n")).toMatch(fault)
  })
})
