import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, framesOf } from "#test/support/lab.ts"
import { startWorld, type World } from "./support.ts"

const GRACE_MS = 2_000

let world: World
beforeAll(async () => {
  world = await startWorld({ environment: { SHUTDOWN_TIMEOUT_MS: String(GRACE_MS) } })
})
afterAll(() => world.close())

describe("bounded drain", () => {
  it("SIGTERM under load: new work is refused, what can finish is whole, the rest ends with one error frame and a row, exit code 0", async () => {
    const { gateway, sim } = world
    await sim.rule({ match: { model: "short-*" }, script: { tokens: 40, paceMs: 15 } })
    await sim.rule({ match: { model: "long-*" }, script: { tokens: 100_000, paceMs: 15 } })
    await sim.rule({ match: { model: "whole-*" }, script: { neverHead: true } })
    const open = (name: string) => Promise.all(Array.from({ length: 8 }, (_, index) => Http.stream(gateway.url, world.call({ model: `${name}-${index}`, stream: true }))))
    const long = await open("long")
    const waiting = Promise.all(Array.from({ length: 3 }, (_, index) => Http.send(gateway.url, world.call({ model: `whole-${index}` }))))
    const short = await open("short")
    await Promise.all([...long, ...short].map((stream) => stream.until((text) => text.includes("data:"))))
    for (let index = 0; index < 3; index++) await sim.ended({ model: `whole-${index}`, outcome: "open" })

    const from = performance.now()
    const exited = gateway.stop()
    // The first request that is refused: from then on nothing new is taken.
    const refusals: Array<string> = []
    const isRefused = async (): Promise<boolean> => {
      const reply = await Http.send(gateway.url, world.call({ model: "echo" })).catch((error: NodeJS.ErrnoException) => error.code ?? "failed")
      if (typeof reply === "string") {
        refusals.push(reply)
        return true
      }
      if (reply.status === 503) {
        refusals.push(String(errorIn(reply)["code"]))
        expect(reply.headers["retry-after"]).toBe("1")
        return true
      }
      return false
    }
    while (!await isRefused()) expect(performance.now() - from).toBeLessThan(GRACE_MS)
    const ping = await Http.send(gateway.url, { path: "/api/health/ping" }).then((reply) => reply.status, () => 0)
    expect([0, 503]).toContain(ping)
    for (let i = 0; i < 5; i++) expect(await isRefused()).toBe(true)
    expect(refusals.every((one) => ["starting", "shutting_down", "ECONNREFUSED", "ECONNRESET"].includes(one))).toBe(true)

    for (const stream of short) {
      const { text, whole } = await stream.ended
      expect([whole, Http.payloads(text).at(-1), framesOf(text).filter((frame) => "error" in frame)]).toEqual([true, "[DONE]", []])
    }
    for (const stream of long) {
      const { text, whole } = await stream.ended
      const payloads = Http.payloads(text)
      expect([whole, payloads.at(-1), payloads.filter((data) => data === "[DONE]").length]).toEqual([true, "[DONE]", 1])
      const errors = framesOf(text).filter((frame) => "error" in frame)
      expect(errors).toMatchObject([{ error: { code: "shutting_down", type: "server_error" } }])
      expect(JSON.parse(payloads.at(-2) ?? "{}")).toEqual(errors[0])
    }
    for (const reply of await waiting) expect([reply.status, errorIn(reply)["code"]]).toEqual([503, "shutting_down"])

    expect(await exited).toEqual({ code: 0, signal: null })
    const took = performance.now() - from
    console.log(`drained and exited after ${took.toFixed(0)} ms (grace ${GRACE_MS} ms)`)
    expect(took).toBeLessThan(GRACE_MS + 2_000 + 500)
    expect(gateway.output()).not.toContain("leaving it behind")
    await sim.idle()

    await gateway.start()
    const rows = await gateway.operator.callLogs()
    const outcomes = (name: string) => rows.filter((row) => row.model.startsWith(`${name}-`)).map((row) => [row.outcome, row.error])
    expect(outcomes("short")).toEqual(short.map(() => ["completed", null]))
    expect(outcomes("long")).toEqual(long.map(() => ["policy", "shutting_down"]))
    expect(outcomes("whole")).toEqual([1, 2, 3].map(() => ["policy", "shutting_down"]))
    expect(rows.filter((row) => row.model.startsWith("long-")).every((row) => row.tokensOut > 0 && row.estimated)).toBe(true)
    expect(await gateway.operator.reconciliation()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
  }, 180_000)

  it("SIGTERM at rest ends at once", async () => {
    const from = performance.now()
    expect(await world.gateway.stop()).toEqual({ code: 0, signal: null })
    expect(performance.now() - from).toBeLessThan(GRACE_MS + 2_000)
    await world.gateway.start()
  })
})
