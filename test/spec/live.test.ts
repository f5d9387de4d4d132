/** GET /api/live: who may listen, what is told, bounds of clients, and the second port. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { MESSAGES_PER_SECOND } from "#src/features/live/LiveSocket.ts"
import { LiveWatch } from "#src/inference/ports/LiveWatch.ts"
import * as Context from "effect/Context"
import { type Combos, combosOf } from "#test/support/combos.ts"
import { freePort } from "#test/support/freePort.ts"
import { inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { connect, type Frame, refused, type SocketClient } from "#test/support/webSocket.ts"

const path = "/api/live"

let lab: Lab
let combos: Combos
let livePort = 0
let cookie = ""
beforeAll(async () => {
  livePort = await freePort()
  lab = await startLab({ environment: { LIVE_WS_PORT: String(livePort), LIVE_WS_ALLOWED_ORIGINS: "https://dash.example" } })
  combos = combosOf(lab, "lv")
  const login = await Http.send(lab.gateway.url, { path: "/api/auth/login", body: { password: (await import("#test/support/operator.ts")).PASSWORD } })
  cookie = (login.headers["set-cookie"] ?? "").split(";", 1)[0] ?? ""
})
afterAll(() => lab.close())

const listening = async (channels: ReadonlyArray<string> = ["requests", "combo"], url = lab.gateway.url): Promise<SocketClient> => {
  const client = await connect(url, path, { headers: { cookie } })
  expect(await client.next()).toMatchObject({ type: "welcome", version: "1.0.0", sessionId: expect.any(String), serverTime: expect.any(String), channels: ["requests", "combo", "credentials"], backlog: expect.any(Number) })
  client.send({ type: "subscribe", channels })
  client.send({ type: "ping" })
  expect(await client.next()).toEqual({ type: "pong" })
  return client
}
const dataOf = (frame: Frame | undefined): Frame => (frame?.["data"] ?? {}) as Frame
const about = (id: string) => (frame: Frame): boolean => dataOf(frame)["id"] === id

describe("live events", () => {
  it("tell of a request's begin and end, with its tokens", async () => {
    const client = await listening(["requests"])
    const reply = await lab.chat({ model: "lv-plain" })
    const id = reply.headers["x-gateway-request-id"]!
    const frames = (await client.until((frame) => about(id)(frame) && frame["event"] === "request.completed")).filter(about(id))
    expect(frames.map(({ channel, event }) => [channel, event])).toEqual([["requests", "request.started"], ["requests", "request.completed"]])
    expect(dataOf(frames[0])).toMatchObject({ provider: "lab", model: "lab/lv-plain", timestamp: expect.any(String), node: expect.any(String) })
    const [row] = await lab.rows(reply)
    expect(dataOf(frames[1])).toMatchObject({ status: 200, provider: "lab", tokensInput: row!.tokensIn, tokensOutput: row!.tokensOut, latencyMs: expect.any(Number) })
    await client.close()
  })

  it("tell of the progress of a stream while it runs, and of its failure", async () => {
    await lab.sim.rule({ match: { model: "lv-held" }, script: { hangAfter: { frames: 4 } } })
    const client = await listening(["requests"])
    const opened = await lab.stream({ model: "lv-held" })
    const id = opened.headers["x-gateway-request-id"]!
    const streaming = (await client.until((frame) => about(id)(frame) && frame["event"] === "request.streaming")).at(-1)
    expect(dataOf(streaming)).toMatchObject({ tokensGenerated: expect.any(Number), elapsedMs: expect.any(Number) })
    opened.leave()
    const failed = (await client.until((frame) => about(id)(frame) && frame["event"] === "request.failed")).at(-1)
    expect(dataOf(failed)).toMatchObject({ error: "client_closed_request", statusCode: 499 })
    await client.close()
  })

  it("tell of each target that a combo tries", async () => {
    const [broken, sound] = [await combos.place({ status: 500 }), await combos.place()]
    const model = await combos.combo("priority", [broken.model, sound.model])
    const client = await listening(["combo"])
    const reply = await lab.chat({ model })
    expect(reply.status).toBe(200)
    const frames = await client.until(({ event }) => event === "combo.target.succeeded")
    const seen = frames.map((frame) => [frame["event"], dataOf(frame)["model"], dataOf(frame)["targetIndex"]])
    expect(seen).toContainEqual(["combo.target.failed", broken.upstream, 0])
    expect(seen.at(-1)).toEqual(["combo.target.succeeded", sound.upstream, 1])
    expect(seen.filter(([event]) => event === "combo.target.attempt").length).toBeGreaterThanOrEqual(2)
    expect(dataOf(frames[0])).toMatchObject({ strategy: "priority" })
    await client.close()
  })

  it("tell of a credential whose provider refuses it", async () => {
    const { operator } = lab.gateway
    const connectionId = await operator.createConnection({ provider: await operator.createNode({ prefix: "sick", baseUrl: `${lab.sim.url}/v1` }), apiKey: "canary_sick" })
    await lab.sim.rule({ match: { model: "lv-sick" }, script: { status: 401 } })
    const client = await listening(["credentials"])
    await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "sick/lv-sick", messages: [{ role: "user", content: "x" }] } })
    const frame = (await client.until(({ event }) => event === "credential.health.changed")).at(-1)
    expect(frame?.["channel"]).toBe("credentials")
    expect(dataOf(frame)).toMatchObject({ connectionId, provider: "sick", oldStatus: expect.any(String), newStatus: "error", timestamp: expect.any(String) })
    await client.close()
  })

  it("show a new listener what was told before, and only the channels that it asked for", async () => {
    const first = await listening(["requests"])
    const reply = await lab.chat({ model: "lv-backlog" })
    const id = reply.headers["x-gateway-request-id"]!
    await first.until((frame) => about(id)(frame) && frame["event"] === "request.completed")
    const second = await connect(lab.gateway.url, path, { headers: { cookie } })
    const welcome = await second.next()
    expect((welcome["data"] as ReadonlyArray<Frame>).filter(about(id)).map(({ event }) => event)).toEqual(["request.started", "request.completed"])
    second.send({ type: "subscribe", channels: ["requests"] })
    second.send({ type: "unsubscribe", channels: ["requests"] })
    second.send({ type: "ping" })
    await second.next()
    const next = await lab.chat({ model: "lv-unheard" })
    await first.until((frame) => about(next.headers["x-gateway-request-id"]!)(frame) && frame["event"] === "request.completed")
    second.send({ type: "ping" })
    expect(await second.next()).toEqual({ type: "pong" })
    await first.close()
    await second.close()
  })

  it("watch no request while nothing listens", async () => {
    const { running, watch } = Context.get(lab.gateway.services(), LiveWatch)
    const began: Array<string> = []
    const client = await listening()
    await client.close()
    await lab.chat({ model: "lv-quiet" })
    expect([...running()]).toEqual([])
    watch({ began: ({ inbound }) => void began.push(inbound.requestedModel), attempted: () => undefined, ended: () => undefined })
    await lab.chat({ model: "lv-watched" })
    watch(null)
    expect(began).toEqual(["lab/lv-watched"])
  })

  it.each<[string, unknown, string]>([
    ["no JSON", "{", "PARSE_ERROR"], ["bytes", Buffer.from([1]), "PARSE_ERROR"], ["an unknown type", { type: "hello" }, "UNKNOWN_TYPE"],
    ["an unknown channel", { type: "subscribe", channels: ["secrets"] }, "UNKNOWN_CHANNEL"], ["no channels", { type: "subscribe" }, "UNKNOWN_CHANNEL"]
  ])("answer %s with an error, and stay", async (_name, message, code) => {
    const client = await listening([])
    client.send(message)
    expect(await client.next()).toMatchObject({ type: "error", code, message: expect.any(String) })
    client.send({ type: "ping" })
    expect(await client.next()).toEqual({ type: "pong" })
    await client.close()
  })

  it("read a bounded number of messages a second", async () => {
    const client = await listening([])
    for (let n = 0; n < 3 * MESSAGES_PER_SECOND; n++) client.send({ type: "ping" })
    const frames = await client.until(({ type }) => type === "error")
    expect(frames.at(-1)).toMatchObject({ code: "RATE_LIMITED" })
    expect(frames.length).toBeLessThanOrEqual(MESSAGES_PER_SECOND + 1)
    await client.close()
  })
})

describe("who may listen to live events", () => {
  const endOf = async (options: Parameters<typeof connect>[2], url = lab.gateway.url) => (await connect(url, path, options)).ended

  it("is a session, an access token or a key that manages; others are closed with 4001", async () => {
    const { token } = await lab.gateway.operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: "live", scope: "read" })
    const managing = await lab.gateway.operator.createKey("manages", { scopes: ["manage"] })
    for (const headers of [{ cookie }, { authorization: `Bearer ${token}` }, { "x-live-ws-token": token }, { authorization: `Bearer ${managing.key}` }]) {
      const client = await connect(lab.gateway.url, path, { headers: headers as Record<string, string> })
      expect(await client.next()).toMatchObject({ type: "welcome" })
      await client.close()
    }
    const plain = await lab.gateway.operator.createKey("plain")
    for (const headers of [{}, { cookie: "auth_token=wrong" }, { authorization: "Bearer wrong" }, { authorization: `Bearer ${plain.key}` }]) {
      expect(await endOf({ headers: headers as Record<string, string> })).toEqual({ code: 4001, reason: "UNAUTHORIZED" })
    }
  })

  it("is no page of another origin (4003), unless the operator listed it", async () => {
    expect(await endOf({ headers: { cookie }, origin: "https://evil.example" })).toEqual({ code: 4003, reason: "FORBIDDEN_ORIGIN" })
    for (const origin of [lab.gateway.url, "https://dash.example"]) {
      const client = await connect(lab.gateway.url, path, { headers: { cookie }, origin })
      expect(await client.next()).toMatchObject({ type: "welcome" })
      await client.close()
    }
  })

  it("is asked of a plain GET, too, which is then told to upgrade", async () => {
    expect((await Http.send(lab.gateway.url, { path })).status).toBe(401)
    const known = await Http.send(lab.gateway.url, { path, headers: { cookie } })
    expect([known.status, JSON.parse(known.text)]).toEqual([426, expect.objectContaining({ error: expect.objectContaining({ code: "upgrade_required" }) })])
  })

  it("may come to the second port, which serves nothing else", async () => {
    const url = `http://127.0.0.1:${livePort}`
    const client = await listening([], url)
    await client.close()
    expect(await endOf({}, url)).toEqual({ code: 4001, reason: "UNAUTHORIZED" })
    expect((await Http.send(url, { path: "/v1/models" })).status).toBe(404)
    expect((await refused(url, path, { headers: { host: "evil.example" } })).status).toBe(421)
  })

  it("is told in the log when the second port is taken, with the variable that moves it", async () => {
    const second = await inProcess({ environment: { LIVE_WS_PORT: String(livePort) } })
    try {
      expect(second.output()).toContain(`Live events are on the port of the API only: port ${livePort} of 127.0.0.1 is in use. Set LIVE_WS_PORT to a free port, or to 0 for none.`)
    } finally {
      await second.close()
    }
  })
})
