/** Files over HTTP: uploads, lists, ranges, ownership, and what is refused. */
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { StoreError } from "#actors/ports/StoreError.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import * as Forms from "#test/support/forms.ts"
import * as FullDisk from "#test/support/fullDisk.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { openFiles } from "#test/support/openFiles.ts"
import { eventually, type Key } from "#test/support/operator.ts"

interface FileBody {
  readonly id: string
  readonly [name: string]: unknown
}
interface ListBody {
  readonly data: ReadonlyArray<FileBody>
  readonly [name: string]: unknown
}

let gateway: InProcess
let ours: Key
let theirs: Key
const directory = fs.mkdtempSync(path.join(process.env["TMPDIR"] ?? "/tmp", "gateway-files-"))
const permanent = "permanent-environment-key"

beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_FILES_DIR: directory, GATEWAY_FILES_RESERVE_MB: "0", GATEWAY_API_KEY: permanent } })
  ours = await gateway.operator.createKey("ours")
  theirs = await gateway.operator.createKey("theirs")
})
afterAll(async () => {
  await gateway.close()
  fs.rmSync(directory, { recursive: true, force: true })
})

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const as = (key: Key, method: string, at: string, headers: Readonly<Record<string, string>> = {}) => Http.send(gateway.url, { method, path: at, headers: { ...bearer(key.key), ...headers } })
const json = <A = Record<string, unknown>>(reply: Http.Reply): A => JSON.parse(reply.text) as A
const codeOf = (reply: Http.Reply): unknown => json<{ error: { code: string } }>(reply).error.code
const batch = Forms.field("purpose", "batch")
const store = async (value: string | Buffer, more: ReadonlyArray<Forms.Part> = [batch], key = ours): Promise<FileBody> => {
  const reply = await Forms.upload(gateway.url, [...more, Forms.file(value)], bearer(key.key))
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return json<FileBody>(reply)
}
/** Everything that the directory holds. */
const held = (): ReadonlyArray<string> => fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name !== "incoming")

describe("a file", () => {
  it("is uploaded, found, listed, downloaded and deleted by its key", async () => {
    const bytes = randomBytes(700_000)
    const before = Math.floor(Date.now() / 1000)
    const reply = await Forms.upload(gateway.url, [Forms.file(bytes, { filename: "schöne \"Daten\".jsonl".replaceAll("\"", "%22") }), batch], bearer(ours.key))
    const made = json<FileBody>(reply)
    expect(made).toEqual({
      id: expect.stringMatching(/^file-[0-9a-f]{32}$/), object: "file", bytes: 700_000, created_at: expect.any(Number), expires_at: null,
      filename: "schöne \"Daten\".jsonl", purpose: "batch", status: "processed", status_details: null
    })
    expect(made["created_at"]).toBeGreaterThanOrEqual(before)
    expect(json(await as(ours, "GET", `/v1/files/${made.id}`))).toEqual(made)
    expect(json<ListBody>(await as(ours, "GET", "/v1/files"))).toEqual({ object: "list", data: [made], first_id: made.id, last_id: made.id, has_more: false })
    const content = await as(ours, "GET", `/v1/files/${made.id}/content`)
    expect([content.status, content.whole, content.bytes.equals(bytes)]).toEqual([200, true, true])
    expect(content.headers).toMatchObject({
      "content-type": "application/jsonl", etag: `"${createHash("sha256").update(bytes).digest("hex")}"`, "accept-ranges": "bytes",
      "content-disposition": "attachment; filename=\"sch_ne _Daten_.jsonl\"; filename*=UTF-8''sch%C3%B6ne%20%22Daten%22.jsonl",
      "x-content-type-options": "nosniff", "content-security-policy": "sandbox; default-src 'none'"
    })
    expect(fs.readFileSync(path.join(directory, made.id)).equals(bytes)).toBe(true)
    expect(json(await as(ours, "DELETE", `/v1/files/${made.id}`))).toEqual({ id: made.id, object: "file", deleted: true })
    for (const at of [`/v1/files/${made.id}`, `/v1/files/${made.id}/content`]) {
      const gone = await as(ours, "GET", at)
      expect([gone.status, json<{ error: object }>(gone).error]).toEqual([404, expect.objectContaining({ type: "invalid_request_error", code: "file_not_found" })])
    }
    expect((await as(ours, "DELETE", `/v1/files/${made.id}`)).status).toBe(404)
    expect(held()).toEqual([])
  })

  it("is somebody else's: unknown to every other key, and open to operators", async () => {
    const mine = await store("mine")
    for (const [method, at] of [["GET", ""], ["GET", "/content"], ["DELETE", ""]] as const) {
      const reply = await as(theirs, method, `/v1/files/${mine.id}${at}`)
      expect([method, at, reply.status, codeOf(reply)]).toEqual([method, at, 404, "file_not_found"])
    }
    expect(json<ListBody>(await as(theirs, "GET", "/v1/files")).data).toEqual([])
    expect((await as(theirs, "GET", `/v1/files?after=${mine.id}`)).status).toBe(400)
    // A key's rights end at its own files, also in a browser where an operator is signed in, and with scope manage.
    const both = await gateway.operator.raw("GET", "/v1/files", undefined, bearer(theirs.key))
    expect(json<ListBody>(both).data).toEqual([])
    const manager = await gateway.operator.createKey("manager", { scopes: ["manage"] })
    expect(json<ListBody>(await as(manager, "GET", "/v1/files")).data).toEqual([])
    const { operator } = gateway
    for (const at of ["/v1/files", "/api/files"]) expect((await operator.call<ListBody>("GET", at)).data.map(({ id }) => id)).toContain(mine.id)
    for (const at of ["/v1/files", "/api/files"]) expect((await operator.raw("GET", `${at}/${mine.id}/content`)).text).toBe("mine")
    const own = json<FileBody>(await operator.raw("POST", "/v1/files", Forms.bytes([batch, Forms.file("operator's")]), { "content-type": Forms.contentType }))
    expect((await as(ours, "GET", `/v1/files/${own.id}`)).status).toBe(404)
    for (const { id } of [own, mine]) expect((await operator.raw("DELETE", `/v1/files/${id}`)).status).toBe(200)
    const audit = await operator.call<{ entries?: ReadonlyArray<{ action: string; target: string }> }>("GET", "/api/compliance/audit-log?limit=50")
    expect(JSON.stringify(audit)).toContain(own.id)
    expect(held()).toEqual([])
  })

  it("needs a key on every route, although other requests need none", async () => {
    const made = await store("closed")
    const routes = [["GET", "/v1/files"], ["POST", "/v1/files"], ["GET", `/v1/files/${made.id}`], ["GET", `/v1/files/${made.id}/content`], ["DELETE", `/v1/files/${made.id}`], ["GET", "/api/files"], ["GET", `/api/files/${made.id}/content`]] as const
    for (const [method, at] of routes) {
      expect([method, at, (await Http.send(gateway.url, { method, path: at })).status]).toEqual([method, at, 401])
      const wrong = await Http.send(gateway.url, { method, path: at, headers: bearer("sk-nobody") })
      expect([method, at, wrong.status]).toEqual([method, at, at.startsWith("/api") ? 403 : 401])
    }
    const revoked = await gateway.operator.createKey("restricted", { allowedEndpoints: ["chat"] })
    expect((await as(revoked, "GET", "/v1/files")).status).toBe(403)
    for (const headers of [{ "x-api-key": ours.key }, { "x-goog-api-key": ours.key }]) expect((await Http.send(gateway.url, { path: `/v1/files/${made.id}/content`, headers })).text).toBe("closed")
    expect((await Http.send(gateway.url, { path: `/v1/files/${made.id}/content?key=${ours.key}` })).text).toBe("closed")
    expect((await Http.send(gateway.url, { path: "/api/v1/registered-keys", headers: { "x-api-key": ours.key } })).status).toBe(200)
    await as(ours, "DELETE", `/v1/files/${made.id}`)
  })

  it("is kept by a key of the environment, too", async () => {
    const reply = await Forms.upload(gateway.url, [batch, Forms.file("env")], bearer(permanent))
    const { id } = json<FileBody>(reply)
    const at = (method: string) => Http.send(gateway.url, { method, path: `/v1/files/${id}`, headers: bearer(permanent) })
    expect((await at("GET")).status).toBe(200)
    expect((await as(ours, "GET", `/v1/files/${id}`)).status).toBe(404)
    expect((await at("DELETE")).status).toBe(200)
  })
})

describe("the list of files", () => {
  it("goes by pages in both orders and by purpose, and refuses what it cannot read", async () => {
    const made: Array<string> = []
    for (const purpose of ["batch", "vision", "batch", "user_data", "batch"]) made.push((await store("x", [Forms.field("purpose", purpose)])).id)
    const list = async (query: string) => json<ListBody>(await as(ours, "GET", `/v1/files?${query}`))
    const ids = ({ data }: ListBody) => data.map(({ id }) => id)
    const first = await list("limit=2")
    expect([ids(first), first["first_id"], first["last_id"], first["has_more"]]).toEqual([[made[4], made[3]], made[4], made[3], true])
    const second = await list(`limit=3&after=${made[3]}`)
    expect([ids(second), second["has_more"]]).toEqual([[made[2], made[1], made[0]], false])
    expect(ids(await list("order=asc&purpose=batch"))).toEqual([made[0], made[2], made[4]])
    expect(await list("purpose=none")).toEqual({ object: "list", data: [], first_id: null, last_id: null, has_more: false })
    for (const query of ["limit=0", "limit=10001", "limit=x", "order=up", "after=file-none"]) expect([query, (await as(ours, "GET", `/v1/files?${query}`)).status]).toEqual([query, 400])
    for (const id of made) await as(ours, "DELETE", `/v1/files/${id}`)
  })
})

describe("the content of a file", () => {
  it("comes in ranges", async () => {
    const text = "0123456789"
    const { id } = await store(text)
    const get = (range: string, more: Readonly<Record<string, string>> = {}) => as(ours, "GET", `/v1/files/${id}/content`, { range, ...more })
    for (const [range, from, to] of [["bytes=0-0", 0, 0], ["Bytes=2-5", 2, 5], ["bytes=8-99999999999999999999", 8, 9], ["bytes=7-", 7, 9], ["bytes=-3", 7, 9], ["bytes=5-99", 5, 9], ["bytes=-99", 0, 9]] as const) {
      const reply = await get(range)
      expect([range, reply.status, reply.text, reply.headers["content-range"], reply.headers["content-length"]])
        .toEqual([range, 206, text.slice(from, to + 1), `bytes ${from}-${to}/10`, String(to - from + 1)])
    }
    for (const range of ["bytes=10-", "bytes=11-12", "bytes=-0"]) {
      const reply = await get(range)
      expect([range, reply.status, codeOf(reply), reply.headers["content-range"]]).toEqual([range, 416, "range_not_satisfiable", "bytes */10"])
    }
    for (const range of ["bytes=5-2", "bytes=-", "lines=1-2", "bytes=0-1,4-5", "bytes=a-b"]) expect([range, (await get(range)).text]).toEqual([range, text])
    const etag = (await get("bytes=0-0")).headers["etag"] ?? ""
    expect((await get("bytes=0-0", { "if-range": etag })).status).toBe(206)
    expect((await get("bytes=0-0", { "if-range": "\"other\"" })).text).toBe(text)
    expect((await get("bytes=0-0", { "if-range": "Wed, 21 Oct 2026 07:28:00 GMT" })).status).toBe(200)
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const same = await as(ours, "GET", `/v1/files/${id}/content`, { "if-none-match": tags })
      expect([tags, same.status, same.text, same.headers["etag"]]).toEqual([tags, 304, "", etag])
    }
    expect((await as(ours, "GET", `/v1/files/${id}/content`, { "if-none-match": "\"other\"" })).status).toBe(200)
    await as(ours, "DELETE", `/v1/files/${id}`)
    const empty = await store("")
    expect((await as(ours, "GET", `/v1/files/${empty.id}/content`)).bytes.length).toBe(0)
    expect((await as(ours, "GET", `/v1/files/${empty.id}/content`, { range: "bytes=0-" })).status).toBe(416)
    await as(ours, "DELETE", `/v1/files/${empty.id}`)
  })

  it("says its length before it comes, and to HEAD without it", async () => {
    const bytes = randomBytes(900_000)
    const { id } = await store(bytes)
    for (const headers of [{}, { range: "bytes=0-4" }]) {
      const head = await as(ours, "HEAD", `/v1/files/${id}/content`, headers as Readonly<Record<string, string>>)
      expect([head.status, head.headers["content-length"], head.headers["accept-ranges"], head.bytes.length]).toEqual([200, "900000", "bytes", 0])
    }
    const whole = await as(ours, "GET", `/v1/files/${id}/content`)
    expect([whole.headers["content-length"], whole.headers["transfer-encoding"], whole.bytes.equals(bytes)]).toEqual(["900000", undefined, true])
    expect((await as(theirs, "HEAD", `/v1/files/${id}/content`)).status).toBe(404)
    expect((await Http.send(gateway.url, { method: "HEAD", path: `/v1/files/${id}/content` })).status).toBe(401)
    // A file that lost bytes is a broken download, never a short one.
    fs.truncateSync(path.join(directory, id), 500_000)
    const cut = await as(ours, "GET", `/v1/files/${id}/content`).then(({ whole }) => whole, () => false)
    expect(cut).toBe(false)
    expect((await as(ours, "DELETE", `/v1/files/${id}`)).status).toBe(200)
  })

  it("is an error and no broken download where this node has no such bytes", async () => {
    const { id } = await store("elsewhere")
    fs.rmSync(path.join(directory, id))
    const reply = await as(ours, "GET", `/v1/files/${id}/content`)
    expect([reply.status, codeOf(reply)]).toEqual([503, "service_unavailable"])
    expect((await as(ours, "DELETE", `/v1/files/${id}`)).status).toBe(200)
  })

  it("holds no file open when its clients are gone, however they went", async () => {
    const { id } = await store(randomBytes(8_000_000))
    for (const headers of [{}, { range: "bytes=0-9" }, { range: "bytes=99999999-" }, { "if-none-match": "x" }]) await as(ours, "GET", `/v1/files/${id}/content`, headers as Readonly<Record<string, string>>)
    const left = await Promise.all(Array.from({ length: 5 }, async () => {
      const { response } = Http.open(gateway.url, { path: `/v1/files/${id}/content`, headers: bearer(ours.key) })
      return (await response).pause()
    }))
    expect(openFiles(directory)).toBe(5)
    for (const response of left) response.destroy()
    await eventually(() => Promise.resolve(openFiles(directory)), (count) => count === 0, "the end of all reads")
    await as(ours, "DELETE", `/v1/files/${id}`)
  })

  it("is a download for browsers, whatever type its client named", async () => {
    const reply = await Forms.upload(gateway.url, [batch, Forms.file("<script>", { type: "text/html", filename: "../../x.html" })], bearer(ours.key))
    const { id } = json<FileBody>(reply)
    const content = await gateway.operator.raw("GET", `/v1/files/${id}/content`)
    expect(content.headers).toMatchObject({ "content-type": "text/html", "content-disposition": expect.stringMatching(/^attachment;/), "content-security-policy": "sandbox; default-src 'none'" })
    const odd = json<FileBody>(await Forms.upload(gateway.url, [batch, Forms.file("x", { type: "no type at all" })], bearer(ours.key)))
    expect((await as(ours, "GET", `/v1/files/${odd.id}/content`)).headers["content-type"]).toBe("application/octet-stream")
    for (const one of [id, odd.id]) await as(ours, "DELETE", `/v1/files/${one}`)
  })
})

describe("an upload", () => {
  it("that is wrong is refused in clear words, and nothing of it is kept", async () => {
    const file = Forms.file("content")
    const expiry = (anchor: string, seconds: string) => [batch, Forms.field("expires_after[anchor]", anchor), Forms.field("expires_after[seconds]", seconds)]
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<Forms.Part>, number, string]> = [
      ["no purpose", [file], 400, "purpose"],
      ["no purpose behind the file", [file, Forms.field("purpose", "")], 400, "purpose"],
      ["a long purpose", [Forms.field("purpose", "p".repeat(65)), file], 400, "purpose"],
      ["a long purpose behind the file", [file, Forms.field("purpose", "p".repeat(65))], 400, "purpose"],
      ["no file", [batch], 400, "file"],
      ["a file without a name", [batch, Forms.field("file", "text")], 400, "file"],
      ["another field for the file", [batch, { ...file, name: "document" }], 400, "file"],
      ["two files", [batch, file, file], 400, "file"],
      ["an unknown field", [batch, file, Forms.field("folder", "x")], 400, "folder"],
      ["another anchor", [...expiry("last_active_at", "3600"), file], 400, "expires_after[anchor]"],
      ["seconds without an anchor", [batch, Forms.field("expires_after[seconds]", "3600"), file], 400, "expires_after[anchor]"],
      ["an anchor without seconds", [batch, Forms.field("expires_after[anchor]", "created_at"), file], 400, "expires_after[seconds]"],
      ["too few seconds", [...expiry("created_at", "3599"), file], 400, "expires_after[seconds]"],
      ["too many seconds", [file, ...expiry("created_at", "2592001")], 400, "expires_after[seconds]"]
    ]
    for (const [what, parts, status, param] of cases) {
      const reply = await Forms.upload(gateway.url, parts, bearer(ours.key))
      expect([what, reply.status, json<{ error: object }>(reply).error]).toEqual([what, status, expect.objectContaining({ type: "invalid_request_error", param })])
    }
    const raw = (body: string | Buffer, headers: Readonly<Record<string, string>>) => Http.send(gateway.url, { path: "/v1/files", method: "POST", body, headers: { ...bearer(ours.key), ...headers } })
    expect(codeOf(await raw("{}", { "content-type": "application/json" }))).toBe("unsupported_media_type")
    expect(codeOf(await raw("x", { "content-type": "multipart/form-data" }))).toBe("unsupported_media_type")
    expect(codeOf(await raw("x", { "content-type": Forms.contentType, "content-encoding": "gzip" }))).toBe("unsupported_media_type")
    expect((await raw(Forms.bytes([batch, file]).subarray(0, -30), { "content-type": Forms.contentType })).status).toBe(400)
    expect(json<ListBody>(await as(ours, "GET", "/v1/files")).data).toEqual([])
    expect(held()).toEqual([])
  })

  it("of more than 512 MiB is 413 before a byte of it came", async () => {
    const { request, response } = Http.open(gateway.url, { method: "POST", path: "/v1/files", headers: { ...bearer(ours.key), "content-type": Forms.contentType, "content-length": String(514 * 1024 * 1024) } })
    const reply = await response
    expect(reply.statusCode).toBe(413)
    const chunks: Array<Buffer> = []
    for await (const chunk of reply) chunks.push(chunk as Buffer)
    expect(JSON.parse(Buffer.concat(chunks).toString("utf8"))).toMatchObject({ error: { code: "file_too_large", type: "invalid_request_error" } })
    request.destroy()
    expect(held()).toEqual([])
  })

  it("that its client breaks off leaves nothing", async () => {
    const { request } = Forms.begin(gateway.url, bearer(ours.key), 3_000_000)
    request.write(Buffer.alloc(1_000_000, 1))
    await eventually(() => Promise.resolve(held()), (names) => names.length === 1, "the beginning of the file")
    expect(held()[0]).toMatch(/^incoming\/file-/)
    expect(json<ListBody>(await as(ours, "GET", "/v1/files")).data).toEqual([])
    request.destroy()
    await eventually(() => Promise.resolve(held()), (names) => names.length === 0, "the end of the file")
  })

  it("to a full disk is 507, and nothing half is kept; later uploads go on", async () => {
    const free = await FullDisk.fill(1_500_000)
    try {
      const reply = await Forms.upload(gateway.url, [batch, Forms.file(randomBytes(3_000_000))], bearer(ours.key))
      expect([reply.status, json<{ error: object }>(reply).error]).toEqual([507, expect.objectContaining({ code: "insufficient_storage", type: "server_error" })])
    } finally {
      free()
    }
    expect(held()).toEqual([])
    expect(json<ListBody>(await as(ours, "GET", "/v1/files")).data).toEqual([])
    await as(ours, "DELETE", `/v1/files/${(await store("fits")).id}`)
  })

  it("whose record is refused is 503, and its bytes go; one whose record got no answer is a whole file or none", async () => {
    const records = Context.get(gateway.services(), FileRecords)
    const { insert } = records
    const failure = (reason: StoreError["reason"]) => Effect.fail(new StoreError({ store: "FileRecords", operation: "insert", reason, message: "by the test" }))
    const uploaded = async (failing: typeof insert) => {
      Object.assign(records, { insert: failing })
      try {
        const reply = await Forms.upload(gateway.url, [batch, Forms.file("whole")], bearer(ours.key))
        expect([reply.status, codeOf(reply)]).toEqual([503, "service_unavailable"])
      } finally {
        Object.assign(records, { insert })
      }
      return json<ListBody>(await as(ours, "GET", "/v1/files")).data
    }
    expect([await uploaded(() => failure("corrupt")), held()]).toEqual([[], []])
    const [file] = await uploaded((record) => Effect.andThen(insert(record), failure("unavailable")))
    expect((await as(ours, "GET", `/v1/files/${file?.id}/content`)).text).toBe("whole")
    await as(ours, "DELETE", `/v1/files/${file?.id}`)
  })

  it("that has expired is shown as such, and its content is gone for its clients before the sweep comes", async () => {
    const { id } = await store("over")
    const records = Context.get(gateway.services(), FileRecords)
    const record = await Effect.runPromise(records.find(id, "all"))
    await Effect.runPromise(Effect.andThen(records.remove(id, "all"), records.insert({ ...record!, expiresAt: Date.now() - 1 })))
    expect(json(await as(ours, "GET", `/v1/files/${id}`))["status"]).toBe("expired")
    expect(json<ListBody>(await as(ours, "GET", "/v1/files")).data.map(({ status }) => status)).toEqual(["expired"])
    const content = await as(ours, "GET", `/v1/files/${id}/content`)
    expect([content.status, codeOf(content)]).toEqual([404, "file_not_found"])
    expect(held()).toEqual([id])
    expect((await as(ours, "DELETE", `/v1/files/${id}`)).status).toBe(200)
    expect(held()).toEqual([])
  })

  it("expires when it says so", async () => {
    const made = await store("soon", [batch, Forms.field("expires_after[anchor]", "created_at"), Forms.field("expires_after[seconds]", "3600")])
    expect(Number(made["expires_at"]) - Number(made["created_at"])).toBe(3600)
    await as(ours, "DELETE", `/v1/files/${made.id}`)
  })
})
