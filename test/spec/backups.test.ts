/** Backups: made, kept, restored at once, and carried to other gateways; a broken archive changes nothing. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import { eventually } from "#test/support/operator.ts"

const PROXIES = "/api/v1/management/proxies"
const PATH = "/api/db-backups"
const PHRASE = { "x-backup-passphrase": "a passphrase of the operator" }

interface Backup {
  readonly id: string
  readonly filename: string
  readonly size: number
  readonly createdAt: string
  readonly reason: string
}

let lab: Lab
/** Another gateway, with another master secret, and with other providers. */
let other: InProcess
beforeAll(async () => {
  lab = await startLab({ environment: { GATEWAY_SECRET: "the master secret of the first gateway" } })
  other = await inProcess({ environment: { GATEWAY_SECRET: "the master secret of another gateway" } })
  await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
})
afterAll(async () => {
  await lab.close()
  await other.close()
})

const operator = () => lab.gateway.operator
const list = async (gateway: InProcess = lab.gateway) => (await gateway.operator.call<{ backups: ReadonlyArray<Backup> }>("GET", PATH)).backups
/** The first of its list, so that the time between two backups does not matter. */
const made = async (): Promise<Backup> => {
  await removeAll()
  return await operator().call<Backup>("PUT", PATH)
}
const directory = () => path.join(lab.gateway.dataDir, "backups")
const removeAll = async () => {
  for (const { filename } of await list()) fs.rmSync(path.join(directory(), filename))
}
const ask = async (key: string, gateway: InProcess = lab.gateway, model = "lab/echo") =>
  (await Http.send(gateway.url, { ...lab.call({ model }), headers: { authorization: `Bearer ${key}` } })).status
const download = (query = "export", headers: Readonly<Record<string, string>> = {}) => operator().raw("GET", `${PATH}/${query}`, undefined, headers)
const upload = (gateway: InProcess, bytes: Buffer, headers: Readonly<Record<string, string>> = {}) =>
  gateway.operator.raw("POST", `${PATH}/import`, bytes, { "content-type": "application/octet-stream", ...headers })
const documents = () => Context.get(lab.gateway.services(), DocumentStore)

describe("a backup", () => {
  it("is a sealed file of the data directory that its user alone can read, and stands in the list", async () => {
    const backup = await made()
    expect(backup).toEqual({
      created: true, id: backup.id, filename: `gateway-backup-${backup.id}.gwb`, size: backup.size, createdAt: backup.createdAt, reason: "manual"
    })
    expect(await list()).toEqual([{ id: backup.id, filename: backup.filename, size: backup.size, createdAt: backup.createdAt, reason: "manual" }])
    const file = path.join(directory(), backup.filename)
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
    expect(fs.statSync(file).size).toBe(backup.size)
    const [header = ""] = fs.readFileSync(file, "latin1").split("\n", 1)
    expect(JSON.parse(header)).toMatchObject({ format: "gateway-backup", version: 1, contents: "records", reason: "manual", createdAt: backup.createdAt })
    expect(fs.readFileSync(file, "latin1")).not.toContain(CREDENTIAL)
    expect(fs.readdirSync(directory()).filter((name) => name.startsWith("part-"))).toEqual([])
  })

  it("is made once in ten seconds at most", async () => {
    const { id } = await made()
    expect(await operator().call("PUT", PATH)).toEqual({ message: `Backup ${id} was made less than 10 seconds ago; no other one was made` })
    expect((await list()).map((backup) => backup.id)).toEqual([id])
  })

  it("brings back keys and providers at once, removes what came later, and keeps what was there in a backup before", async () => {
    const kept = await operator().createKey("kept")
    const sealed = await operator().createKey("revoked later")
    const { id } = await made()
    await operator().call("DELETE", `/api/keys/${kept.id}`)
    await operator().removeConnection(lab.connection)
    const late = await operator().createKey("late")
    expect([await ask(kept.key), await ask(late.key)]).toEqual([401, 400])

    const reply = await operator().call<Record<string, unknown>>("POST", PATH, { backupId: id })
    expect([await ask(kept.key), await ask(sealed.key), await ask(late.key)]).toEqual([200, 200, 401])
    const [before] = await list()
    expect(before?.reason).toBe("pre-restore")
    expect(reply).toMatchObject({ restored: true, backupId: id, preRestoreBackupId: before?.id, contents: "records", rows: { connections: 1, provider_nodes: 1 } })

    expect(await operator().raw("POST", PATH, { backupId: before?.id })).toMatchObject({ status: 200 })
    expect([await ask(kept.key), await ask(late.key)]).toEqual([401, 400])
    await operator().call("POST", PATH, { backupId: id })
  })

  it("keeps what a clock or another node must not take back: the ledger, the audit log, the password and who is signed in", async () => {
    const { id } = await made()
    await Http.send(lab.gateway.url, { ...lab.call({ model: "echo" }), headers: { authorization: `Bearer ${(await operator().createKey("spends")).key}` } })
    const rows = await lab.gateway.rows()
    await operator().call("POST", PATH, { backupId: id })
    expect(await lab.gateway.rows()).toEqual(rows)
    const audit = await operator().call<ReadonlyArray<{ action: string; target: string; details: Record<string, unknown> }>>("GET", "/api/compliance/audit-log?action=backup.restored&limit=1")
    expect(audit[0]).toMatchObject({ action: "backup.restored", target: id, details: { contents: "records" } })
    await operator().login()
  })

  it("gives every value back as it was, also a NUL and half a character", async () => {
    const odd = { text: "\u0000 \ud800 \"\\\n ä 𝄞", big: 12345678901234.5, list: [null, true, { deep: "\u2028" }] }
    await Effect.runPromise(documents().put("eval-suite", "odd", odd))
    await Effect.runPromise(documents().put("secret", "odd", odd))
    const { id } = await made()
    await Effect.runPromise(documents().remove("eval-suite", "odd"))
    await Effect.runPromise(documents().put("secret", "odd", "changed"))
    await operator().call("POST", PATH, { backupId: id })
    expect(await Effect.runPromise(documents().get("eval-suite", "odd"))).toEqual(odd)
    expect(await Effect.runPromise(documents().get("secret", "odd"))).toEqual(odd)
  })

  it("that is not there is told, as is a wrong body", async () => {
    const reply = await operator().raw("POST", PATH, { backupId: "none" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([404, "This node has no backup 'none': GET /api/db-backups lists those it has."])
    expect(errorIn(await operator().raw("POST", PATH, {}))["details"]).toMatchObject([{ field: "backupId" }])
    expect(errorIn(await operator().raw("DELETE", PATH, { keepLatest: 0 }))["details"]).toMatchObject([{ field: "keepLatest" }])
    expect(errorIn(await operator().raw("DELETE", PATH, { retentionDays: 4000 }))["details"]).toMatchObject([{ field: "retentionDays" }])
  })

  it("goes when it is old and not among the newest", async () => {
    const { filename, id } = await made()
    // As if made 5, 10 and 20 days ago.
    const days = [5, 10, 20].map((ago) => new Date(Date.now() - ago * 86_400_000).toISOString().replace(/[-:.]/g, ""))
    for (const day of days) fs.copyFileSync(path.join(directory(), filename), path.join(directory(), `gateway-backup-${day}-manual-00000000.gwb`))
    expect(await operator().call("DELETE", PATH, { keepLatest: 1, retentionDays: 15 })).toEqual({ cleaned: true, keepLatest: 1, retentionDays: 15, deleted: 1 })
    expect((await list()).map((backup) => backup.id)).toEqual([id, `${days[0]}-manual-00000000`, `${days[1]}-manual-00000000`])
    expect(await operator().call("DELETE", PATH, {})).toEqual({ cleaned: true, keepLatest: 1, retentionDays: 0, deleted: 2 })
    expect((await list()).map((backup) => backup.id)).toEqual([id])
  })
})

describe("GET /api/storage/health", () => {
  it("says where records lie, how large they are, and what is kept", async () => {
    const { createdAt } = await made()
    const { sizeBytes, ...rest } = await operator().call<{ sizeBytes: number }>("GET", "/api/storage/health")
    expect(rest).toEqual({
      driver: "pglite", dbPath: path.join(lab.gateway.dataDir, "pglite"), lastBackupAt: createdAt, backupCount: 1, retentionDays: { app: 365, call: 365 },
      tableMaxRows: null, backupRetention: 200, dataDir: lab.gateway.dataDir
    })
    expect(sizeBytes).toBeGreaterThan(1_000_000)
  })
})

describe("an archive", () => {
  it("is downloaded whole, and imported again with a backup of what was there", async () => {
    const key = await operator().createKey("exported")
    const reply = await download()
    expect(reply.headers).toMatchObject({ "content-type": "application/octet-stream", "content-length": String(reply.bytes.length) })
    expect(reply.headers["content-disposition"]).toMatch(/^attachment; filename="gateway-records-\d{8}T\d{9}Z\.gwb"$/)
    expect(fs.readdirSync(directory()).filter((name) => name.startsWith("part-"))).toEqual([])
    await operator().call("DELETE", `/api/keys/${key.id}`)
    expect(await ask(key.key)).toBe(401)
    const imported = await upload(lab.gateway, reply.bytes)
    expect(JSON.parse(imported.text)).toMatchObject({ imported: true, contents: "records", preImportBackupId: (await list())[0]?.id })
    expect((await list())[0]?.reason).toBe("pre-import")
    expect(await ask(key.key)).toBe(200)
  })

  it("that was altered, cut or lengthened anywhere changes nothing", async () => {
    const { bytes } = await download()
    const header = bytes.indexOf(10) + 1
    const late = await operator().createKey("after the archive")
    const before = await list()
    const altered = (at: number) => {
      const copy = Buffer.from(bytes)
      copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
      return copy
    }
    const broken = [
      altered(header + 30), altered(bytes.length - 1), bytes.subarray(0, bytes.length - 1), bytes.subarray(0, header), bytes.subarray(0, header + 500), Buffer.concat([bytes, Buffer.from("x")]),
      // The header is authenticated with the rest.
      Buffer.from(bytes.toString("latin1").replace("\"contents\":\"records\"", "\"contents\":\"all\""), "latin1")
    ]
    for (const archive of broken) {
      const reply = await upload(lab.gateway, archive)
      expect([reply.status, errorIn(reply)["code"]]).toEqual([400, "archive_broken"])
    }
    for (const nothing of [Buffer.alloc(0), Buffer.from("{}\n"), Buffer.from("no archive"), Buffer.alloc(100_000, 32)]) {
      const reply = await upload(lab.gateway, nothing)
      expect([reply.status, errorIn(reply)["code"]]).toEqual([400, "archive_foreign"])
    }
    expect(await list()).toEqual(before)
    expect(await ask(late.key)).toBe(200)
  })

  it("of a newer release is refused by name", async () => {
    const { bytes } = await download()
    const changed = (from: string, to: string) => Buffer.from(bytes.toString("latin1").replace(from, to), "latin1")
    const schema = await upload(lab.gateway, changed("\"migrations\":[", "\"migrations\":[{\"id\":9999,\"name\":\"later\"},"))
    expect([schema.status, errorIn(schema)["code"]]).toEqual([400, "archive_newer"])
    expect(errorIn(schema)["message"]).toContain("does not know the schema versions 9999 later. Upgrade this gateway")
    const form = await upload(lab.gateway, changed("\"version\":1", "\"version\":2"))
    expect([form.status, errorIn(form)["code"]]).toEqual([400, "archive_newer"])
  })

  it("of another master secret is refused with what to do; under a passphrase it serves there, sealed with the other secret", async () => {
    const key = await operator().createKey("travels")
    const refused = await upload(other, (await download()).bytes)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([400, "archive_sealed"])
    expect(errorIn(refused)["message"]).toContain("GATEWAY_SECRET_PREVIOUS, or export the archive again with a passphrase.")
    expect(await list(other)).toEqual([])

    await using way = await Proxies.http({ to: { host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) }, expect: "user:canary-proxy-password" })
    const { id: proxyId } = await operator().call<{ id: string }>("POST", PROXIES, { name: "office", host: "127.0.0.1", port: way.port, username: "user", password: "canary-proxy-password" })
    await operator().call("PUT", `${PROXIES}/assignments`, { scope: "global", proxyId })
    const { bytes } = await download("export", PHRASE)
    await operator().call("DELETE", `${PROXIES}?id=${proxyId}&force=1`)
    expect(bytes.toString("latin1")).not.toContain(CREDENTIAL)
    const without = await upload(other, bytes)
    expect([without.status, errorIn(without)["message"]]).toEqual([400, "The archive was sealed with a passphrase: send it in the header x-backup-passphrase."])
    const wrong = await upload(other, bytes, { "x-backup-passphrase": "another passphrase" })
    expect([wrong.status, errorIn(wrong)["code"]]).toEqual([400, "archive_sealed"])
    expect((await upload(other, bytes, PHRASE)).status).toBe(200)
    expect(await ask(key.key, other, "lab/from-afar")).toBe(200)
    expect(await lab.sim.entries({ key: CREDENTIAL, model: "from-afar" })).toHaveLength(1)
    expect(way.credentials).toEqual(["user:canary-proxy-password"])
    // It is sealed with the secret of its new home: a start reads every record again.
    await other.restart()
    expect(await ask(key.key, other)).toBe(200)
    expect(way.credentials).toHaveLength(2)
    const [sealed] = await list(other)
    expect(await other.operator.raw("POST", PATH, { backupId: sealed?.id })).toMatchObject({ status: 200 })
    expect(await ask(key.key, other)).toBe(401)
  })

  it("with a short passphrase is not made", async () => {
    const reply = await download("export", { "x-backup-passphrase": "short" })
    expect([reply.status, errorIn(reply)["details"]]).toEqual([400, [{ field: "x-backup-passphrase", message: "Expected 12 to 1024 characters" }]])
  })

  it("of everything adds calls to the ledger, each once", async () => {
    const key = await operator().createKey("counted")
    expect(await ask(key.key)).toBe(200)
    const rows = (await lab.gateway.rows()).map(({ attemptId, costUsd, tokensIn }) => ({ attemptId, costUsd, tokensIn }))
    const { bytes } = await download("exportAll", PHRASE)
    const own = await other.rows()
    for (const _ of ["once", "again"]) {
      expect(JSON.parse((await upload(other, bytes, PHRASE)).text)).toMatchObject({ imported: true, contents: "all", rows: { usage: rows.length } })
      const merged = new Map((await other.rows()).map((row) => [row.attemptId, row]))
      expect(merged.size).toBe(own.length + rows.length)
      expect(rows.map(({ attemptId }) => merged.get(attemptId))).toMatchObject(rows)
    }
  })

  it("of more than 100 MB is refused before it is read, and one that breaks off leaves nothing", async () => {
    const refused = await operator().raw("POST", `${PATH}/import`, Buffer.alloc(1), { "content-length": "100000001" })
    expect([refused.status, errorIn(refused)["message"]]).toEqual([413, "The body is larger than 100000000 bytes"])

    const parts = async () => fs.readdirSync(directory()).filter((name) => name.startsWith("part-")).length
    const key = await operator().createKey("uploads", { scopes: ["admin"] })
    const { request } = Http.open(lab.gateway.url, {
      method: "POST", path: `${PATH}/import`, body: Buffer.alloc(1_000), headers: { authorization: `Bearer ${key.key}`, "content-length": "2000" }
    })
    await eventually(parts, (count) => count === 1, "the upload")
    request.destroy()
    await eventually(parts, (count) => count === 0, "the end of what it left")
  })
})

describe("who may", () => {
  it("is a session or an admin: neither an anonymous caller while no login is required, nor a key that manages", async () => {
    const manages = await operator().createKey("manages", { scopes: ["manage"] })
    const paths = [["GET", PATH], ["PUT", PATH], ["POST", PATH], ["DELETE", PATH], ["GET", `${PATH}/export`], ["GET", `${PATH}/exportAll`], ["POST", `${PATH}/import`]] as const
    await operator().call("PATCH", "/api/settings", { requireLogin: false })
    const statuses = async (headers: Readonly<Record<string, string>>) => {
      const found = new Array<number>()
      for (const [method, at] of paths) found.push((await Http.send(lab.gateway.url, { method, path: at, headers, ...(method === "GET" ? {} : { body: {} }) })).status)
      return found
    }
    try {
      expect(await statuses({})).toEqual(paths.map(() => 401))
      expect(await statuses({ authorization: `Bearer ${manages.key}` })).toEqual(paths.map(() => 403))
    } finally {
      await operator().call("PATCH", "/api/settings", { requireLogin: true })
    }
  })
})
