/** A socket of live events against a client that says too much before it is known, or does not read. */
import { describe, expect, it } from "vitest"
import type { LiveEvent } from "#src/features/live/events.ts"
import type { Listener } from "#src/features/live/LiveHub.ts"
import { EARLY_BYTES, EARLY_MESSAGES, LiveSocket } from "#src/features/live/LiveSocket.ts"
import type { ServerSocket } from "#src/platform/server/sockets/ServerSocket.ts"

const event: LiveEvent = { channel: "requests", event: "request.started", node: "n", data: { id: "1" } }

const opened = () => {
  const sent: Array<{ readonly type: string }> = []
  const closes: Array<number> = []
  let takes = true
  let listener: Listener | null = null
  let checks = 0
  const socket: ServerSocket = {
    get closed() {
      return closes.length > 0
    },
    pendingBytes: 0,
    send: (message) => {
      sent.push(JSON.parse(String(message)) as { readonly type: string })
      return takes
    },
    close: (code) => void closes.push(code)
  }
  const live = new LiveSocket(socket, {
    hub: {
      add: (one) => {
        listener = one
        return () => {
          listener = null
        }
      },
      backlog: () => []
    },
    now: () => 0, makeId: () => "id", recheck: () => checks++, over: () => undefined
  })
  const say = (message: unknown) => live.message(Buffer.from(JSON.stringify(message)), false)
  return {
    live, sent, closes, say,
    listener: () => listener,
    checks: () => checks,
    stopReading: () => {
      takes = false
    }
  }
}

const subscribe = { type: "subscribe", channels: ["requests"] }

describe("a socket of live events", () => {
  it("keeps what was said before its caller was known, and reads it then", () => {
    const { listener, live, say, sent } = opened()
    say(subscribe)
    say({ type: "ping" })
    expect(sent).toEqual([])
    live.admit()
    expect(sent.map(({ type }) => type)).toEqual(["welcome", "pong"])
    listener()?.events([event])
    expect(sent.at(-1)).toMatchObject({ type: "event", event: "request.started", data: { id: "1", node: "n" } })
  })

  it("is closed with 4008 when too many or too long messages come before that", () => {
    const many = opened()
    for (let n = 0; n < EARLY_MESSAGES; n++) many.say({ type: "ping" })
    expect(many.closes).toEqual([])
    many.say({ type: "ping" })
    expect(many.closes).toEqual([4008])
    const long = opened()
    long.say({ type: "ping", pad: "x".repeat(EARLY_BYTES) })
    expect(long.closes).toEqual([4008])
  })

  it("is closed with 1013 when its client does not read, and hears nothing after its end", () => {
    const { closes, listener, live, say, sent, stopReading } = opened()
    live.admit()
    say(subscribe)
    stopReading()
    listener()?.events([event])
    const before = sent.length
    listener()?.events([event])
    expect([closes, sent.length]).toEqual([[1013], before])
    live.closed()
    expect(listener()).toBeNull()
  })

  it("goes on when its client has read, and asks every 15 s whether it may", () => {
    const { checks, closes, listener, live, say, stopReading } = opened()
    live.admit()
    say(subscribe)
    stopReading()
    listener()?.events([event])
    live.drained()
    listener()?.events([event])
    expect(closes).toEqual([])
    listener()?.round(14_999)
    expect(checks()).toBe(0)
    for (const at of [15_000, 15_100, 30_000]) listener()?.round(at)
    expect(checks()).toBe(2)
  })
})
