/** What the gateway says on a silent stream: heartbeats, the early head, progress frames. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let bare: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { SSE_HEARTBEAT_INTERVAL_MS: "400", GATEWAY_EARLY_KEEPALIVE_MS: "300" } })
  bare = await startLab({ environment: { SSE_HEARTBEAT_INTERVAL_MS: "400", GATEWAY_EARLY_KEEPALIVE_MS: "0", GATEWAY_SSE_COMMENTS: "off" } })
  for (const { sim } of [lab, bare]) {
    await sim.rule({ match: { model: "slow-pace" }, script: { tokens: 3, paceMs: 1500 } })
    await sim.rule({ match: { model: "slow-head" }, script: { tokens: 2, latencyMs: 1300 } })
    await sim.rule({ match: { model: "slow-error" }, script: { status: 429, latencyMs: 1300, error: { message: "too many" } } })
  }
})
afterAll(async () => {
  await lab.close()
  await bare.close()
})

const keepalive = /^: keepalive \d{4}-\d\d-\d\dT[\d:.]+Z$/m

describe.concurrent("a silent stream", () => {
  it("gets comment lines between its events, and its content is what it was", async () => {
    const reply = await lab.chat({ model: "slow-pace", stream: true })
    expect(reply.text).toMatch(keepalive)
    expect(contentOf(reply.text)).not.toBe("")
    expect(reply.text.trimEnd().endsWith("data: [DONE]")).toBe(true)
  })

  it("an empty delta instead of a comment with GATEWAY_SSE_COMMENTS=off", async () => {
    const reply = await bare.chat({ model: "slow-pace", stream: true })
    expect(reply.text).not.toMatch(/^:/m)
    expect(Http.payloads(reply.text).some((data) => data !== "[DONE]" && JSON.stringify((JSON.parse(data) as { choices: ReadonlyArray<{ delta?: unknown }> }).choices[0]?.delta) === "{}")).toBe(true)
  })

  it("messages clients hear the vendor's ping", async () => {
    const reply = await Http.send(lab.gateway.url, {
      path: "/v1/messages", body: { model: "lab/slow-pace", max_tokens: 50, stream: true, messages: [{ role: "user", content: "Say something." }] }
    })
    expect(reply.text).toMatch(/^event: ping\ndata: \{"type": ?"ping"\}$/m)
    expect(reply.text.match(/"type":"message_stop"/g)?.length).toBe(1)
  })
})

describe.concurrent("a silent upstream", () => {
  it("the head and a heartbeat go ahead of it", async () => {
    const opened = await lab.stream({ model: "slow-head" })
    expect(opened.status).toBe(200)
    const before = await opened.until((text) => text.includes("\n\n"))
    expect(before).toMatch(keepalive)
    expect(before).not.toContain("data:")
    expect(contentOf((await opened.ended).text)).not.toBe("")
  })

  it("an error then comes as a frame, and the row has its status", async () => {
    const reply = await lab.chat({ model: "slow-error", stream: true })
    expect(reply.status).toBe(200)
    expect(reply.text.match(/"error"/g)?.length).toBe(1)
    expect(reply.text.match(/\[DONE\]/g)?.length).toBe(1)
    expect((await lab.rows(reply)).map((row) => row.status)).toEqual([429])
  })

  it("without it an error keeps its status", async () => {
    expect((await bare.chat({ model: "slow-error", stream: true })).status).toBe(429)
  })
})

describe.concurrent("X-Gateway-Progress", () => {
  it("progress frames every two seconds and a last one that is done; the header says enabled", async () => {
    const reply = await lab.chat({ model: "slow-pace", stream: true }, { "x-gateway-progress": "true" })
    expect(reply.headers["x-gateway-progress"]).toBe("enabled")
    const frames = [...reply.text.matchAll(/^event: progress\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data as string) as Record<string, unknown>)
    expect(frames.length).toBeGreaterThan(1)
    expect(frames.at(-1)).toMatchObject({ done: true, tokens_generated: expect.any(Number), elapsed_ms: expect.any(Number) })
    expect(frames.filter((frame) => frame["done"] === true).length).toBe(1)
    expect(Number(frames.at(-1)?.["tokens_generated"])).toBeGreaterThan(2)
  })

  it("nothing of it without the header", async () => {
    const reply = await lab.chat({ model: "tokens-3", stream: true })
    expect(reply.headers["x-gateway-progress"]).toBeUndefined()
    expect(reply.text).not.toContain("event: progress")
  })
})
