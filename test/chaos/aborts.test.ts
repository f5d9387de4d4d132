import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Script } from "#src/simulator/Simulator.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { chance, disagreements, inParallel, quantile, startWorld, watchLoop, type World } from "./support.ts"

/** Guard of a cancellation on a shared machine, beyond its own lateness; the promise is 50 ms. */
const CANCEL_GUARD_MS = 250

let world: World
beforeAll(async () => {
  world = await startWorld({ environment: { GATEWAY_DRAIN_FOR_USAGE_MS: "1500" } })
})
afterAll(() => world.close())

const opened = (model: string) => world.sim.ended({ model, outcome: "open" })

type Leave = "never" | "at once" | "before the head" | "mid stream" | "after the end"

/** Runs one call and leaves it where told; answers when the client left, if it did. */
const play = async (call: Http.Call, model: string, leave: Leave, bytes: number): Promise<number | null> => {
  const { url } = world.gateway
  if (leave === "never") {
    await Http.send(url, call)
    return null
  }
  if (leave === "at once" || leave === "before the head") {
    const { request, response } = Http.open(url, call)
    response.catch(() => undefined)
    if (leave === "before the head") {
      await Promise.race([opened(model), response.catch(() => undefined)])
    } else await new Promise<void>((resolve) => request.once("finish", () => resolve()))
    const at = performance.timeOrigin + performance.now()
    request.destroy()
    return at
  }
  const stream = await Http.stream(url, call)
  if (leave === "mid stream") await stream.until((text) => text.length >= bytes)
  else await stream.ended
  return stream.leave()
}

describe("client aborts", () => {
  it("property: at any moment and under any script, the ledger agrees with what the simulator saw, and nothing is left over", async () => {
    const random = chance()
    const scripts: ReadonlyArray<readonly [string, Script]> = [
      ["paced", { tokens: 30, paceMs: 4 }], ["burst", { tokens: 200, burst: "all" }], ["silent", { neverHead: true }],
      ["late head", { latencyMs: 40, tokens: 5 }], ["late token", { ttftMs: 40, tokens: 5 }], ["stalled", { tokens: 20, hangAfter: { frames: 3 } }],
      ["reset", { tokens: 20, resetAfter: { frames: 3 } }], ["closed", { tokens: 20, closeAfter: { frames: 3 } }],
      ["empty", { endAfter: "head" }], ["busy", { status: 503 }], ["bad", { status: 400 }], ["reset before head", { resetAfter: "request" }]
    ]
    const endless = new Set(["silent", "stalled"])
    const leaves: ReadonlyArray<Leave> = ["never", "at once", "before the head", "mid stream", "after the end"]
    const plays = Array.from({ length: 240 }, (_, index) => {
      const [name, script] = random.one(scripts)
      let leave = random.one(leaves)
      const stream = random.below(4) > 0
      if (endless.has(name) && (leave === "never" || leave === "after the end")) leave = "before the head"
      if (!stream && leave === "mid stream") leave = "before the head"
      return { model: `play-${index}`, name, script, leave: name === "silent" && leave === "mid stream" ? "before the head" as const : leave, stream, bytes: random.below(name === "stalled" ? 300 : 2_000) }
    })
    for (const { model, script } of plays) await world.sim.rule({ match: { model }, script })
    await inParallel(24, plays.map(({ bytes, leave, model, stream }) => () => play(world.call({ model, stream }), model, leave, bytes)))
    await world.sim.idle()
    const { operator } = world.gateway
    await operator.settled()
    const rows = (await operator.callLogs()).filter((row) => row.model.startsWith("play-"))
    const wrong: Array<string> = []
    for (const { leave, model, name } of plays) {
      const found = disagreements(await world.sim.entries({ model }), rows.filter((row) => row.model === model), leave !== "never")
      wrong.push(...found.map((text) => `${model} (${name}, ${leave}): ${text}`))
    }
    expect({ seed: random.seed, wrong }).toEqual({ seed: random.seed, wrong: [] })
    expect(await operator.reconciliation()).toMatchObject({ gap: 0, live: 0, journaled: 0, lastError: null })
    const { activeRequests } = await operator.call<{ activeRequests: ReadonlyArray<unknown> }>("GET", "/api/usage/history")
    expect(activeRequests).toEqual([])
  }, 180_000)

  it("the upstream is cancelled at once when the client leaves: before the head and mid stream", async () => {
    await world.sim.rule({ match: { model: "cancel-head-*" }, script: { neverHead: true } })
    await world.sim.rule({ match: { model: "cancel-mid-*" }, script: { tokens: 5_000, paceMs: 5 } })
    const lateness = watchLoop()
    const left = await inParallel(4, Array.from({ length: 60 }, (_, index) => async () => {
      const head = index % 2 === 0
      const model = head ? `cancel-head-${index}` : `cancel-mid-${index}`
      const at = await play(world.call({ model, stream: true }), model, head ? "before the head" : "mid stream", 400)
      const [entry] = await world.sim.ended({ model })
      return (entry?.abortedAt ?? Infinity) - (at ?? 0)
    }))
    const late = lateness()
    console.log(`upstream cancelled after p50 ${quantile(left, 0.5).toFixed(1)} ms, p99 ${quantile(left, 0.99).toFixed(1)} ms (own loop late by up to ${late.toFixed(0)} ms)`)
    expect(quantile(left, 0.99)).toBeLessThan(CANCEL_GUARD_MS + 2 * late)
  }, 180_000)

  it("an abort is recorded as 499 client-abort with the partial usage, and never marks the connection", async () => {
    const { operator } = world.gateway
    await world.sim.rule({ match: { model: "left-early" }, script: { tokens: 400, paceMs: 5 } })
    const stream = await Http.stream(world.gateway.url, world.call({ model: "left-early", stream: true }))
    await stream.until((text) => text.split("data:").length > 10)
    stream.leave()
    const [entry] = await world.sim.ended({ model: "left-early" })
    await operator.settled()
    const rows = (await operator.callLogs()).filter((row) => row.model === "left-early")
    expect(rows).toMatchObject([{ outcome: "client-abort", status: 499, estimated: true, error: "client_closed_request" }])
    expect(rows[0]?.tokensOut).toBeGreaterThan(3)
    expect(rows[0]?.tokensOut).toBeLessThan(3 * (entry?.tokensSent ?? 0) + 30)
    const { connections } = await operator.call<{ connections: ReadonlyArray<{ provider: string; testStatus: string }> }>("GET", "/api/providers")
    expect(connections.filter((one) => one.provider === world.node).map((one) => one.testStatus)).not.toContain("error")
  })
})

describe("disconnectPolicy drain-for-usage", () => {
  const leaveEarly = async (model: string, script: Script, key: string) => {
    await world.sim.rule({ match: { model }, script })
    const stream = await Http.stream(world.gateway.url, world.call({ model, stream: true }, { authorization: `Bearer ${key}` }))
    await stream.until((text) => text.split("data:").length > 4)
    const at = stream.leave()
    const [entry] = await world.sim.ended({ model })
    const rows = await eventually(
      async () => (await world.gateway.operator.callLogs()).filter((row) => row.model === model),
      (found) => found.length > 0, `the row of ${model}`
    )
    return { at, entry, rows }
  }

  it("the stream is read on after the client left: the row is 499 client-abort with the measured usage", async () => {
    const { key } = await world.gateway.operator.createKey("drains", { disconnectPolicy: "drain-for-usage" })
    const { entry, rows } = await leaveEarly("drained", { tokens: 60, paceMs: 5, usage: { promptTokens: 321, completionTokens: 60 } }, key)
    expect(entry).toMatchObject({ outcome: "completed", tokensSent: 60 })
    expect(rows).toMatchObject([{ outcome: "client-abort", status: 499, estimated: false, tokensIn: 321, tokensOut: 60 }])
  })

  it("for GATEWAY_DRAIN_FOR_USAGE_MS at most; then it is cut and the usage is estimated", async () => {
    const { key } = await world.gateway.operator.createKey("drains on", { disconnectPolicy: "drain-for-usage" })
    const { at, entry, rows } = await leaveEarly("endless", { tokens: 100_000, paceMs: 10 }, key)
    expect(entry?.outcome).toBe("client-aborted")
    expect((entry?.abortedAt ?? 0) - at).toBeGreaterThan(1_300)
    expect((entry?.abortedAt ?? 0) - at).toBeLessThan(4_000)
    expect(rows).toMatchObject([{ outcome: "client-abort", status: 499, estimated: true }])
  })

  it("the default policy is cancel", async () => {
    const { key } = await world.gateway.operator.createKey("cancels")
    const { entry } = await leaveEarly("cancelled", { tokens: 2_000, paceMs: 5 }, key)
    expect(entry?.outcome).toBe("client-aborted")
  })
})
