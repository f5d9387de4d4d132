import { gunzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import type { Script } from "#src/simulator/Simulator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { chat, eventsOf, raw, textOf, wholeFrames } from "./rawClient.ts"

let sim: Sim
beforeAll(async () => {
  sim = await startSim()
})
afterAll(() => sim.stop())
afterEach(() => sim.reset())

const script = (fields: Script) => sim.rule({ script: fields })
const last = async () => (await sim.ended())[0]!

test("a reset after n frames arrives as RST with exactly n frames before it", async () => {
  for (const frames of [0, 1, 5]) {
    await sim.reset()
    await script({ tokens: 20, resetAfter: { frames } })
    const reply = await raw(sim.port, chat("echo"))
    expect(reply.ended).toBe("reset")
    expect(wholeFrames(reply.body)).toBe(frames)
    const entry = await last()
    expect(entry).toMatchObject({ outcome: "reset-by-script", framesSent: frames, bytesSent: reply.body.length, status: 200 })
    expect(entry.tokensSent).toBe(Math.max(0, frames - 1))
  }
})

test("a fault after n bytes cuts at that byte, also inside a frame", async () => {
  for (const bytes of [1, 100, 1000]) {
    await sim.reset()
    await script({ tokens: 20, resetAfter: { bytes } })
    const reply = await raw(sim.port, chat("echo"))
    expect(reply.ended).toBe("reset")
    expect(reply.body.length).toBe(bytes)
    expect(await last()).toMatchObject({ bytesSent: bytes, framesSent: wholeFrames(reply.body) })
  }
})

test("every byte of the first frames can be the last one", async () => {
  await script({ tokens: 2 })
  const plain = await raw(sim.port, chat("echo"))
  const frame = plain.body.indexOf("\n\n") + 2
  for (let bytes = frame - 3; bytes <= frame + 3; bytes++) {
    await sim.reset()
    await script({ tokens: 2, endAfter: { bytes } })
    expect((await raw(sim.port, chat("echo"))).body.length).toBe(bytes)
    expect(await last()).toMatchObject({ bytesSent: bytes, framesSent: bytes >= frame ? 1 : 0 })
  }
})

test("paced streams are cut at the same frame as streams in a burst", async () => {
  await script({ tokens: 20, paceMs: 1, resetAfter: { frames: 4 } })
  const reply = await raw(sim.port, chat("echo"))
  expect([reply.ended, wholeFrames(reply.body)]).toEqual(["reset", 4])
})

test("a reset before the head gives no byte at all", async () => {
  await script({ resetAfter: "request" })
  expect(await raw(sim.port, chat("echo"))).toMatchObject({ ended: "reset", status: null })
  expect(await last()).toMatchObject({ outcome: "reset-by-script", status: null, bytesSent: 0 })
})

test("a reset after the head gives the head alone", async () => {
  await script({ resetAfter: "head" })
  expect(await raw(sim.port, chat("echo"))).toMatchObject({ ended: "reset", status: 200, chunks: [] })
})

test("close sends FIN without the last chunk", async () => {
  await script({ tokens: 20, closeAfter: { frames: 3 } })
  const reply = await raw(sim.port, chat("echo"))
  expect(reply).toMatchObject({ ended: "fin", whole: false })
  expect(wholeFrames(reply.body)).toBe(3)
  expect(await last()).toMatchObject({ outcome: "closed-by-script", framesSent: 3 })
})

test("end finishes the HTTP body properly, without a terminal event", async () => {
  await script({ tokens: 20, endAfter: { frames: 3 } })
  const reply = await raw(sim.port, chat("echo"))
  expect(reply).toMatchObject({ ended: "fin", whole: true })
  expect(eventsOf(reply.body)).not.toContain("[DONE]")
  expect(await last()).toMatchObject({ outcome: "ended-by-script", framesSent: 3 })
})

test("hang is silent until the client leaves, and the log knows that it left", async () => {
  await script({ tokens: 20, hangAfter: { frames: 2 } })
  const reply = await raw(sim.port, chat("echo"), {
    leaveWhen: () => sim.ended({ outcome: "open" })
  })
  expect(reply.ended).toBe("ours")
  const entry = await last()
  expect(entry).toMatchObject({ outcome: "client-aborted", framesSent: 2 })
  expect(entry.abortedAt).toBeGreaterThanOrEqual(entry.lastFrameAt!)
})

test("neverHead sends nothing", async () => {
  await script({ neverHead: true })
  const reply = await raw(sim.port, chat("echo"), { leaveWhen: () => sim.ended({ outcome: "open" }) })
  expect(reply.status).toBeNull()
  expect(await last()).toMatchObject({ outcome: "client-aborted", status: null })
})

test("keepalive comments fill the silence before the first token", async () => {
  await script({ text: "x", ttftMs: 40, keepaliveMs: 5 })
  const reply = await raw(sim.port, chat("echo"))
  expect(reply.body.toString()).toMatch(/^: keepalive\n\n/)
  expect(textOf(reply.body)).toBe("x")
})

test("a non-streamed body is cut at its byte too", async () => {
  await script({ tokens: 50, closeAfter: { bytes: 30 } })
  const reply = await raw(sim.port, chat("echo", { stream: false }))
  expect(reply).toMatchObject({ ended: "fin", whole: false, status: 200 })
  expect(reply.body.length).toBe(30)
})

test("malformed frames stand where the script says", async () => {
  const frameAt = async (malformed: NonNullable<Script["malformed"]>[number]) => {
    await sim.reset()
    await script({ tokens: 5, malformed: [malformed] })
    const reply = await raw(sim.port, chat("echo"))
    return { reply, frame: reply.body.toString().split("\n\n")[malformed.at]! }
  }
  const bad = await frameAt({ kind: "bad-json", at: 2 })
  expect(bad.frame.startsWith("data: {")).toBe(true)
  expect(() => JSON.parse(bad.frame.slice(6)) as unknown).toThrow()
  expect((await frameAt({ kind: "bare-cr", at: 1 })).frame).toMatch(/^data: [^\r]+\r[^\r]+$/)
  expect((await frameAt({ kind: "wrong-field", at: 1 })).frame).toMatch(/^dada: \{/)
  const huge = await frameAt({ kind: "huge", at: 1, bytes: 300_000, replace: true })
  expect(huge.frame.length).toBeGreaterThan(300_000)
  expect(JSON.parse(huge.frame.slice(6))).toHaveProperty("choices")
  expect((await frameAt({ kind: "raw", at: 1, raw: "nonsense\n\n" })).frame).toBe("nonsense")
  const error = await frameAt({ kind: "error", at: 3 })
  expect(JSON.parse(error.frame.slice(6))).toMatchObject({ error: { type: "server_error" } })
  expect(eventsOf(error.reply.body)).not.toContain("[DONE]")
  expect(error.reply.whole).toBe(true)
})

test("bad-chunk breaks the transfer coding in the middle of the body", async () => {
  await script({ tokens: 5, malformed: [{ kind: "bad-chunk", at: 2 }] })
  const reply = await raw(sim.port, chat("echo"))
  expect(reply.garbage).toBe(true)
  expect(wholeFrames(reply.body)).toBe(2)
})

test("html, a wrong content type, gzip and a fixed body are sent as told", async () => {
  await script({ html: true })
  expect(await raw(sim.port, chat("echo"))).toMatchObject({ status: 200, headers: { "content-type": "text/html; charset=utf-8" } })
  await sim.reset()
  await script({ contentType: "application/json" })
  expect((await raw(sim.port, chat("echo"))).headers["content-type"]).toBe("application/json")
  await sim.reset()
  await script({ gzip: true })
  const zipped = await raw(sim.port, chat("echo"))
  expect(zipped.headers["content-encoding"]).toBe("gzip")
  expect(textOf(gunzipSync(zipped.body))).toBe("hello brave new world")
  await sim.reset()
  await script({ status: 418, body: { any: 1 }, headers: { "X-Own": "yes" }, retryAfter: 7 })
  const fixed = await raw(sim.port, chat("echo"))
  expect(fixed).toMatchObject({ status: 418, headers: { "x-own": "yes", "retry-after": "7" } })
  expect(JSON.parse(fixed.body.toString())).toEqual({ any: 1 })
})

test("a body without length or chunks is ended by the connection, for HTTP/1.0 clients always", async () => {
  await script({ transfer: "close" })
  const reply = await raw(sim.port, chat("echo"))
  expect(reply.headers["transfer-encoding"]).toBeUndefined()
  expect(textOf(reply.body)).toBe("hello brave new world")
  await sim.reset()
  const old = await raw(sim.port, chat("echo"), { version: "1.0" })
  expect(old.headers["transfer-encoding"]).toBeUndefined()
  expect(textOf(old.body)).toBe("hello brave new world")
})
