/** Bodies that are given to a sink while they arrive: whole and in order, no faster than they are taken, and never after the end. */
import { createHash } from "node:crypto"
import * as zlib from "node:zlib"
import { describe, expect, it } from "vitest"
import { type BodyFlow, type BodySink, pour } from "#src/platform/server/body/bodySink.ts"
import type { BodyFailure, Exchange } from "#src/platform/server/Exchange.ts"
import { eventually, latch, random, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** Takes a body, and answers with its length and digest; `takes`: whether more may come at once. */
const digesting = (limit: number, options: { readonly takes?: () => boolean; readonly onStop?: (resume: () => void) => void; readonly onPush?: (bytes: number) => void } = {}) => (exchange: Exchange): void => {
  const hash = createHash("sha256")
  let length = 0
  let flow: BodyFlow | null = null
  const answer = (text: string): void => exchange.respond(200, [], text)
  const next = (): boolean => {
    if (options.takes?.() ?? true) return true
    options.onStop?.(() => flow?.resume())
    return false
  }
  exchange.onAbort(() => undefined)
  flow = exchange.streamBody(limit, {
    push: (bytes) => {
      hash.update(bytes)
      length += bytes.byteLength
      options.onPush?.(bytes.byteLength)
      return next()
    },
    isReady: next,
    end: () => answer(`${length} ${hash.digest("hex")}`),
    fail: (failure) => {
      if (failure !== "aborted") exchange.respond(413, [], failure)
    }
  })
}

describe("a body that is given to a sink", () => {
  it("comes whole however it is cut and framed, and however often the sink stops it", async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const pick = random(seed)
      const { frontEnd, port } = await start()
      frontEnd.direct("POST", "/", digesting(10_000_000, { takes: () => pick(3) > 0, onStop: (resume) => void setImmediate(resume) }))
      const body = Buffer.alloc(pick(3_000_000), `bytes of ${seed} `)
      const isChunked = pick(2) === 0
      const client = await RawClient.connect(port)
      client.send(`POST / HTTP/1.1\r\nHost: test\r\n${isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`}\r\n\r\n`)
      if (isChunked) {
        for (let at = 0; at < body.length;) {
          const part = body.subarray(at, at + 1 + pick(400_000))
          client.send(Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]))
          at += part.length
        }
        client.send("0\r\n\r\n")
      } else client.send(body)
      expect([seed, (await client.response()).body.toString()]).toEqual([seed, `${body.length} ${sha(body)}`])
      client.destroy()
    }
  })

  it("waits in the kernel while the sink takes nothing", async () => {
    const { frontEnd, port } = await start()
    let taken = 0
    let isOpen = false
    let goOn = (): void => undefined
    frontEnd.direct("POST", "/", digesting(200_000_000, {
      takes: () => isOpen,
      onPush: (bytes) => {
        taken += bytes
      },
      onStop: (resume) => {
        goOn = resume
      }
    }))
    const body = Buffer.alloc(100_000_000, 7)
    const client = await RawClient.connect(port)
    client.send(`POST / HTTP/1.1\r\nHost: test\r\nContent-Length: ${body.length}\r\n\r\n`)
    client.send(body)
    await eventually("the first bytes", () => taken > 0)
    const stopped = taken
    for (let i = 0; i < 500; i++) await new Promise((resolve) => setImmediate(resolve))
    expect([taken, stopped < body.length]).toEqual([stopped, true])
    isOpen = true
    goOn()
    expect((await client.response()).body.toString()).toBe(`${body.length} ${sha(body)}`)
    client.destroy()
  })

  it.each<readonly [string, (length: number) => string]>([["a length", (length) => `Content-Length: ${length}`], ["chunks", () => "Transfer-Encoding: chunked"]])("beyond its limit by %s is too large", async (_name, head) => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", digesting(100_000))
    for (const [length, status] of [[100_000, 200], [100_001, 413]] as const) {
      const body = Buffer.alloc(length, 7)
      const client = await RawClient.connect(port)
      const framing = head(length)
      client.send(`POST / HTTP/1.1\r\nHost: test\r\n${framing}\r\n\r\n`)
      client.send(framing.startsWith("T") ? Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]) : body)
      expect([length, (await client.response()).status]).toEqual([length, status])
      client.destroy()
    }
  })

  it("that is compressed comes as what it holds; none comes of an empty one", async () => {
    const { base, frontEnd } = await start()
    frontEnd.direct("POST", "/", digesting(2_000_000))
    const body = Buffer.alloc(1_500_000, "some bytes ")
    expect(await (await fetch(base, { method: "POST", headers: { "content-encoding": "gzip" }, body: zlib.gzipSync(body) })).text()).toBe(`${body.length} ${sha(body)}`)
    expect(await (await fetch(base, { method: "POST" })).text()).toBe(`0 ${sha(Buffer.alloc(0))}`)
    const bomb = await fetch(base, { method: "POST", headers: { "content-encoding": "gzip" }, body: zlib.gzipSync(Buffer.alloc(3_000_000)) })
    expect([bomb.status, await bomb.text()]).toEqual([413, "too-large"])
  })

  it("fails when its client leaves, and is given up once, however the exchange ends", async () => {
    const { frontEnd, port } = await start()
    const failed = latch<BodyFailure>()
    let released = 0
    frontEnd.direct("POST", "/", (exchange) => {
      exchange.onAbort(() => undefined)
      exchange.onRelease(() => void released++)
      exchange.streamBody(1_000_000, { push: () => true, isReady: () => true, end: () => exchange.respond(200, [], "whole"), fail: failed.open })
    })
    const leaving = await RawClient.connect(port)
    leaving.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\nsome")
    await eventually("the exchange", () => frontEnd.liveExchanges === 1)
    leaving.destroy()
    expect([await failed.promise, released]).toEqual(["aborted", 1])
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nsome")
    expect([(await client.response()).status, released]).toEqual([200, 2])
    client.destroy()
  })

  it("is dropped when the sink has answered in its middle", async () => {
    const { frontEnd, port } = await start()
    let pushes = 0
    frontEnd.direct("POST", "/", (exchange) => {
      exchange.streamBody(100_000_000, {
        push: () => {
          pushes++
          exchange.respond(400, [], "no")
          return false
        },
        isReady: () => false, end: () => undefined, fail: () => undefined
      })
    })
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 50000000\r\n\r\n")
    await client.sent(Buffer.alloc(50_000_000))
    expect([(await client.response()).status, pushes]).toEqual([400, 1])
    client.destroy()
  })

  it("may be followed by a defect in a later turn, which is answered with 500", async () => {
    const defects: Array<unknown> = []
    const { base, frontEnd } = await start({ onDefect: (error) => void defects.push(error) })
    frontEnd.direct("POST", "/", (exchange) => {
      exchange.onAbort(() => undefined)
      const flow = exchange.streamBody(1_000_000, {
        push: () => true, isReady: () => true, fail: () => undefined,
        end: () => void setImmediate(() => flow.guard(() => {
          throw new Error("a defect")
        }))
      })
    })
    const response = await fetch(base, { method: "POST", body: "some bytes" })
    expect([response.status, defects.length]).toEqual([500, 1])
  })

  it("that is here already is poured by pieces, also into a sink that asks for more while it is given some", () => {
    for (const isEager of [true, false]) {
      const body = Buffer.alloc(1_000_001, "some bytes ")
      const seen: Array<Buffer> = []
      let ends = 0
      let flow: BodyFlow | null = null
      const sink: BodySink = {
        push: (bytes) => {
          seen.push(Buffer.from(bytes))
          if (isEager) flow?.resume()
          return isEager
        },
        isReady: () => true,
        end: () => {
          ends++
        },
        fail: () => undefined
      }
      flow = pour(body, sink)
      for (let i = 0; i < 10; i++) flow.resume()
      expect([Buffer.concat(seen).equals(body), seen.length, ends]).toEqual([true, 4, 1])
    }
  })
})
