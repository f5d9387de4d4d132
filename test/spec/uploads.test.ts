/** Large forms over HTTP: they lie in files while they are needed, reach every target whole, and leave nothing behind. */
import { createHash, randomBytes } from "node:crypto"
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import * as zlib from "node:zlib"
import * as Context from "effect/Context"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Spool from "#src/platform/spool/Spool.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as FormReader from "#src/wire/form/FormReader.ts"
import { isStored } from "#actors/request/ports/Body.ts"
import { PublicError } from "#schemas/errors.ts"
import { formOf } from "#test/support/audio.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

/** An upstream that keeps what it is sent, byte for byte. */
interface Ear {
  readonly url: string
  readonly calls: ReadonlyArray<{ readonly contentType: string; readonly body: Buffer; readonly path: string }>
  /** How the next calls are answered; at the end of their bodies, or before. */
  answer: { readonly status: number; readonly early?: boolean; readonly silent?: boolean }
  readonly stop: () => Promise<void>
}

const startEar = async (): Promise<Ear> => {
  const calls: Array<Ear["calls"][number]> = []
  const server = NodeHttp.createServer((request, response) => {
    const { early = false, silent = false, status } = ear.answer
    const say = (): void => void response.writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(status === 200 ? { text: "heard", duration: 2, data: [{ b64_json: "AAAA" }] } : { error: { message: "not now" } }))
    if (early) return say()
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      calls.push({ contentType: request.headers["content-type"] ?? "", body: Buffer.concat(chunks), path: request.url ?? "" })
      if (!silent) say()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  const ear: Ear = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    answer: { status: 200 },
    stop: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
  return ear
}

let made = 0
/** A provider of its own behind an ear. */
const listener = async (lab: Lab): Promise<Ear & { readonly prefix: string; readonly model: string }> => {
  const ear = await startEar()
  const prefix = `up${++made}`
  const provider = await lab.gateway.operator.createNode({ prefix, baseUrl: ear.url })
  await lab.gateway.operator.createConnection({ provider, apiKey: `${prefix}-credential-000001` })
  return Object.assign(ear, { prefix, model: `${prefix}/m` })
}

const send = (lab: Lab, body: Buffer | string, headers: Readonly<Record<string, string>> = {}, path = "/v1/audio/transcriptions", boundary = "----b0undary") =>
  Http.send(lab.gateway.url, { path, headers: { "content-type": `multipart/form-data; boundary=${boundary}`, ...headers }, body })

const spoolOf = (lab: Lab) => Context.get(lab.gateway.services(), Spool.Spool)
const nothingLeft = async (lab: Lab): Promise<void> => {
  const spool = spoolOf(lab)
  await eventually(() => Promise.resolve([spool.files(), spool.stored.bytes, Context.get(lab.gateway.services(), FrontEnd).heldBodies.bytes]), (left) => left.every((bytes) => bytes === 0), "nothing is held")
}

const file = randomBytes(1_500_000)
const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")
/** Bytes of bodies that may be in memory. */
const HELD = 8 * 1024 * 1024
/** Names, contents and types of the form that reached an ear. */
const partsOf = ({ body, contentType }: Ear["calls"][number]): ReadonlyArray<readonly [string, string]> => {
  const form = Form.parse(body, FormReader.boundaryOf(contentType) ?? "")
  if (form instanceof PublicError) throw new Error(form.message)
  return form.parts.map(({ content, name }) => [name, isStored(content) ? "" : content.length > 1_000 ? digest(content) : Buffer.from(content).toString("utf8")])
}

describe("a large upload", () => {
  let lab: Lab
  beforeAll(async () => {
    lab = await startLab()
  })
  afterAll(() => lab.close())

  it.each([["refused", { status: 503 }], ["refused before it was read", { status: 503, early: true }]] as const)("that the first target %s goes to the next one, the same bytes", async (_name, answer) => {
    const [first, second] = [await listener(lab), await listener(lab)]
    first.answer = answer
    await lab.gateway.operator.call("POST", "/api/combos", { name: `both-${first.prefix}`, models: [first.model, second.model], config: { maxRetries: 0 } })
    const reply = await send(lab, formOf({ model: `combo/both-${first.prefix}`, language: "en" }, file))
    expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, second.model])
    expect(second.calls.map(({ body }) => body.equals(formOf({ model: "m", language: "en" }, file)))).toEqual([true])
    if (!("early" in answer)) expect(first.calls.map(({ body }) => body.equals(second.calls[0]?.body ?? Buffer.alloc(0)))).toEqual([true])
    expect((await lab.rows(reply)).map(({ outcome, upstreamStatus }) => [outcome, upstreamStatus])).toEqual([["upstream-status", 503], ["completed", 200]])
    await nothingLeft(lab)
    await first.stop()
    await second.stop()
  })

  it("is sent to two targets at once when it is hedged", async () => {
    const [first, second] = [await listener(lab), await listener(lab)]
    first.answer = { status: 200, silent: true }
    await lab.gateway.operator.call("POST", "/api/combos", { name: `hedged-${first.prefix}`, models: [first.model, second.model], config: { hedging: true, hedgeDelayMs: 0, maxRetries: 0 } })
    const reply = await send(lab, formOf({ model: `combo/hedged-${first.prefix}` }, file))
    expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, second.model])
    expect(second.calls[0]?.body.equals(formOf({ model: "m" }, file))).toBe(true)
    await nothingLeft(lab)
    await first.stop()
    await second.stop()
  })

  it("may name its model behind its file, come in chunks of unknown number, or compressed", async () => {
    const ear = await listener(lab)
    const boundary = "----b0undary"
    const late = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\nX-Own: \xe9\r\n\r\n`, "latin1"), file,
      Buffer.from(`\r\n--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${ear.model}\r\n--${boundary}--\r\n`)
    ])
    expect((await send(lab, late)).status).toBe(200)
    expect((await send(lab, late, { "transfer-encoding": "chunked" })).status).toBe(200)
    expect(ear.calls.map(({ body }) => body.equals(Buffer.from(late.toString("latin1").replace(ear.model, "m"), "latin1")))).toEqual([true, true])
    const text = Buffer.alloc(1_500_000, "sound ")
    expect((await send(lab, zlib.gzipSync(formOf({ model: ear.model }, text)), { "content-encoding": "gzip" })).status).toBe(200)
    expect(ear.calls[2]?.body.equals(formOf({ model: "m" }, text))).toBe(true)
    await nothingLeft(lab)
    await ear.stop()
  })

  it("of several files reaches its target in the vendor's own client's words", async () => {
    const ear = await listener(lab)
    const openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("edits")).key, maxRetries: 0 })
    const images = [randomBytes(100_000), randomBytes(400_000), randomBytes(50_000), randomBytes(700_000)]
    const sent = await Promise.all(images.map((bytes, i) => toFile(bytes, `${i}.png`, { type: "image/png" })))
    const { data } = await openai.images.edit({ model: ear.model, image: sent, prompt: "a hat", mask: await toFile(images[0] as Buffer, "mask.png", { type: "image/png" }) })
    expect(data?.length).toBe(1)
    const parts = partsOf(ear.calls[0] as Ear["calls"][number])
    expect(parts.filter(([name]) => name === "image[]").map(([, content]) => content)).toEqual(images.map(digest))
    expect(Object.fromEntries(parts)).toMatchObject({ model: "m", prompt: "a hat", mask: digest(images[0] as Buffer) })
    const heard = await openai.audio.transcriptions.create({ model: ear.model, file: await toFile(file, "song.mp3") })
    expect([heard.text, Object.fromEntries(partsOf(ear.calls[1] as Ear["calls"][number]))]).toEqual(["heard", { model: "m", file: digest(file) }])
    await nothingLeft(lab)
    await ear.stop()
  })

  it("is the same under one Idempotency-Key by what it says, and another one by its last byte", async () => {
    const ear = await listener(lab)
    const headers = { "idempotency-key": `large-${ear.prefix}` }
    const first = await send(lab, formOf({ model: ear.model }, file), headers)
    const again = await send(lab, formOf({ model: ear.model }, file, "audio/wav", "other"), headers, undefined, "other")
    const changed = Buffer.from(file)
    changed[changed.length - 1] = (changed.at(-1) as number) ^ 1
    const other = await send(lab, formOf({ model: ear.model }, changed), headers)
    expect([first.status, again.status, again.headers["x-gateway-idempotent"], other.status]).toEqual([200, 200, "true", 409])
    expect(ear.calls.length).toBe(1)
    await nothingLeft(lab)
    await ear.stop()
  })

  it("whose repeat waits for it is made once, and is made by the repeat when its client leaves", async () => {
    const ear = await listener(lab)
    ear.answer = { status: 200, silent: true }
    const call = { path: "/v1/audio/transcriptions", headers: { "content-type": "multipart/form-data; boundary=----b0undary", "idempotency-key": `left-${ear.prefix}` }, body: formOf({ model: ear.model }, file) }
    const { request } = Http.open(lab.gateway.url, call)
    await eventually(() => Promise.resolve(ear.calls.length), (count) => count === 1, "the first call")
    ear.answer = { status: 200 }
    request.destroy()
    const reply = await Http.send(lab.gateway.url, call)
    expect([reply.status, ear.calls.at(-1)?.body.equals(formOf({ model: "m" }, file))]).toEqual([200, true])
    await nothingLeft(lab)
    await ear.stop()
  })

  it.each([
    ["cut", (body: Buffer) => body.subarray(0, -30), 400, "body"],
    ["of another boundary", () => formOf({ model: "any/m" }, file, "audio/wav", "other"), 400, "body"],
    ["of more plain fields than may be", (body: Buffer) => Buffer.concat([formOf({ prompt: "x".repeat(1_048_577) }, null).subarray(0, -16), body]), 400, "body"]
  ] as const)("that is %s is refused, and nothing is sent or paid", async (_name, change, status, param) => {
    const ear = await listener(lab)
    const reply = await send(lab, change(formOf({ model: ear.model }, file)))
    expect([reply.status, errorIn(reply)["param"], ear.calls.length, await lab.rows(reply)]).toEqual([status, param, 0, []])
    await nothingLeft(lab)
    await ear.stop()
  })

  it("above 26 MiB of unknown length is refused while it comes", async () => {
    const ear = await listener(lab)
    const reply = await send(lab, formOf({ model: ear.model }, Buffer.alloc(27 * 1024 * 1024)), { "transfer-encoding": "chunked" })
    expect([reply.status, errorIn(reply)["code"], ear.calls.length]).toEqual([413, "payload_too_large", 0])
    await nothingLeft(lab)
    await ear.stop()
  })

  it("is a vendor's whole body, or a part of its form", async () => {
    const ear = await startEar()
    for (const provider of ["elevenlabs", "deepgram"]) {
      await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-credential-000001`, providerSpecificData: { baseUrl: ear.url } })
    }
    await send(lab, formOf({ model: "deepgram/nova-3" }, file, "audio/mpeg"))
    await send(lab, formOf({ model: "elevenlabs/scribe_v2", language: "de" }, file, "audio/mpeg"))
    expect([ear.calls[0]?.contentType, digest(ear.calls[0]?.body ?? Buffer.alloc(0))]).toEqual(["audio/mpeg", digest(file)])
    expect(Object.fromEntries(partsOf(ear.calls[1] as Ear["calls"][number]))).toEqual({ model_id: "scribe_v2", language_code: "de", timestamps_granularity: "word", file: digest(file) })
    await nothingLeft(lab)
    await ear.stop()
  })
})

describe("a small memory", () => {
  let lab: Lab
  beforeAll(async () => {
    lab = await startLab({ environment: { GATEWAY_MAX_HELD_BODY_BYTES: String(HELD) } })
  })
  afterAll(() => lab.close())

  it("takes uploads that are larger than it", async () => {
    const ear = await listener(lab)
    const large = randomBytes(25 * 1024 * 1024)
    const body = formOf({ model: ear.model }, large)
    const spool = spoolOf(lab)
    const { hostname, port } = new URL(lab.gateway.url)
    const request = NodeHttp.request({
      host: hostname, port, method: "POST", path: "/v1/audio/transcriptions", agent: false,
      headers: { "content-type": "multipart/form-data; boundary=----b0undary", "content-length": String(body.length) }
    })
    const answered = new Promise<number>((resolve) => request.once("response", (response) => resolve(response.resume().statusCode ?? 0)))
    // A client that is faster than the disk could fill the memory with what the kernel holds for it.
    for (let at = 0; at < body.length; at += 1024 * 1024) {
      request.write(body.subarray(at, at + 1024 * 1024))
      await eventually(() => Promise.resolve(spool.stored.bytes), (bytes) => bytes >= at - 1024 * 1024, "the disk has what was sent")
    }
    request.end()
    expect(await answered).toBe(200)
    expect(digest(ear.calls[0]?.body ?? Buffer.alloc(0))).toBe(digest(formOf({ model: "m" }, large)))
    await nothingLeft(lab)
    await ear.stop()
  })
})

describe("a spool that is full", () => {
  let lab: Lab
  beforeAll(async () => {
    lab = await startLab({ environment: { GATEWAY_MAX_SPOOL_BYTES: "1048576" } })
  })
  afterAll(() => lab.close())

  it("refuses uploads with 503 and the name of its setting, and takes the next one that fits", async () => {
    const ear = await listener(lab)
    const refused = await send(lab, formOf({ model: ear.model }, file))
    expect([refused.status, refused.headers["retry-after"], errorIn(refused)["message"]]).toEqual([503, "1", expect.stringContaining("GATEWAY_MAX_SPOOL_BYTES")])
    expect([ear.calls.length, await lab.rows(refused)]).toEqual([0, []])
    await nothingLeft(lab)
    expect((await send(lab, formOf({ model: ear.model }, file.subarray(0, 1_000_000)))).status).toBe(200)
    const { text } = await Http.send(lab.gateway.url, { path: "/metrics" })
    expect(text).toMatch(/^gateway_spool_refusals_total 1$/m)
    expect(text).toMatch(/^gateway_spool_bytes_max 1048576$/m)
    await ear.stop()
  })
})

describe("a disk that fails", () => {
  let lab: Lab
  /** What the next uses of the disk answer; null: the disk works. */
  let write: string | null = null
  let open: string | null = null
  let read: string | null = null
  const failing = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`${code}: no`), { code })
  beforeAll(async () => {
    lab = await startLab({
      resilience: "awake",
      disks: (directory) => {
        const disk = Spool.diskIn(directory)
        return {
          ...disk,
          open: (done) => open === null ? disk.open(done) : void setImmediate(() => done(failing(open ?? ""), -1)),
          // It is full in the middle of a file.
          writev: (fd, bytes, at, done) => write === null || at < 500_000 ? disk.writev(fd, bytes, at, done) : void setImmediate(() => done(failing(write ?? ""), 0)),
          read: (fd, into, at, done) => read === null || at < 500_000 ? disk.read(fd, into, at, done) : void setImmediate(() => done(failing(read ?? ""), 0))
        }
      }
    })
  })
  afterAll(() => lab.close())

  it.each([
    ["is full", () => { write = "ENOSPC" }, 507, "insufficient_storage", "is full"],
    ["breaks", () => { write = "EIO" }, 503, "service_unavailable", "EIO"],
    ["may not be written", () => { open = "EROFS" }, 503, "service_unavailable", "EROFS"]
  ] as const)("because it %s refuses large uploads, forwards nothing, and heals", async (_name, harm, status, code, words) => {
    const ear = await listener(lab)
    harm()
    const reply = await send(lab, formOf({ model: ear.model }, file))
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["message"]]).toEqual([status, code, expect.stringContaining(words)])
    expect(reply.text).toContain("GATEWAY_DATA_DIR")
    expect([ear.calls.length, await lab.rows(reply)]).toEqual([0, []])
    // Small ones need no disk.
    expect((await send(lab, formOf({ model: ear.model }))).status).toBe(200)
    await nothingLeft(lab)
    write = open = null
    expect((await send(lab, formOf({ model: ear.model }, file))).status).toBe(200)
    await ear.stop()
  })

  it("while an upload is sent on ends the request with an error of the gateway, costs nothing and is not the target's fault", async () => {
    const ear = await listener(lab)
    read = "EIO"
    for (let i = 0; i < 6; i++) {
      const reply = await send(lab, formOf({ model: ear.model }, file))
      expect([reply.status, errorIn(reply)["code"]]).toEqual([500, "internal_server_error"])
      expect(await lab.rows(reply)).toMatchObject([{ outcome: "policy", costUsd: 0, final: true }])
    }
    await nothingLeft(lab)
    read = null
    expect((await send(lab, formOf({ model: ear.model }, file))).status).toBe(200)
    await ear.stop()
  })
})
