import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Pacer } from "#src/simulator/Pacer.ts"
import * as Simulator from "#src/simulator/Simulator.ts"
import { startSim } from "#test/support/sim.ts"
import { chat, raw, wholeFrames } from "./rawClient.ts"

/** A pacer on a clock that the test turns. */
const manual = () => {
  let now = 0.25
  let running = 0
  const pacer = new Pacer(() => now, {
    every: () => {
      running++
      return () => running--
    },
    guard: (part) => part(),
    failed: (error) => {
      throw error
    }
  })
  return {
    pacer,
    running: () => running,
    advance: (ms: number) => {
      now += ms
      pacer.tick()
    }
  }
}

describe("the shared pacer", () => {
  it("fires each entry once, in the first whole millisecond at or after its deadline, on one interval", () => {
    const { advance, pacer, running } = manual()
    const fired: Array<string> = []
    for (const [name, deadline] of [["late", 2.5], ["early", 1.2], ["far", 3000.1]] as const) pacer.schedule(pacer.entry(() => fired.push(name)), deadline)
    assert.strictEqual(running(), 1)
    advance(0.9)
    assert.deepStrictEqual(fired, [])
    advance(1)
    assert.deepStrictEqual(fired, ["early"])
    advance(1)
    assert.deepStrictEqual(fired, ["early", "late"])
    // Longer than the wheel, in steps that skip slots and rounds.
    for (let i = 0; i < 29; i++) advance(100)
    assert.deepStrictEqual(fired, ["early", "late"])
    advance(2000)
    assert.deepStrictEqual(fired, ["early", "late", "far"])
    assert.strictEqual(running(), 0)
  })

  it("does not drift: a fractional pace keeps its mean over a thousand ticks", () => {
    const { advance, pacer } = manual()
    const start = pacer.now()
    const at: Array<number> = []
    const entry = pacer.entry((now) => {
      at.push(now)
      if (at.length < 1000) pacer.schedule(entry, start + (at.length + 1) * 3.7)
    })
    pacer.schedule(entry, start + 3.7)
    while (pacer.size > 0) advance(1.01)
    assert.isAtLeast(at.at(-1)!, start + 3700)
    assert.isAtMost(at.at(-1)!, start + 3702.1)
  })

  it("a cancelled entry never fires and is forgotten within a round", () => {
    const { advance, pacer } = manual()
    let fired = 0
    const entry = pacer.entry(() => fired++)
    pacer.schedule(entry, 10)
    pacer.cancel(entry)
    for (let i = 0; i < 1100; i++) advance(1)
    assert.deepStrictEqual([fired, pacer.size], [0, 0])
  })
})

it("a paced stream takes latency + time to first token + tokens x pace, by the log's own clock", async () => {
  const sim = await startSim()
  await sim.rule({ script: { tokens: 41, latencyMs: 20, ttftMs: 30, paceMs: 2.5 } })
  const replies = await Promise.all(Array.from({ length: 20 }, () => raw(sim.port, chat("echo"))))
  assert.isTrue(replies.every((reply) => wholeFrames(reply.body) === 44))
  for (const entry of await sim.ended({}, 20)) {
    // Each moment is counted from the arrival, so lateness does not add up. Early is impossible, late is the machine's business.
    assert.isAtLeast(entry.headAt! - entry.at, 20)
    assert.isAtLeast(entry.firstFrameAt! - entry.at, 20 + 30)
    assert.isAtLeast(entry.lastFrameAt! - entry.at, 20 + 30 + 40 * 2.5)
  }
  await sim.stop()
})

it.effect("time is the clock's: under a test clock a stream moves only when the test says so", () =>
  Effect.gen(function*() {
    const sim = yield* Simulator.make()
    yield* sim.rule({ script: { tokens: 4, ttftMs: 60_000, paceMs: 10_000 } })
    const body = JSON.stringify(chat("echo"))
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => connect(sim.port, "127.0.0.1")),
      (open) => Effect.sync(() => open.destroy())
    )
    let text = ""
    const seen = (pattern: string) =>
      Effect.callback<void>((resume) => {
        const look = (): void => {
          if (text.includes(pattern)) resume(Effect.void)
        }
        socket.on("data", look)
        look()
      })
    socket.on("data", (data: Buffer) => {
      text += data.toString()
    })
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    yield* seen("200 OK")
    assert.isFalse(text.includes("data:"))
    yield* TestClock.adjust(60_000)
    yield* seen(`"content":"the"`)
    assert.isFalse(text.includes(`" model"`))
    yield* TestClock.adjust(10_000)
    yield* seen(`" model"`)
    yield* TestClock.adjust(20_000)
    yield* seen("[DONE]")
    const [entry] = yield* sim.ended()
    assert.strictEqual(entry!.lastFrameAt! - entry!.headAt!, 90_000)
  }))
