/** Media that items of POST /v1/embeddings name by URL: fetched from public HTTPS addresses alone, and sent inline. */
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { cert, key } from "#test/upstream/support/selfSigned.ts"

let lab: Lab
let server: https.Server
let origin: string
/** Addresses of names, as the gateway asked for them. */
const asked: Array<string> = []
const paths: Array<string> = []
/** The name leads inside when it is asked for again. */
let once = false
let addresses: ReadonlyArray<string> = ["93.184.215.14"]
const bytes = Buffer.from("the bytes of a picture")
/** Fetches of the medium that never ends: begun, and ended by the gateway. */
let opened = 0
const closed: Array<string> = []

const replies: Readonly<Record<string, (response: import("node:http").ServerResponse) => void>> = {
  "/picture.png": (response) => response.writeHead(200, { "content-type": "image/png; charset=binary" }).end(bytes),
  "/page": (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
  "/missing.png": (response) => response.writeHead(404).end(),
  "/announced.png": (response) => response.writeHead(200, { "content-type": "image/png", "content-length": String(9 * 1024 * 1024) }).write("x"),
  "/endless.png": (response) => {
    response.writeHead(200, { "content-type": "image/png" })
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) continue
    }
    response.on("drain", more)
    more()
  },
  "/silent.png": (response) => {
    opened++
    response.on("close", () => closed.push(response.req.url ?? ""))
    response.writeHead(200, { "content-type": "image/png" }).write("x")
  },
  "/moved.png": (response) => response.writeHead(302, { location: "/picture.png" }).end(),
  "/loopback.png": (response) => response.writeHead(302, { location: origin.replace("upstream.test", "127.0.0.1") + "/picture.png" }).end(),
  "/plain.png": (response) => response.writeHead(302, { location: "http://upstream.test/picture.png" }).end(),
  "/circle.png": (response) => response.writeHead(302, { location: "/circle.png" }).end()
}

beforeAll(async () => {
  server = https.createServer({ cert, key }, (request, response) => {
    paths.push(request.url ?? "")
    const reply = replies[request.url ?? ""]
    if (reply === undefined) response.writeHead(500).end()
    else reply(response)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  origin = `https://upstream.test:${(server.address() as AddressInfo).port}`
  lab = await startLab({
    network: {
      ca: [cert],
      fetchMs: 1_500,
      resolve: (host, done) => {
        asked.push(host)
        const now = addresses
        if (once) addresses = ["10.0.0.7"]
        if (host === "upstream.test") done(null, now)
        else if (host === "inside.test") done(null, ["93.184.215.14", "10.0.0.7"])
        else done(new Error("unknown"), [])
      },
      // The public address of the test is this machine's.
      route: (address) => address === "93.184.215.14" ? "127.0.0.1" : address
    }
  })
  const { operator } = lab.gateway
  await operator.createConnection({ provider: "jina", apiKey: "jina-media-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  // They open nothing for URLs of clients.
  for (const flag of ["GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS"]) await operator.setFlag(flag, "true")
  await operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "false")
})
afterAll(async () => {
  await lab.close()
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
})

const model = "jina/jina-embeddings-v5-omni-nano"
const upstreamModel = "jina-embeddings-v5-omni-nano"
const embed = (input: ReadonlyArray<unknown>) => Http.send(lab.gateway.url, { path: "/v1/embeddings", body: { model, input } })
const image = (url: string) => ({ type: "image", source: { type: "url", url } })
const at = (path: string): string => `${origin}${path}`
const inputs = async () => (await lab.sim.entries({ model: upstreamModel })).map(({ body }) => (body as { input: unknown }).input)

describe("media by URL", () => {
  it("are fetched, after redirects too, and sent inline", async () => {
    const said = asked.length
    const reply = await embed([image(at("/picture.png")), { type: "text", text: "a" }, image(at("/moved.png"))])
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining(model)])
    const uri = `data:image/png;base64,${bytes.toString("base64")}`
    expect((await inputs()).at(-1)).toEqual([{ image: uri }, { text: "a" }, { image: uri }])
    // Once for each URL: two of the request, one of the redirect.
    expect(asked.length - said).toBe(3)
  })

  it("of a large request are fetched as well", { timeout: 180_000 }, async () => {
    const data = "A".repeat(4 * 1024 * 1024)
    const reply = await embed([image(at("/picture.png")), { type: "image", source: { type: "base64", data, media_type: "image/png" } }])
    expect(reply.status).toBe(200)
    expect((await inputs()).at(-1)).toEqual([{ image: `data:image/png;base64,${bytes.toString("base64")}` }, { image: expect.stringContaining("AAAA") }])
  })

  it("in the vendor's own spelling are checked and passed on, never fetched", async () => {
    const before = paths.length
    expect((await embed([{ image: at("/picture.png") }])).status).toBe(200)
    expect((await inputs()).at(-1)).toEqual([{ image: at("/picture.png") }])
    expect(paths.length).toBe(before)
    const inside = await embed([{ image: "https://inside.test/a.png" }])
    expect([inside.status, errorIn(inside)["param"]]).toEqual([400, "input[0].image"])
  })

  it.each([
    ["a loopback address", () => "https://127.0.0.1/a.png", /127\.0\.0\.1 is refused/],
    ["a private address", () => "https://10.1.2.3/a.png", /10\.1\.2\.3 is refused/],
    ["the metadata service", () => "https://169.254.169.254/latest", /169\.254\.169\.254 is refused/],
    ["a name with a private address among its addresses", () => "https://inside.test/a.png", /inside\.test \(10\.0\.0\.7\) is refused/],
    ["a name that is unknown", () => "https://nowhere.test/a.png", /nowhere\.test cannot be resolved/],
    ["credentials", () => "https://me:secret@upstream.test/a.png", /carries credentials/],
    ["a redirect to loopback", (): string => at("/loopback.png"), /127\.0\.0\.1 is refused/],
    ["a redirect to http", (): string => at("/plain.png"), /the scheme http is refused/],
    ["redirects without end", (): string => at("/circle.png"), /more than 3 redirects/],
    ["another content type", (): string => at("/page"), /its content type is 'text\/html'/],
    ["a medium that is not there", (): string => at("/missing.png"), /answered with status 404/],
    ["a length of more than 8 MiB", (): string => at("/announced.png"), /it has more than 8388608 bytes/],
    ["more than 8 MiB without a length", (): string => at("/endless.png"), /it has more than 8388608 bytes/]
  ] satisfies ReadonlyArray<readonly [string, () => string, RegExp]>)("with %s are refused by the name of the field; nothing is sent or charged", async (_name, url, message) => {
    const before = (await inputs()).length
    const reply = await embed([{ type: "text", text: "a" }, image(url())])
    expect([reply.status, errorIn(reply)]).toEqual([400, { message: expect.stringMatching(message), type: "invalid_request_error", code: "bad_request", param: "input[1].source.url" }])
    expect(reply.text).not.toContain("secret")
    expect((await inputs()).length).toBe(before)
    expect((await lab.rows(reply)).every(({ costUsd }) => (costUsd ?? 0) === 0)).toBe(true)
  })

  it("that do not arrive are given up, and so are those of a client that leaves; nothing is sent", async () => {
    const before = (await inputs()).length
    const late = await embed([image(at("/silent.png"))])
    expect([late.status, errorIn(late)["message"]]).toEqual([400, expect.stringMatching(/did not arrive within 1500 ms/)])
    const { request } = Http.open(lab.gateway.url, { path: "/v1/embeddings", body: { model, input: [image(at("/silent.png"))] } })
    request.on("error", () => undefined)
    await eventually(async () => opened, (count) => count === 2, "the second fetch")
    request.destroy()
    await eventually(async () => closed.length, (count) => count === 2, "the end of both fetches")
    expect((await inputs()).length).toBe(before)
    const rows = await eventually(() => lab.gateway.rows(), (all) => all.length > 0, "rows")
    expect(rows.filter(({ outcome, upstreamStatus }) => outcome === "completed" && upstreamStatus === 0)).toEqual([])
  })

  it("are fetched from the address that was checked: a name is asked for once", async () => {
    addresses = ["93.184.215.14"]
    const said = asked.length
    once = true
    const reply = await embed([image(at("/picture.png"))])
    once = false
    expect([reply.status, asked.length - said]).toEqual([200, 1])
  })
})
