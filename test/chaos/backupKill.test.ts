/** A process that is killed in the middle of a restore: the records are all those from before it, or all those of the backup. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import postgres from "postgres"
import { afterAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { findServer, freshDatabase, withServer } from "#test/support/postgres.ts"
import { chance, startWorld, type World } from "./support.ts"

const server = await findServer()
afterAll(server.stop)

const PATH = "/api/db-backups"

interface Scene {
  readonly backupId: string
  /** Which of the two states is served: `before` the restore, or `restored`; anything else is a mixture. */
  readonly served: () => Promise<string>
}

/** A backup, and changes after it that a restore would take back. */
const scene = async ({ call, gateway, node }: World): Promise<Scene> => {
  const { operator } = gateway
  await operator.setFlag("REQUIRE_API_KEY", "true")
  const early = await operator.createKey("early")
  const { id } = await operator.call<{ id: string }>("PUT", PATH)
  const late = await operator.createKey("late")
  await operator.call("DELETE", `/api/keys/${early.id}`)
  await operator.call("PUT", "/api/models/alias", { alias: "late", model: `${node}/m` })
  const ask = async (key: string) => (await Http.send(gateway.url, call({ model: "m" }, { authorization: `Bearer ${key}` }))).status
  return {
    backupId: id,
    served: async () => {
      const { aliases } = await operator.call<{ aliases: Record<string, unknown> }>("GET", "/api/models/alias")
      const seen = JSON.stringify([await ask(early.key), await ask(late.key), "late" in aliases])
      return seen === "[401,200,true]" ? "before" : seen === "[200,401,false]" ? "restored" : seen
    }
  }
}

const parts = (world: World) => fs.readdirSync(path.join(world.gateway.dataDir, "backups")).filter((name) => name.startsWith("part-"))

describe("kill -9 in a restore", () => {
  it("of the embedded database, again and again: one state or the other, and the gateway starts", async () => {
    const world = await startWorld()
    try {
      const random = chance()
      const { backupId, served } = await scene(world)
      const directory = path.join(world.gateway.dataDir, "backups")
      const seen = new Array<string>()
      for (let round = 0; round < 4; round++) {
        const known = fs.readdirSync(directory).length
        const reply = world.gateway.operator.raw("POST", PATH, { backupId }).catch(() => null)
        // The backup of what was there is whole: the restore itself begins.
        await eventually(async () => fs.readdirSync(directory).filter((name) => name.endsWith(".gwb")).length, (count) => count > known, "the backup before the restore")
        // No fact is waited for: the kill comes at any moment of the restore.
        await new Promise((resolve) => setTimeout(resolve, random.below(30)))
        await world.gateway.kill9()
        await reply
        await world.gateway.start()
        seen.push(await served())
      }
      expect({ seed: random.seed, mixed: seen.filter((state) => state !== "before" && state !== "restored") }).toEqual({ seed: random.seed, mixed: [] })
      expect(parts(world)).toEqual([])
    } finally {
      await world.close()
    }
  }, 300_000)

  const scope = Scope.makeUnsafe()
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  withServer(server, "of a Postgres server", (url) => {
    it("after records were removed and before they are there again: the state from before", async () => {
      const database = await Effect.runPromise(Scope.provide(freshDatabase(url), scope))
      const world = await startWorld({ environment: { DATABASE_URL: database } })
      const sql = postgres(database, { max: 2, onnotice: () => undefined })
      try {
        const { backupId, served } = await scene(world)
        // The last table that a restore clears: it waits for this row with all others gone.
        await sql`INSERT INTO issue_limits VALUES ('held', 1, 1, 1)`
        const held = await sql.reserve()
        await held`BEGIN`
        await held`SELECT * FROM issue_limits FOR UPDATE`
        const reply = world.gateway.operator.raw("POST", PATH, { backupId }).catch(() => null)
        await eventually(
          async () => (await sql`SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).map(({ query }) => String(query)),
          (waiting) => waiting.some((query) => query.startsWith("DELETE FROM \"issue_limits\"")), "the restore's wait"
        )
        await world.gateway.kill9()
        await reply
        await held`ROLLBACK`
        held.release()
        await world.gateway.start()
        expect(await served()).toBe("before")
        const restored = await world.gateway.operator.raw("POST", PATH, { backupId })
        expect([restored.status, await served()]).toEqual([200, "restored"])
      } finally {
        await sql.end({ timeout: 1 })
        await world.close()
      }
    }, 120_000)
  })
})
