/** A WebSocket client for tests: frames are kept in the order of arrival and taken one by one. */
import { once } from "node:events"
import { type ClientOptions, WebSocket } from "ws"

export type Frame = Readonly<Record<string, unknown>>

export interface SocketClient {
  readonly ws: WebSocket
  readonly send: (frame: unknown) => void
  /** The next frame, as JSON. */
  readonly next: () => Promise<Frame>
  /** Frames up to the first that holds, with it. */
  readonly until: (holds: (frame: Frame) => boolean) => Promise<ReadonlyArray<Frame>>
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>
  readonly close: () => Promise<void>
}

/** How long a test waits for a frame, ms. */
const longestWaitMs = 20_000

/** `url`: of the gateway, with http; rejects when the handshake is refused. */
export const connect = async (url: string, path: string, options: ClientOptions = {}): Promise<SocketClient> => {
  const ws = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, options)
  const frames: Array<Frame> = []
  let wake: (() => void) | undefined
  ws.on("message", (data: Buffer) => {
    frames.push(JSON.parse(data.toString("utf8")) as Frame)
    wake?.()
  })
  const ended = once(ws, "close").then(([code, reason]: Array<unknown>) => ({ code: code as number, reason: String(reason) }))
  void ended.then(() => wake?.())
  await new Promise<void>((resolve, reject) => {
    ws.once("open", resolve)
    ws.once("error", reject)
  })
  ws.on("error", () => undefined)
  const next = async (): Promise<Frame> => {
    const end = performance.now() + longestWaitMs
    for (;;) {
      const frame = frames.shift()
      if (frame !== undefined) return frame
      if (ws.readyState === WebSocket.CLOSED) throw new Error("the socket closed before the frame came")
      const left = end - performance.now()
      if (left <= 0) throw new Error("no frame came")
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  return {
    ws, next, ended,
    send: (frame) => ws.send(typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame)),
    until: async (holds) => {
      const seen: Array<Frame> = []
      for (;;) {
        const frame = await next()
        seen.push(frame)
        if (holds(frame)) return seen
      }
    },
    close: async () => {
      ws.close(1000)
      await ended
    }
  }
}

export interface Refused {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: { readonly error: Frame }
}

/** A handshake that is refused. */
export const refused = (url: string, path: string, options: ClientOptions = {}): Promise<Refused> =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, options)
    ws.once("open", () => {
      ws.terminate()
      reject(new Error("the handshake was accepted"))
    })
    ws.on("error", () => undefined)
    ws.once("unexpected-response", (_request, response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => resolve({
        status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(Buffer.concat(chunks).toString("utf8")) as Refused["body"]
      }))
    })
  })
