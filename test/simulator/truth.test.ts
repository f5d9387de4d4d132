import { connect } from "node:net"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import type { Point, Script } from "#src/simulator/Simulator.ts"
import { random } from "#src/simulator/text.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { chat, raw, wholeFrames } from "./rawClient.ts"

let sim: Sim
beforeAll(async () => {
  sim = await startSim()
})
afterAll(() => sim.stop())
afterEach(async () => {
  // A failure of the simulator itself is never the reason for an end.
  expect((await sim.summary()).errors).toBe(0)
  await sim.reset()
})

test("what a client that reads to the end got is what the log says was sent", async () => {
  for (const model of ["echo", "tokens-300", "reason-3", "unicode", "bytes"]) {
    await sim.reset()
    const reply = await raw(sim.port, chat(model))
    const [entry] = await sim.ended()
    expect(entry).toMatchObject({ outcome: "completed", bytesSent: reply.body.length, framesSent: wholeFrames(reply.body), status: 200 })
    expect(entry!.tokensSent).toBe(entry!.tokensPlanned)
  }
})

test("for random points of leaving, the log holds an abort and never less than the client got", async () => {
  const next = random(7)
  await sim.rule({ script: { tokens: 400, paceMs: 0.5 } })
  for (let i = 0; i < 40; i++) {
    const leaveAfter = 300 + Math.floor(next() * 60_000)
    const reply = await raw(sim.port, chat("echo", { stream_options: { include_usage: true } }), { leaveAfter })
    const entry = (await sim.ended({}, i + 1)).at(-1)!
    expect(reply.ended).toBe("ours")
    expect(entry.outcome).toBe("client-aborted")
    expect(entry.bytesSent).toBeGreaterThanOrEqual(reply.body.length)
    expect(entry.framesSent).toBeGreaterThanOrEqual(wholeFrames(reply.body))
    // The first frame is the role; every other one sent so far carried one token.
    expect(entry.tokensSent).toBe(entry.framesSent - 1)
    expect(entry.usageSent).toBeNull()
    expect(entry.abortedAt).toBe(entry.endedAt)
  }
  const summary = await sim.summary()
  const entries = await sim.entries()
  expect(summary).toMatchObject({ requests: 40, aborted: 40, completed: 0, open: 0 })
  expect(summary.tokensSent).toBe(entries.reduce((sum, entry) => sum + entry.tokensSent, 0))
})

test("a client that leaves while a whole answer is being made is an abort without tokens", async () => {
  await sim.rule({ script: { tokens: 5, latencyMs: 60_000 } })
  await raw(sim.port, chat("echo", { stream: false }), { leaveWhen: () => sim.ended({ outcome: "open" }) })
  expect((await sim.ended())[0]).toMatchObject({ outcome: "client-aborted", status: null, tokensSent: 0, tokensPlanned: 5 })
})

test("a reader that does not read stops the generator, and gets every byte when it goes on", async () => {
  const tokens = 40_000
  await sim.rule({ script: { tokens, tokenSize: 400 } })
  let stalledAt = 0
  await raw(sim.port, chat("echo"), {
    leaveWhen: async (socket) => {
      await new Promise((ready) => socket.once("data", ready))
      socket.pause()
      // Stalled: the count stands still while the loop of the simulator demonstrably goes round.
      for (let quiet = 0; quiet < 20;) {
        await fetch(`${sim.url}/__sim/health`)
        const sent = (await sim.entries())[0]!.framesSent
        quiet = sent === stalledAt ? quiet + 1 : 0
        stalledAt = sent
      }
      socket.resume()
      await new Promise((end) => socket.once("end", end))
    }
  })
  expect(stalledAt).toBeLessThan(tokens / 2)
  expect((await sim.ended())[0]).toMatchObject({ outcome: "completed", tokensSent: tokens })
})

test("rules: order, times, nth, key, header and glob decide which script is used", async () => {
  const status = async (model: string, headers: Record<string, string> = {}) => (await raw(sim.port, chat(model), { headers })).status
  await sim.rule({ id: "first-two", match: { model: "gpt-*" }, times: 2, script: { status: 503 } })
  await sim.rule({ match: { model: "gpt-*", nth: 4 }, script: { status: 500 } })
  await sim.rule({ match: { model: "gpt-*" }, script: { text: "fine" } })
  const seen = []
  for (let i = 0; i < 5; i++) seen.push(await status("gpt-4o"))
  expect(seen).toEqual([503, 503, 200, 500, 200])
  expect((await sim.entries({ rule: "first-two" })).length).toBe(2)
  await sim.rule({ match: { key: "sk-one" }, script: { status: 402 } })
  await sim.rule({ match: { header: { "x-tenant": "b" } }, script: { status: 418 } })
  expect(await status("echo", { authorization: "Bearer sk-one" })).toBe(402)
  expect(await status("echo", { "x-tenant": "b" })).toBe(418)
  expect(await status("echo")).toBe(200)
})

test("an overlay displaces what it replaces: text over tokens, reset over hang", async () => {
  await sim.rule({ match: { model: "stall-1" }, script: { text: "all of it", resetAfter: { frames: 99 } } })
  expect((await raw(sim.port, chat("stall-1"))).whole).toBe(true)
})

test("a misspelt field of a rule is refused", async () => {
  const rule = { script: { paceMS: 3 } } as unknown as Parameters<Sim["rule"]>[0]
  await expect(sim.rule(rule)).rejects.toThrow(/paceMS/)
})

test("x-sim-script is heeded only where headers are trusted", async () => {
  const headers = { "x-sim-script": JSON.stringify({ status: 418 }) }
  expect((await raw(sim.port, chat("echo"), { headers })).status).toBe(200)
  const trusting = await startSim({ trustHeaders: true })
  expect((await raw(trusting.port, chat("echo"), { headers })).status).toBe(418)
  expect((await raw(trusting.port, chat("echo"), { headers: { "x-sim-script": "{" } })).status).toBe(400)
  await trusting.stop()
})

test("the log is bounded, the totals are exact, and turning the log off keeps the totals", async () => {
  const small = await startSim({ logSize: 3 })
  for (let i = 0; i < 5; i++) await raw(small.port, chat("tokens-2"))
  await small.idle()
  expect((await small.entries()).length).toBe(3)
  expect(await small.summary()).toMatchObject({ requests: 5, completed: 5, tokensSent: 10 })
  await small.stop()
  const off = await startSim({ logSize: 0 })
  await raw(off.port, chat("tokens-2"))
  await off.idle()
  expect(await off.entries()).toEqual([])
  expect(await off.summary()).toMatchObject({ requests: 1, completed: 1, tokensSent: 2 })
  await off.stop()
})

test("a simulator in another process is driven over HTTP", async () => {
  const json = async (path: string, init?: RequestInit) => {
    const reply = await fetch(`${sim.url}/__sim${path}`, init)
    return { status: reply.status, body: await reply.json() as Record<string, unknown> }
  }
  const post = (body: unknown) => json("/rules", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
  const added = await post([{ id: "a", match: { model: "m" }, script: { text: "yes" } }, { script: { status: 500 } }])
  expect(added).toMatchObject({ status: 200, body: { ids: ["a", expect.any(String)] } })
  expect((await post({ script: { nope: 1 } })).status).toBe(400)
  expect((await json("/rules/a", { method: "DELETE" })).status).toBe(200)
  expect((await json("/rules/a", { method: "DELETE" })).status).toBe(404)
  await json("/rules", { method: "DELETE" })
  const waiting = json("/requests?wait=2&model=echo&outcome=completed")
  await raw(sim.port, chat("echo"))
  await raw(sim.port, chat("tokens-1"))
  await raw(sim.port, chat("echo"))
  expect((await waiting).body).toMatchObject({ matched: 2, timedOut: false })
  expect((await json("/requests?model=tokens-1")).body).toMatchObject({ matched: 1 })
  expect((await json("/requests?outcome=nonsense")).status).toBe(400)
  expect((await json("/summary")).body).toMatchObject({ requests: 3, completed: 3 })
  await json("/requests", { method: "DELETE" })
  expect((await json("/requests")).body).toMatchObject({ matched: 0 })
  expect((await json("/health")).body).toMatchObject({ status: "ok" })
})

test("control endpoints are closed when asked, health is not", async () => {
  const closed = await startSim({ control: false })
  expect((await fetch(`${closed.url}/__sim/rules`)).status).toBe(404)
  expect((await fetch(`${closed.url}/__sim/health`)).status).toBe(200)
  await closed.stop()
})

test("a path without a format is answered by a rule, else refused", async () => {
  await sim.rule({ match: { path: "/v1/fine_tuning/alpha" }, script: { body: { data: [] } } })
  const image = await raw(sim.port, { model: "pictures", prompt: "x" }, { path: "/v1/fine_tuning/alpha" })
  expect([image.status, image.body.toString()]).toEqual([200, `{"data":[]}`])
  expect((await sim.ended())[0]).toMatchObject({ model: "pictures", body: { prompt: "x" } })
  expect((await raw(sim.port, {}, { path: "/v1/fine_tuning/jobs" })).status).toBe(404)
})

test("one connection carries many requests, also pipelined ones, and replies keep their order", async () => {
  const request = (model: string): string => {
    const body = JSON.stringify(chat(model))
    return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }
  const models = ["slow-1", "tokens-2@3", "echo", "error-500", "tokens-5"]
  const socket = connect(sim.port, "127.0.0.1")
  socket.write(models.map(request).join(""))
  const got = await new Promise<string>((resolve) => {
    let text = ""
    socket.on("data", (data: Buffer) => {
      text += data.toString()
      if (text.split("[DONE]").length === 5) resolve(text)
    })
  })
  socket.destroy()
  expect([...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map((found) => found[1])).toEqual(["200", "200", "200", "500", "200"])
  const order = [...got.matchAll(/"model":"([^"]+)"/g)].map((found) => found[1])
  expect([...new Set(order)]).toEqual(models.filter((model) => model !== "error-500"))
  expect(await sim.summary()).toMatchObject({ requests: 5, completed: 5, tokensSent: 1 + 2 + 4 + 5 })
})

test("a client that leaves in the middle of its upload is an abort", async () => {
  const socket = connect(sim.port, "127.0.0.1")
  socket.write("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{")
  await sim.ended({ outcome: "open" })
  socket.destroy()
  expect((await sim.ended())[0]).toMatchObject({ outcome: "client-aborted", status: null, model: null })
})

test("for random mixes of faults, cuts and paces, the client gets a prefix of the plain stream and the log says its exact length", async () => {
  const next = random(11)
  const int = (below: number): number => Math.floor(next() * below)
  const pick = <A>(options: ReadonlyArray<A>): A => options[int(options.length)]!
  const plainOf = async (script: Script): Promise<string> => {
    await sim.reset()
    await sim.rule({ script })
    return anonymous((await raw(sim.port, chat("unicode"))).body)
  }
  // Ids and times have a fixed width, so positions stay comparable.
  const anonymous = (body: Buffer): string => body.toString("latin1").replace(/chatcmpl-sim\d+x[0-9a-z]{8}/g, "ID").replace(/"created": ?\d{10}/g, "CREATED")
  for (let round = 0; round < 60; round++) {
    const shape: Script = {
      lineEnding: pick(["LF", "CRLF", "CR"]),
      ...(int(2) === 0 ? { multiLine: true } : {}),
      ...(int(3) === 0 ? { comments: true } : {}),
      ...(int(3) === 0 ? { bom: true } : {})
    }
    const plain = await plainOf(shape)
    const at = pick<Point>([{ frames: int(12) }, { bytes: int(3000) }])
    const fault = pick<Script>([{ resetAfter: at }, { closeAfter: at }, { endAfter: at }, {}])
    const pace = pick<Script>([{}, { paceMs: 0.5 }, { burst: 1 + int(4) }, { paceMs: 1, burst: 2 }])
    const split = pick<Script>([
      {},
      { split: "byte" },
      { split: { every: 1 + int(40) } },
      { split: { random: round, max: 1 + int(60) } },
      { split: { random: round, max: 400, turns: true } }
    ])
    const script = { ...shape, ...fault, ...pace, ...split }
    await sim.reset()
    await sim.rule({ script })
    const reply = await raw(sim.port, chat("unicode"))
    const what = JSON.stringify(script)
    const entry = (await sim.ended())[0]!
    expect(entry.bytesSent, what).toBe(reply.body.length)
    // A cut id or time at the very end is not made anonymous: leave out the last piece of the line.
    const got = anonymous(reply.body)
    const whole = got.length === plain.length
    expect(plain.startsWith(whole ? got : got.slice(0, Math.max(0, got.length - 60))), what).toBe(true)
    expect(whole || entry.outcome !== "completed", what).toBe(true)
    const eol = { LF: "\n", CRLF: "\r\n", CR: "\r" }[script.lineEnding ?? "LF"]
    const comments = script.comments === true ? 2 : 1
    const frames = (reply.body.toString().split(eol + eol).length - 1) / comments
    expect(Math.floor(frames), what).toBe(entry.framesSent)
  }
})

test("a rule's share is an even part of what it matches", async () => {
  await sim.rule({ match: { model: "gpt-*", share: 0.5 }, script: { status: 503 } })
  const statuses: Array<number | null> = []
  for (let i = 0; i < 6; i++) statuses.push((await raw(sim.port, chat("echo", { model: "gpt-x" }))).status)
  expect(statuses).toEqual([404, 503, 404, 503, 404, 503])
})
