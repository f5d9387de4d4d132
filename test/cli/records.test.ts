import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { describe, expect, it } from "vitest"
import { AuditStore, ConnectionStore, KeyStore } from "#actors/ports/Stores.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as Stores from "#src/Stores.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import { apiKey, connection } from "../suites/records.ts"
import { run } from "./support/command.ts"
import { chat, initialised, migrated, serve } from "./support/dataDir.ts"

describe("gateway migrate", () => {
  it("--status is 1 while something is pending; migrating twice does nothing the second time", async () => {
    const where = ["--data-dir", await initialised()]
    const before = await run(["migrate", "--status", ...where])
    expect(before.code).toBe(1)
    expect(before.stdout).toMatch(/pending {2}0001 configuration/)
    const first = await run(["migrate", ...where])
    expect(first.code).toBe(0)
    expect(first.stdout).toMatch(/Applied \d+\./)
    const second = await run(["migrate", ...where])
    expect(second.code).toBe(0)
    expect(second.stdout).toContain("Nothing to do.")
    const after = await run(["migrate", "--status", ...where])
    expect(after.code).toBe(0)
    expect(after.stdout).toContain("0 pending")
  })
})

const oldSecret = "the first master secret"
const newSecret = "the second master secret"

const withStores = <A, E>(dataDir: string, secret: string, use: Effect.Effect<A, E, ConnectionStore | AuditStore | KeyStore>) =>
  Effect.runPromise(Effect.provide(use, Stores.layer().pipe(
    Layer.provideMerge(PostgresClient.pgliteLayer({ dataDir })),
    Layer.provideMerge(Sealer.layer({ dataDir, secret: Redacted.make(secret) }))
  )))

describe("a lost secret.key", () => {
  it("is named by what refuses the records and by the doctor, and no new one stands in its place", async () => {
    const dataDir = await migrated()
    const where = ["--data-dir", dataDir]
    const file = path.join(dataDir, "secret.key")
    expect((await run(["keys", "create", "app", ...where])).code).toBe(0)
    const kept = fs.readFileSync(file)
    fs.rmSync(file)

    const refused = await run(["keys", "list", ...where])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`there was no ${file}`)])
    const doctor = await run(["doctor", "--json", "--port", "0", ...where])
    expect([doctor.code, JSON.parse(doctor.stdout)]).toMatchObject([1, { findings: expect.arrayContaining([
      expect.objectContaining({ check: "master key", level: "broken", mend: expect.stringContaining("Restore that file") })
    ]) }])
    expect(fs.existsSync(file)).toBe(false)

    fs.writeFileSync(file, kept, { mode: 0o600 })
    expect((await run(["keys", "list", ...where])).code).toBe(0)
    const other = await run(["doctor", "--json", "--port", "0", ...where], { env: { GATEWAY_SECRET: "a secret that seals nothing here" } })
    // The file still opens what it sealed.
    expect(other.code).toBe(0)
  }, 120_000)
})

describe("gateway rekey", () => {
  it("keeps every credential readable under the new key alone, and refuses without the old one", async () => {
    const dataDir = await migrated()
    const record = connection({ apiKey: Redacted.make("sk-upstream-canary") })
    await withStores(dataDir, oldSecret, Effect.flatMap(ConnectionStore, (store) => store.insert(record)))

    const refused = await run(["rekey", "--data-dir", dataDir], { env: { GATEWAY_SECRET: newSecret } })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain("GATEWAY_SECRET_PREVIOUS")
    expect(refused.stderr).not.toMatch(/\n\s+at /)

    const done = await run(["rekey", "--data-dir", dataDir], { env: { GATEWAY_SECRET: newSecret, GATEWAY_SECRET_PREVIOUS: oldSecret } })
    expect(done.code).toBe(0)
    expect(done.stdout).toContain("1 record sealed anew")
    expect(done.stdout + done.stderr).not.toContain("canary")

    const { actions, found } = await withStores(dataDir, newSecret, Effect.gen(function*() {
      const found = yield* (yield* ConnectionStore).get(record.id)
      const { entries } = yield* (yield* AuditStore).query({ limit: 10, offset: 0 })
      return { found, actions: entries.map((entry) => `${entry.actor} ${entry.action}`) }
    }))
    expect(found?.apiKey === null || found === null ? null : Redacted.value(found.apiKey)).toBe("sk-upstream-canary")
    expect(actions).toContain("local-cli secrets.rekeyed")
    const late = await run(["keys", "list", "--data-dir", dataDir], { env: { GATEWAY_SECRET: oldSecret } })
    expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/another master secret\. Set GATEWAY_SECRET/)])
    expect((await run(["keys", "list", "--data-dir", dataDir], { env: { GATEWAY_SECRET: newSecret } })).code).toBe(0)
  })

  it("a gateway with another secret than the first start's refuses to start, and says which variable to set", async () => {
    const dataDir = await migrated()
    expect((await run(["keys", "list", "--data-dir", dataDir], { env: { GATEWAY_SECRET: oldSecret } })).code).toBe(0)
    const refused = await run(["serve", "--port", "0", "--data-dir", dataDir], { env: { GATEWAY_SECRET: newSecret } })
    expect(refused.code).toBe(1)
    expect(refused.stderr + refused.stdout).toMatch(/another master secret\. Set GATEWAY_SECRET/)
    expect(refused.stderr + refused.stdout).not.toContain(newSecret)
  })
})

interface Created {
  readonly id: string
  readonly key: string
}

const env = { REQUIRE_API_KEY: "true", GATEWAY_SIM_PROVIDER: "true", INITIAL_PASSWORD: "the operator of a test" }
const body = { model: "sim/echo" }

describe("gateway keys", () => {
  it("a key made on the stores opens the gateway that starts later; its value is shown once", async () => {
    const dataDir = await migrated()
    const where = ["--data-dir", dataDir]
    const created = await run(["keys", "create", "first", "--expires", "30d", "--json", ...where])
    expect(created.code).toBe(0)
    const first = JSON.parse(created.stdout) as Created
    expect(first.key).toMatch(/^sk-[\w-]{32}$/)

    const listed = await run(["keys", "list", ...where])
    expect(listed.stdout).toContain("first")
    expect(listed.stdout).toContain(`${first.key.slice(0, 8)}****${first.key.slice(-4)}`)
    expect(listed.stdout).not.toContain(first.key)

    const wrong = await run(["keys", "create", "x", "--scope", "lease:exclusive", ...where])
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain("allowedConnections")

    const served = await serve(dataDir, env)
    expect((await chat(served, body)).status).toBe(401)
    expect((await chat(served, body, first.key)).status).toBe(200)

    // While it runs, the gateway itself is asked: the change holds at once.
    const second = JSON.parse((await run(["keys", "create", "second", "--json", ...where])).stdout) as Created
    expect((await chat(served, body, second.key)).status).toBe(200)
    const unknown = await run(["keys", "revoke", "nobody", ...where])
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain("nobody")
    const revoked = await run(["keys", "revoke", "first", ...where])
    expect(revoked.code).toBe(0)
    expect(revoked.stdout).not.toContain(first.key)
    expect((await chat(served, body, first.key)).status).toBe(401)
    expect((await chat(served, body, second.key)).status).toBe(200)

    const doctor = await run(["doctor", ...where, "--port", String(served.port)])
    expect(doctor.code).toBe(0)
    expect(doctor.stdout).toContain("none in the database")
    const signedIn = await fetch(`${served.url}/api/auth/login`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ password: env.INITIAL_PASSWORD })
    })
    const set = await fetch(`${served.url}/api/settings/feature-flags`, {
      method: "PUT",
      headers: { "content-type": "application/json", cookie: (signedIn.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "" },
      body: JSON.stringify({ key: "STREAM_RECOVERY_ENABLED", value: "true" })
    })
    expect(set.status).toBe(200)
    expect((await run(["doctor", ...where, "--port", String(served.port)])).stdout).toContain("1 in the database, which wins: STREAM_RECOVERY_ENABLED=true")
    expect(doctor.stdout).toContain(`served by this gateway, process ${served.command.pid}`)
    await served.command.stop()

    const after = JSON.parse((await run(["keys", "list", "--json", ...where])).stdout) as { readonly keys: ReadonlyArray<{ readonly id: string }> }
    expect(after.keys.map((key) => key.id)).toEqual([second.id])
  })
})

describe("gateway keys beside more than a thousand newer keys", () => {
  const olderKeys = 3
  const newerKeys = 1_000
  const id = (index: number): string => `key-${index}`
  const created = (index: number): string => new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString()

  it("lists all, and revokes an old one by its name, on the stores and over a running gateway", async () => {
    const dataDir = await migrated()
    const where = ["--data-dir", dataDir]
    await withStores(dataDir, newSecret, Effect.flatMap(KeyStore, (store) => Effect.forEach(
      Array.from({ length: olderKeys + newerKeys }, (_, index) => index),
      (index) => store.insert(apiKey({ id: id(index), name: `team ${index}`, keyHash: `hash-${index}`, createdAt: created(index) })),
      { discard: true }
    )))
    const secret = { GATEWAY_SECRET: newSecret }
    const names = async (): Promise<ReadonlyArray<string>> => {
      const { stdout } = await run(["keys", "list", "--json", ...where], { env: secret })
      const { keys, total } = JSON.parse(stdout) as { readonly keys: ReadonlyArray<{ readonly name: string }>; readonly total: number }
      expect(keys.length).toBe(total)
      return keys.map(({ name }) => name)
    }
    const listed = await names()
    expect([listed.length, listed[0], listed.at(-1)]).toEqual([olderKeys + newerKeys, "team 1002", "team 0"])
    expect((await run(["keys", "revoke", "team 0", ...where], { env: secret })).stdout).toContain("is revoked")

    const served = await serve(dataDir, { ...env, ...secret })
    expect((await names()).at(-1)).toBe("team 1")
    expect((await run(["keys", "revoke", "team 1", ...where], { env: secret })).stdout).toContain("is revoked")
    expect((await names()).at(-1)).toBe("team 2")
    await served.command.stop()
  })
})

describe("gateway doctor", () => {
  it("looks into a database that nobody uses", async () => {
    const { code, stdout } = await run(["doctor", "--port", "0", "--data-dir", await migrated()], { env: { OPENAI_API_KEY: "sk-canary-value" } })
    expect(code).toBe(0)
    expect(stdout).toMatch(/ok +database/)
    expect(stdout).toContain("none pending")
    expect(stdout).toContain("openai (OPENAI_API_KEY)")
    expect(stdout).not.toContain("canary")
  })
})
