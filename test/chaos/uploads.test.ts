/** Many large forms at once: all are answered, in little memory, and nothing of them stays behind. */
import * as fs from "node:fs"
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { formOf } from "#test/support/audio.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

const MB = 1_000_000
const FILE = 20 * MB
const UPLOADS = 100

/** An upstream that reads whole forms, and says how long they were, or only once it is let. */
const startSink = async () => {
  let arrived = 0
  let isHolding = false
  let waiting: Array<() => void> = []
  const server = NodeHttp.createServer((request, response) => {
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on("end", () => {
      arrived++
      const speak = (): void => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: `${bytes} bytes`, duration: 1 }))
      if (isHolding) waiting.push(speak)
      else speak()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    arrived: () => arrived,
    hold: () => {
      isHolding = true
    },
    speak: () => {
      isHolding = false
      for (const one of waiting) one()
      waiting = []
    },
    stop: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

let sink: Awaited<ReturnType<typeof startSink>>
let gateway: Spawned
beforeAll(async () => {
  sink = await startSink()
  gateway = await spawned({ environment: { NODE_OPTIONS: "--max-old-space-size=512" } })
  await gateway.operator.letFailuresPass()
  const node = await gateway.operator.createNode({ prefix: "ear", baseUrl: sink.url })
  await gateway.operator.createConnection({ provider: node, apiKey: "k" })
}, 180_000)
afterAll(async () => {
  await gateway.close()
  await sink.stop()
})

/** All uploads send the same bytes, so that this process holds them once. Null: it was refused while it was sent, and its connection was closed. */
const upload = (body: Buffer): Promise<{ readonly status: number; readonly headers: NodeHttp.IncomingHttpHeaders; readonly text: string } | null> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(gateway.url)
    const request = NodeHttp.request({
      host: hostname, port, method: "POST", path: "/v1/audio/transcriptions", agent: false,
      headers: { "content-type": "multipart/form-data; boundary=----b0undary", "content-length": String(body.length) }
    })
    let isAnswered = false
    request.on("response", (response) => {
      isAnswered = true
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
      })
      response.on("error", () => undefined)
      response.on("close", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on("error", () => {
      if (!isAnswered) resolve(null)
    })
    request.end(body)
  })

const metric = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec((await Http.send(gateway.url, { path: "/metrics" })).text)?.[1] ?? NaN)

/** Files of uploads that the gateway has open. */
const openUploads = (): number => {
  const directory = `/proc/${gateway.pid()}/fd`
  return fs.readdirSync(directory).filter((fd) => {
    try {
      return fs.readlinkSync(`${directory}/${fd}`).includes("/uploads/")
    } catch {
      return false
    }
  }).length
}

const nothingLeft = async (): Promise<void> => {
  await eventually(() => metric("gateway_held_body_bytes"), (bytes) => bytes === 0, "all forms were released")
  await eventually(() => metric("gateway_spool_bytes"), (bytes) => bytes === 0, "all files were released")
  await eventually(() => Promise.resolve(openUploads()), (count) => count === 0, "all files were closed")
  expect(fs.readdirSync(`${gateway.dataDir}/uploads`)).toEqual([])
}

it(`${UPLOADS} uploads of 20 MB at once are all answered in little memory, and leave nothing behind`, async () => {
  const body = formOf({ model: "ear/whisper" }, Buffer.alloc(FILE, 7))
  for (let i = 0; i < 3; i++) expect((await upload(body))?.status).toBe(200)
  const before = sink.arrived()
  sink.hold()
  const idle = gateway.memory().resident
  // What the start took is not what uploads take.
  fs.writeFileSync(`/proc/${gateway.pid()}/clear_refs`, "5")
  const uploads = Promise.all(Array.from({ length: UPLOADS }, () => upload(body)))
  await eventually(() => Promise.resolve(sink.arrived()), (count) => count === before + UPLOADS, "every upload at the upstream", 180_000)
  // All of them are held at the same time.
  expect([await metric("gateway_spool_bytes") >= UPLOADS * FILE, openUploads()]).toEqual([true, UPLOADS])
  expect(await metric("gateway_spool_bytes")).toBeLessThanOrEqual(await metric("gateway_spool_bytes_max"))
  sink.speak()
  const length = body.length - "ear/".length
  expect((await uploads).map((reply) => [reply?.status, Number.parseInt((JSON.parse(reply?.text ?? "{}") as { text: string }).text)])).toEqual(Array.from({ length: UPLOADS }, () => [200, length]))
  const above = (gateway.memory().peak - idle) / MB
  console.log(`peak of resident memory above idle (${(idle / MB).toFixed(0)} MB): ${above.toFixed(0)} MB`)
  expect(above).toBeLessThan(300)
  await nothingLeft()
  expect(gateway.output()).not.toContain("failed unexpectedly")
  expect(await gateway.operator.reconciliation()).toMatchObject({ gap: 0 })
}, 300_000)

/** Sends a part of a form, and leaves. */
const leave = (body: Buffer, sent: number): Promise<void> => new Promise((resolve) => {
  const { hostname, port } = new URL(gateway.url)
  const request = NodeHttp.request({
    host: hostname, port, method: "POST", path: "/v1/audio/transcriptions", agent: false,
    headers: { "content-type": "multipart/form-data; boundary=----b0undary", "content-length": String(body.length) }
  })
  request.on("error", () => undefined)
  request.on("close", () => resolve())
  request.write(body.subarray(0, sent), () => request.destroy())
})

it("200 uploads that were left in their middle, and as many that were cut, leave no file and no byte", async () => {
  const body = formOf({ model: "ear/whisper" }, Buffer.alloc(3 * MB, 7))
  const before = sink.arrived()
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, (_, i) => leave(body, (round * 20 + i) * body.length / 201)))
  const cut = Array.from({ length: 200 }, (_, i) => body.subarray(0, Math.floor((i + 1) * body.length / 201)))
  for (let i = 0; i < 200; i += 20) expect((await Promise.all(cut.slice(i, i + 20).map(upload))).map((reply) => reply?.status)).toEqual(Array.from({ length: 20 }, () => 400))
  await nothingLeft()
  expect(sink.arrived()).toBe(before)
}, 300_000)

it("what was left of an upload by kill -9 is gone, and what was left between two system calls is swept", async () => {
  const before = sink.arrived()
  sink.hold()
  const uploading = upload(formOf({ model: "ear/whisper" }, Buffer.alloc(FILE, 7)))
  await eventually(() => Promise.resolve(sink.arrived()), (count) => count === before + 1, "the upload at its upstream")
  expect(openUploads()).toBe(1)
  await gateway.kill9()
  expect(await uploading).toBeNull()
  expect(fs.readdirSync(`${gateway.dataDir}/uploads`)).toEqual([])
  fs.writeFileSync(`${gateway.dataDir}/uploads/upload-1-0123456789abcdef.part`, "")
  fs.writeFileSync(`${gateway.dataDir}/uploads/other.txt`, "an operator's")
  await gateway.start()
  expect(fs.readdirSync(`${gateway.dataDir}/uploads`)).toEqual(["other.txt"])
  sink.speak()
  expect((await upload(formOf({ model: "ear/whisper" }, Buffer.alloc(MB, 7))))?.status).toBe(200)
}, 180_000)
