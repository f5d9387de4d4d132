/** GET /v1/ws: handshake, requests and answers in frames, limits, refusals, and the same accounting as over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { MOST_REQUESTS } from "#src/inference/sockets/RequestSocket.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { connect, type Frame, refused, type SocketClient } from "#test/support/webSocket.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const path = "/v1/ws"
const open = (headers: Readonly<Record<string, string>> = {}): Promise<SocketClient> => connect(lab.gateway.url, path, { headers })
const chat = (model: string, more: Frame = {}): Frame => ({ model: `lab/${model}`, messages, ...more })
const request = (id: string, payload: Frame): Frame => ({ type: "request", id, payload })
const isLast = ({ type }: Frame): boolean => type === "response.done" || type === "response.error"
const headersOf = (frame: Frame | undefined) => ({ headers: frame?.["headers"] as Readonly<Record<string, string>> })

describe("the handshake of /v1/ws", () => {
  it("is described by a plain GET with ?handshake=1", async () => {
    const reply = await Http.send(lab.gateway.url, { path: `${path}?handshake=1` })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, {
      ok: true, path, wsAuth: false, authenticated: false, authType: "none",
      protocol: { request: expect.objectContaining({ type: "request" }), cancel: { type: "cancel", id: expect.any(String) } }
    }])
    const { key } = await lab.gateway.operator.createKey("socket")
    const known = await Http.send(lab.gateway.url, { path: `${path}?handshake=1`, headers: { authorization: `Bearer ${key}` } })
    expect(JSON.parse(known.text)).toMatchObject({ authenticated: true, authType: "api_key" })
  })

  it("is asked for with 426 by a plain GET", async () => {
    const reply = await Http.send(lab.gateway.url, { path })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([426, { error: expect.objectContaining({ code: "upgrade_required", protocol: expect.anything() }) }])
  })

  it.each([path, "/v1/responses", "/responses", "/api/v1/responses"])("that is not complete is 400 bad_websocket_handshake at %s", async (at) => {
    const whole = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" }
    const { "sec-websocket-key": _, ...keyless } = whole
    const { "sec-websocket-version": __, ...versionless } = whole
    for (const headers of [keyless, versionless, { ...whole, "sec-websocket-key": "short" }, { ...whole, "sec-websocket-version": "8" }, { ...whole, upgrade: "WebSocket", "sec-websocket-version": "99" }]) {
      const reply = await Http.send(lab.gateway.url, { path: at, headers })
      expect([headers, reply.status, reply.headers["sec-websocket-version"], JSON.parse(reply.text)]).toEqual([
        headers, 400, "13", { error: { message: expect.any(String) as unknown, type: "invalid_request_error", code: "bad_websocket_handshake" } }
      ])
    }
    // An upgrade to something else is none of ours: the request is served as it is.
    expect((await Http.send(lab.gateway.url, { path: at, headers: { connection: "Upgrade", upgrade: "h2c" } })).status).toBe(426)
  })

  it("refuses a wrong key with 403, a missing one with 401 where wsAuth asks for it, and a page of another origin", async () => {
    expect(await refused(lab.gateway.url, path, { headers: { authorization: "Bearer wrong" } })).toMatchObject({ status: 403, body: { error: { code: "ws_auth_invalid" } } })
    expect(await refused(lab.gateway.url, path, { origin: "http://evil.example" })).toMatchObject({ status: 403, body: { error: { code: "origin_not_allowed" } } })
    await lab.gateway.operator.call("PATCH", "/api/settings", { wsAuth: true })
    try {
      expect(await refused(lab.gateway.url, path)).toMatchObject({ status: 401, body: { error: { code: "ws_auth_required" } } })
      const { key } = await lab.gateway.operator.createKey("in the query")
      const client = await connect(lab.gateway.url, `${path}?api_key=${key}`)
      await client.close()
    } finally {
      await lab.gateway.operator.call("PATCH", "/api/settings", { wsAuth: false })
    }
  })
})

describe("a request in a frame", () => {
  it("streams its events as chunks, and has the row of an HTTP request", async () => {
    const client = await open()
    client.send(request("a", chat("ws-stream", { stream: true, stream_options: { include_usage: true } })))
    const frames = await client.until(isLast)
    const http = Http.payloads((await lab.stream({ model: "ws-stream", stream_options: { include_usage: true } }).then((opened) => opened.ended)).text).filter((data) => data !== "[DONE]")
    const chunks = frames.slice(1, -1)
    expect(frames[0]).toMatchObject({ type: "response.start", id: "a", status: 200, headers: { "x-gateway-provider": "lab" } })
    expect(chunks.every(({ id, type }) => id === "a" && type === "response.chunk")).toBe(true)
    const words = (all: ReadonlyArray<unknown>) => all.map((data) => (data as { choices: ReadonlyArray<{ delta: unknown }> }).choices[0]?.delta)
    expect(words(chunks.map(({ data }) => data))).toEqual(words(http.map((text) => JSON.parse(text) as unknown)))
    expect(frames.at(-1)).toMatchObject({ type: "response.done", id: "a", usage: { total_tokens: expect.any(Number) } })
    expect(await lab.rows(headersOf(frames[0]))).toMatchObject([{ endpoint: "/v1/chat/completions", outcome: "completed", stream: true, final: true }])
    await client.close()
  })

  it("without a stream is one chunk with the whole body", async () => {
    const client = await open()
    client.send(request("b", chat("ws-whole")))
    const [start, chunk, done] = await client.until(isLast)
    expect([start, chunk, done]).toMatchObject([
      { type: "response.start", status: 200 }, { type: "response.chunk", data: { object: "chat.completion" } }, { type: "response.done", usage: { total_tokens: expect.any(Number) } }
    ])
    await client.close()
  })

  it("runs beside others, each with its own id and request id", async () => {
    await lab.sim.rule({ match: { model: "ws-held" }, script: { hangAfter: { frames: 1 } } })
    const client = await open()
    client.send(request("slow", chat("ws-held", { stream: true })))
    await client.until(({ type }) => type === "response.chunk")
    const ids = ["1", "2", "3"]
    for (const id of ids) client.send(request(id, chat("ws-many")))
    const seen: Array<Frame> = []
    for (const _ of ids) seen.push(...await client.until(({ type }) => type === "response.done"))
    const starts = seen.filter(({ type }) => type === "response.start")
    expect(starts.map(({ id }) => id).sort()).toEqual(ids)
    expect(new Set(starts.map((start) => headersOf(start).headers["x-gateway-request-id"])).size).toBe(3)
    client.send({ type: "cancel", id: "slow" })
    await client.until(isLast)
    await client.close()
  })

  it("is cancelled by its id, and by the end of its socket", async () => {
    await lab.sim.rule({ match: { model: "ws-left" }, script: { hangAfter: { frames: 2 } } })
    const client = await open()
    for (const id of ["first", "second"]) {
      client.send(request(id, chat("ws-left", { stream: true })))
      await client.until(({ type }) => type === "response.chunk")
    }
    client.send({ type: "cancel", id: "first" })
    expect((await client.until(({ type }) => type === "response.error")).at(-1)).toMatchObject({ id: "first", status: 499, error: { code: "cancelled" } })
    await client.close()
    const entries = await eventually(() => lab.sim.entries({ model: "ws-left" }), (all) => all.length === 2 && all.every(({ outcome }) => outcome === "client-aborted"), "the end of both calls")
    expect(entries).toHaveLength(2)
  })

  it("that fails says so with its status, and one that breaks off ends with an error", async () => {
    const client = await open()
    client.send(request("c", { model: "nowhere/none", messages }))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.error", id: "c", status: 404, error: { code: "model_not_found", message: expect.any(String) } })
    await lab.sim.rule({ match: { model: "ws-broken" }, script: { resetAfter: { frames: 2 } } })
    client.send(request("d", chat("ws-broken", { stream: true })))
    const frames = await client.until(isLast)
    expect(frames.at(-1)).toMatchObject({ type: "response.error", id: "d", status: expect.any(Number), error: { message: expect.any(String) } })
    expect(await lab.rows(headersOf(frames[0]))).toMatchObject([{ outcome: "upstream-reset" }])
    client.send(request("e", chat("ws-after")))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.done", id: "e" })
    await client.close()
  })

  it.each<[string, unknown, Frame]>([
    ["no JSON", "{nonsense", { id: null, error: { code: "invalid_json" } }],
    ["bytes", Buffer.from("{}"), { id: null, error: { code: "invalid_json" } }],
    ["a list", "[]", { id: null, error: { code: "invalid_json" } }],
    ["an unknown type", { type: "ask", id: "x" }, { id: "x", error: { code: "unsupported_type" } }],
    ["no id", { type: "request", payload: {} }, { id: null, error: { code: "invalid_id" } }],
    ["an empty id", { type: "request", id: "", payload: {} }, { id: null, error: { code: "invalid_id" } }],
    ["no payload", { type: "request", id: "x" }, { id: "x", error: { code: "invalid_payload" } }],
    ["a payload that is no object", { type: "request", id: "x", payload: 7 }, { id: "x", status: 400 }],
    ["a payload without a model", { type: "request", id: "x", payload: { messages } }, { id: "x", status: 400 }],
    ["a cancel of nothing", { type: "cancel", id: "x" }, { id: "x", error: { code: "unknown_id" } }]
  ])("of %s is answered and the socket stays", async (_name, frame, expected) => {
    const client = await open()
    client.send(frame)
    expect(await client.next()).toMatchObject({ type: "response.error", ...expected })
    client.send(request("still", chat("ws-still")))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.done", id: "still" })
    await client.close()
  })

  it("with an id in flight, or beyond the requests of a socket, is refused", async () => {
    await lab.sim.rule({ match: { model: "ws-full" }, script: { hangAfter: { frames: 1 } } })
    const client = await open()
    for (let n = 0; n < MOST_REQUESTS; n++) client.send(request(String(n), chat("ws-full", { stream: true })))
    client.send(request("0", chat("ws-full")))
    client.send(request("more", chat("ws-full")))
    const errors = [await client.until(({ type }) => type === "response.error"), await client.until(({ type }) => type === "response.error")].map((frames) => frames.at(-1))
    expect(errors).toMatchObject([{ id: "0", error: { code: "duplicate_id" } }, { id: "more", status: 429, error: { code: "too_many_requests" } }])
    await client.close()
  })

  it("longer than a request may be is 413, and a frame beyond 16 MiB ends the socket with 1009", async () => {
    const client = await open()
    client.send(request("big", { ...chat("ws-big"), pad: "x".repeat(11 * 1024 * 1024) }))
    expect(await client.next()).toMatchObject({ type: "response.error", id: "big", status: 413, error: { code: "payload_too_large" } })
    client.send(request("huge", { ...chat("ws-big"), pad: "x".repeat(17 * 1024 * 1024) }))
    expect(await client.ended).toEqual({ code: 1009, reason: "message_too_large" })
  })

  it("is refused when its key was revoked after the handshake", async () => {
    const { id, key } = await lab.gateway.operator.createKey("soon gone")
    const client = await open({ authorization: `Bearer ${key}` })
    client.send(request("before", chat("ws-key")))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.done" })
    await lab.gateway.operator.call("DELETE", `/api/keys/${id}`)
    client.send(request("after", chat("ws-key")))
    expect(await client.next()).toMatchObject({ type: "response.error", id: "after", status: 401 })
    await client.close()
  })

  it("with a managed lease key cannot be fenced, so that its handshake is refused", async () => {
    const { key } = await lab.gateway.operator.createKey("leased", { scopes: ["lease:exclusive"], allowedConnections: [lab.connection] })
    expect(await refused(lab.gateway.url, path, { headers: { authorization: `Bearer ${key}` } })).toMatchObject({ status: 400, body: { error: { code: "LEASE_UNSUPPORTED_TRANSPORT" } } })
  })
})
