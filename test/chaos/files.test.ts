/** Files of gateways in processes of their own: killed in the middle of an upload, and given more than their memory may hold. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as Stores from "#src/Stores.ts"
import * as Forms from "#test/support/forms.ts"
import { spawned, type Spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type S3, startS3 } from "#test/support/s3.ts"

const MB = 1_000_000
const DAY_MS = 86_400_000
/** The first sweep comes half a minute after the start. */
const SWEEP_PATIENCE_MS = 120_000

let local: Spawned
let remote: Spawned
let s3: S3
const keys = new Map<Spawned, string>()

beforeAll(async () => {
  s3 = await startS3()
  ;[local, remote] = await Promise.all([spawned(), spawned({ environment: { ...s3.environment } })])
  for (const gateway of [local, remote]) keys.set(gateway, (await gateway.operator.createKey("files")).key)
}, 300_000)
afterAll(async () => {
  await Promise.all([local, remote].map((gateway) => gateway.close()))
  await s3.close()
})

const bearer = (gateway: Spawned) => ({ authorization: `Bearer ${keys.get(gateway) ?? ""}` })
const list = async (gateway: Spawned): Promise<ReadonlyArray<{ readonly id: string }>> => {
  const reply = await Http.send(gateway.url, { path: "/v1/files", headers: bearer(gateway) })
  expect(reply.status).toBe(200)
  return (JSON.parse(reply.text) as { data: ReadonlyArray<{ id: string }> }).data
}

/** Sends so many pieces of 1 MB, no faster than they are taken. */
const send = async (request: ReturnType<typeof Forms.begin>["request"], pieces: number, hash = createHash("sha256")): Promise<string> => {
  for (let i = 0; i < pieces; i++) {
    const piece = Buffer.alloc(MB, i)
    hash.update(piece)
    if (!request.write(piece)) await once(request, "drain")
  }
  return hash.digest("hex")
}

const bodyOf = async (response: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

describe("a gateway that is killed with SIGKILL in the middle of an upload", () => {
  it("has no half file afterwards; the sweep of its next life removes what is left", { timeout: 300_000 }, async () => {
    const directory = path.join(local.dataDir, "files")
    const incoming = path.join(directory, "incoming")
    const uploads = [local, remote].map((gateway) => Forms.begin(gateway.url, bearer(gateway), 40 * MB))
    // The open upload of the bucket is an old one when the next life looks.
    s3.began = () => new Date(Date.now() - DAY_MS)
    await Promise.all(uploads.map(({ request }) => send(request, 20)))
    await eventually(async () => fs.readdirSync(incoming).map((name) => fs.statSync(path.join(incoming, name)).size), ([size = 0]) => size > 5 * MB, "the first half of the file")
    await eventually(async () => s3.open(), (open) => open.length === 1, "the open upload of the bucket")
    for (const gateway of [local, remote]) expect(await list(gateway)).toEqual([])
    await Promise.all([local.kill9(), remote.kill9()])
    for (const { request } of uploads) request.destroy()
    s3.began = () => new Date()
    const [dead = ""] = fs.readdirSync(incoming)
    expect([fs.readdirSync(directory), s3.keys(), s3.open().length]).toEqual([["incoming"], [], 1])
    const orphan = path.join(directory, `file-${"0".repeat(32)}`)
    fs.writeFileSync(orphan, "bytes whose record was never written")
    for (const left of [path.join(incoming, dead), orphan]) fs.utimesSync(left, new Date(Date.now() - DAY_MS), new Date(Date.now() - DAY_MS))
    // Bytes from before the records began are left alone: these records are older than the orphan.
    await Effect.runPromise(Effect.provide(Effect.flatMap(DocumentStore, (store) => store.put("files", "recordsBegan", Date.now() - 2 * DAY_MS)), Stores.layer().pipe(
      Layer.provideMerge(PostgresClient.pgliteLayer({ dataDir: local.dataDir })),
      Layer.provideMerge(Sealer.layer({ dataDir: local.dataDir, secret: Redacted.make("nothing is sealed by this one") }))
    )))
    await Promise.all([local.start(), remote.start()])
    for (const gateway of [local, remote]) {
      expect(await list(gateway)).toEqual([])
      expect((await Forms.upload(gateway.url, [Forms.field("purpose", "batch"), Forms.file("next life")], bearer(gateway))).status).toBe(200)
    }
    await eventually(async () => [...fs.readdirSync(incoming), ...fs.readdirSync(directory).filter((name) => path.join(directory, name) === orphan), ...s3.open()],
      (left) => left.length === 0, "the sweep", SWEEP_PATIENCE_MS)
    for (const gateway of [local, remote]) {
      const [kept] = await list(gateway)
      expect((await Http.send(gateway.url, { path: `/v1/files/${kept?.id}/content`, headers: bearer(gateway) })).text).toBe("next life")
    }
  })
})

describe("a large file", () => {
  const SIZE_MB = 400
  for (const kind of ["a directory", "a bucket"] as const) {
    it(`goes into ${kind} and comes out again without standing in memory`, { timeout: 300_000 }, async () => {
      const gateway = kind === "a directory" ? local : remote
      // What a first upload loads is there before.
      const first = Forms.begin(gateway.url, bearer(gateway), 8 * MB)
      await send(first.request, 8)
      expect((await first.finish()).statusCode).toBe(200)
      const before = gateway.memory().peak
      const { finish, request } = Forms.begin(gateway.url, bearer(gateway), SIZE_MB * MB)
      const sha256 = await send(request, SIZE_MB)
      const response = await finish()
      const made = JSON.parse(await bodyOf(response)) as { id: string; bytes: number }
      expect([response.statusCode, made.bytes]).toEqual([200, SIZE_MB * MB])
      const download = Http.open(gateway.url, { path: `/v1/files/${made.id}/content`, headers: bearer(gateway) })
      const hash = createHash("sha256")
      for await (const chunk of await download.response) hash.update(chunk as Buffer)
      expect(hash.digest("hex")).toBe(sha256)
      // What was written is freed without the collector; a bucket gets parts of 5 MB; what comes faster than it is written waits in a file.
      expect((gateway.memory().peak - before) / MB).toBeLessThan(100)
      expect((await Http.send(gateway.url, { method: "DELETE", path: `/v1/files/${made.id}`, headers: bearer(gateway) })).status).toBe(200)
    })
  }

  it("is read no faster than its client takes it", { timeout: 300_000 }, async () => {
    const { finish, request } = Forms.begin(local.url, bearer(local), 200 * MB)
    await send(request, 200)
    const made = JSON.parse(await bodyOf(await finish())) as { id: string }
    const before = local.memory().peak
    const readers = await Promise.all(Array.from({ length: 8 }, async () => {
      const { response } = Http.open(local.url, { path: `/v1/files/${made.id}/content`, headers: bearer(local) })
      const reply = await response
      reply.pause()
      return reply
    }))
    // Others are served meanwhile, and the readers hold a bounded rest each.
    expect((await list(local)).length).toBeGreaterThan(0)
    const whole = createHash("sha256")
    let bytes = 0
    for await (const chunk of readers[0] ?? []) {
      bytes += (chunk as Buffer).length
      whole.update(chunk as Buffer)
    }
    expect(bytes).toBe(200 * MB)
    expect((local.memory().peak - before) / MB).toBeLessThan(120)
    for (const reader of readers) reader.destroy()
  })
})
