/** A receiver of webhooks on loopback that answers as it is told and remembers what came. */
import * as http from "node:http"
import type * as net from "node:net"

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: { readonly event?: string; readonly timestamp?: string; readonly data?: Readonly<Record<string, unknown>>; readonly [field: string]: unknown }
}

/** A status, or: `slow` takes the request and says nothing, `reset` breaks off, `huge` says 200 and goes on for ever. */
export type Answer = number | "slow" | "reset" | "huge"

export interface Sink {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** For all that come from now on. */
  answer: Answer
  /** Resolves once so many have come. */
  readonly arrived: (count: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const startSink = async (answer: Answer = 200): Promise<Sink> => {
  const received: Array<Received> = []
  const waiters = new Set<() => void>()
  const state = { answer }
  const server = http.createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8")
      received.push({ path: request.url ?? "", headers: request.headers as Record<string, string>, body, json: JSON.parse(body) as Received["json"] })
      const say = state.answer
      if (typeof say === "number") response.writeHead(say, say >= 300 && say < 400 ? { location: "http://127.0.0.1:1/elsewhere" } : {}).end("x")
      else if (say === "reset") request.socket.resetAndDestroy()
      else if (say === "huge") {
        response.writeHead(200)
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) { /* as long as it takes them */ }
          if (!response.destroyed) response.once("drain", more)
        }
        more()
      }
      for (const waiter of waiters) waiter()
    })
  })
  server.on("clientError", (_error, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    received,
    get answer() {
      return state.answer
    },
    set answer(next) {
      state.answer = next
    },
    arrived: (count) => new Promise<void>((resolve) => {
      const look = (): void => {
        if (received.length < count) return
        waiters.delete(look)
        resolve()
      }
      waiters.add(look)
      look()
    }),
    close: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}
