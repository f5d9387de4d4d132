/**
 * A pass-through proxy of uWebSockets.js and undici dispatch and nothing else: what Node costs before a gateway does
 * anything. Answers of one turn leave in one cork; a slow reader pauses its upstream.
 *
 * Run as a child: `bare.ts <port> <upstream origin>`; ends with its parent.
 */
import { Pool } from "undici"
import type { Dispatcher } from "undici"
import { App, type HttpResponse } from "uWebSockets.js"

const MAX_CORK = 14 * 1024
const port = Number(process.argv[2] ?? "0")
const origin = process.argv[3] ?? ""

const pool = new Pool(origin, { connections: 8192, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: HttpResponse
  #controller: Dispatcher.DispatchController | null = null
  #head: { readonly status: string; readonly type: string; readonly length: number } | null = null
  #started = false
  #ended = false
  #gone = false
  #scheduled = false
  #blocked = false
  #chunks: Array<Buffer> = []

  constructor(response: HttpResponse) {
    this.#response = response
    response.onAborted(() => {
      this.#gone = true
      this.#controller?.abort(new Error("client gone"))
    })
    response.onWritable(() => {
      this.#blocked = false
      this.#flush()
      if (!this.#blocked) this.#controller?.resume()
      return true
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#gone) controller.abort(new Error("client gone"))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, string | Array<string> | undefined>, text?: string): void {
    this.#head = {
      status: `${status} ${text ?? ""}`,
      type: String(headers["content-type"] ?? "application/octet-stream"),
      length: Number(headers["content-length"] ?? -1)
    }
    this.#schedule()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#schedule()
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#schedule()
  }

  onResponseError(): void {
    if (this.#gone) return
    this.#gone = true
    if (this.#started) this.#response.close()
    else this.#response.cork(() => this.#response.writeStatus("502 Bad Gateway").end())
  }

  #schedule(): void {
    if (this.#scheduled || this.#blocked) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    while (!this.#gone && !this.#blocked && (this.#chunks.length > 0 || this.#ended || !this.#started)) {
      this.#response.cork(() => this.#writeOnce())
    }
  }

  #writeOnce(): void {
    const response = this.#response
    if (!this.#started && this.#head !== null) {
      this.#started = true
      response.writeStatus(this.#head.status).writeHeader("content-type", this.#head.type)
      if (this.#ended && this.#head.length >= 0 && this.#head.length < MAX_CORK) {
        this.#gone = true
        response.end(this.#chunks.length === 1 ? this.#chunks[0] ?? "" : Buffer.concat(this.#chunks))
        return
      }
    }
    let corked = 0
    while (this.#chunks.length > 0 && corked < MAX_CORK) {
      const chunk = this.#chunks[0] ?? Buffer.alloc(0)
      const part = chunk.subarray(0, MAX_CORK - corked)
      if (part.length === chunk.length) this.#chunks.shift()
      else this.#chunks[0] = chunk.subarray(part.length)
      corked += part.length
      if (!response.write(part)) this.#blocked = true
    }
    if (this.#blocked) this.#controller?.pause()
    else if (this.#chunks.length === 0 && this.#ended) {
      this.#gone = true
      response.end()
    }
  }
}

App()
  .any("/*", (response, request) => {
    const method = request.getMethod().toUpperCase()
    const path = request.getUrl()
    const headers = [
      "content-type", request.getHeader("content-type"),
      "authorization", request.getHeader("authorization")
    ]
    const relay = new Relay(response)
    const parts: Array<Buffer> = []
    response.onData((data, last) => {
      parts.push(Buffer.from(data.slice(0)))
      if (!last) return
      const body = parts.length === 1 ? parts[0] ?? null : Buffer.concat(parts)
      pool.dispatch({ method, path, headers, body }, relay)
    })
  })
  .listen("127.0.0.1", port, (socket: unknown) => {
    if (!socket) process.exit(1)
  })

process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => undefined)
process.on("SIGTERM", () => process.exit(0))
