/** The commands against a Postgres server, beside each other. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, expect, it } from "vitest"
import { findServer, freshDatabase, withServer } from "#test/support/postgres.ts"
import { emptyDirectory, run } from "./support/command.ts"

const server = await findServer()
const scope = Scope.makeUnsafe()

afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await server.stop()
})

withServer(server, "gateway on a Postgres server", (url) => {
  it("two that migrate at once migrate once; keys and doctor work beside each other", async () => {
    const env = { DATABASE_URL: await Effect.runPromise(Scope.provide(freshDatabase(url), scope)), GATEWAY_SECRET: "one secret for all nodes" }
    const cwd = emptyDirectory()
    const [one, two] = await Promise.all([run(["migrate"], { cwd, env }), run(["migrate"], { cwd, env })])
    expect([one.code, two.code]).toEqual([0, 0])
    expect([one.stdout, two.stdout].filter((text) => text.includes("Nothing to do."))).toHaveLength(1)

    const [created, doctor] = await Promise.all([
      run(["keys", "create", "shared", "--json"], { cwd, env }),
      run(["doctor", "--port", "0"], { cwd, env })
    ])
    expect(created.code).toBe(0)
    expect(doctor.stdout).toContain("none pending")
    expect(doctor.stdout).not.toContain("postgres:")
    const listed = await run(["keys", "list"], { cwd, env })
    expect(listed.stdout).toContain("shared")
  })
})
