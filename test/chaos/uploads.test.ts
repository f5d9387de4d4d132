/** Many large forms at once: they end in answers or in refusals, never in the end of the process. */
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

/** An upstream that reads whole forms, and says how long they were once it is let. */
const startSink = async () => {
  let arrived = 0
  let speak = (): void => undefined
  const spoken = new Promise<void>((resolve) => {
    speak = resolve
  })
  const server = NodeHttp.createServer((request, response) => {
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on("end", () => {
      arrived++
      void spoken.then(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: `${bytes} bytes`, duration: 1 })))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    arrived: () => arrived,
    speak: () => speak(),
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
}, 60_000)
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

it(`${UPLOADS} uploads of 20 MB at once end in answers or 503 under a heap of 512 MB, and leave nothing behind`, async () => {
  const pid = gateway.pid()
  const body = formOf({ model: "ear/whisper" }, Buffer.alloc(FILE, 7))
  const seen: Record<string, number> = {}
  const ended = (): number => Object.values(seen).reduce((sum, count) => sum + count, 0)
  const uploads = Promise.all(Array.from({ length: UPLOADS }, async () => {
    const reply = await upload(body)
    const name = reply === null ? "closed" : String(reply.status)
    seen[name] = (seen[name] ?? 0) + 1
    if (reply === null) return
    if (reply.status === 503) expect([reply.headers["retry-after"], reply.text]).toEqual(["1", expect.stringContaining("GATEWAY_MAX_HELD_BODY_BYTES")])
    else expect([reply.status, Number.parseInt((JSON.parse(reply.text) as { text: string }).text)]).toEqual([200, expect.any(Number)])
  }))
  // Those that were not refused are held at the same time.
  await eventually(() => Promise.resolve(sink.arrived() + ended()), (count) => count === UPLOADS, "every upload at the upstream or refused", 120_000)
  expect(await metric("gateway_held_body_bytes")).toBeLessThanOrEqual(await metric("gateway_held_body_bytes_max"))
  sink.speak()
  await uploads
  console.log(`${JSON.stringify(seen)}, peak of resident memory ${(gateway.memory().peak / MB).toFixed(0)} MB`)
  expect(seen["200"]).toBeGreaterThan(0)
  expect(Object.keys(seen).filter((name) => !["200", "503", "closed"].includes(name))).toEqual([])
  // Each of them is held twice while it is sent on: without a bound that is 4 GB.
  expect(gateway.memory().peak).toBeLessThan(2_000 * MB)
  await eventually(() => metric("gateway_held_body_bytes"), (bytes) => bytes === 0, "all forms were let go")
  const after = await upload(body)
  expect([after?.status, gateway.pid()]).toEqual([200, pid])
  expect(gateway.output()).not.toContain("failed unexpectedly")
  expect(await gateway.operator.reconciliation()).toMatchObject({ gap: 0 })
}, 240_000)
