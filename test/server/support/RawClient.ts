/** A client that says exactly the bytes it is told and reads responses by their framing. */
import { once } from "node:events"
import * as Net from "node:net"
import * as Tls from "node:tls"

export interface RawResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
}

const PATIENCE_MILLIS = 20_000

export class RawClient {
  readonly socket: Net.Socket
  received: Buffer = Buffer.alloc(0)
  ended = false
  error: NodeJS.ErrnoException | undefined
  private wake: (() => void) | undefined

  static readonly all = new Set<RawClient>()

  private constructor(socket: Net.Socket) {
    this.socket = socket
    RawClient.all.add(this)
    socket.on("data", (data: Buffer) => {
      this.received = Buffer.concat([this.received, data])
      this.wake?.()
    })
    socket.on("close", () => {
      this.ended = true
      RawClient.all.delete(this)
      this.wake?.()
    })
    socket.on("error", (error) => {
      this.error = error
    })
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = Net.connect({ port, host: "127.0.0.1", noDelay: true })
    const client = new RawClient(socket)
    await once(socket, "connect")
    return client
  }

  static async connectTls(port: number, ca: string | Buffer): Promise<RawClient> {
    const socket = Tls.connect({ port, host: "127.0.0.1", ca, servername: "localhost" })
    const client = new RawClient(socket)
    await once(socket, "secureConnect")
    return client
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes)
  }

  /** Sends a segment and waits until the kernel has it, so that two calls rarely share a segment. */
  sent(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()))
  }

  get(path: string, headers = ""): void {
    this.send(`GET ${path} HTTP/1.1\r\nHost: test\r\n${headers}\r\n`)
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const giveUp = AbortSignal.timeout(PATIENCE_MILLIS)
    while (!holds()) {
      await new Promise<void>((resolve, reject) => {
        this.wake = resolve
        giveUp.onabort = () => reject(new Error(`waited in vain for ${what}; received ${JSON.stringify(this.received.toString("latin1").slice(0, 400))}`))
      })
    }
  }

  closed(): Promise<void> {
    return this.until("the connection to close", () => this.ended)
  }

  /** Reads one response; `bodyless` for the answer to HEAD. */
  async response(bodyless = false): Promise<RawResponse> {
    let parsed: { readonly response: RawResponse; readonly rest: Buffer } | undefined
    await this.until("a whole response", () => {
      parsed = parse(this.received, bodyless)
      if (parsed === undefined && this.ended) throw new Error(`the connection closed inside a response: ${JSON.stringify(this.received.toString("latin1").slice(0, 400))}`)
      return parsed !== undefined
    })
    this.received = parsed!.rest
    return parsed!.response
  }

  destroy(): void {
    this.socket.destroy()
  }

  /** Ends the connection with RST instead of FIN. */
  reset(): void {
    this.socket.resetAndDestroy()
  }
}

const parse = (bytes: Buffer, bodyless: boolean): { readonly response: RawResponse; readonly rest: Buffer } | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const [line, ...fields] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const status = Number(line!.split(" ")[1])
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const colon = field.indexOf(":")
    const name = field.slice(0, colon).toLowerCase()
    if (name in headers && name !== "set-cookie") throw new Error(`response header ${name} came twice`)
    headers[name] = name in headers ? `${headers[name]}\n${field.slice(colon + 1).trim()}` : field.slice(colon + 1).trim()
  }
  let at = end + 4
  if (bodyless || status === 204 || status === 304 || status < 200) {
    return { response: { status, headers, body: Buffer.alloc(0) }, rest: bytes.subarray(at) }
  }
  if (headers["transfer-encoding"] === "chunked") {
    if ("content-length" in headers) throw new Error("both content-length and transfer-encoding")
    const chunks: Array<Buffer> = []
    for (;;) {
      const eol = bytes.indexOf("\r\n", at)
      if (eol < 0) return undefined
      const size = parseInt(bytes.subarray(at, eol).toString("latin1"), 16)
      if (Number.isNaN(size)) throw new Error(`bad chunk size ${JSON.stringify(bytes.subarray(at, eol).toString("latin1"))}`)
      if (bytes.length < eol + 2 + size + 2) return undefined
      if (bytes.subarray(eol + 2 + size, eol + 4 + size).toString("latin1") !== "\r\n") throw new Error("chunk without end")
      chunks.push(bytes.subarray(eol + 2, eol + 2 + size))
      at = eol + 2 + size + 2
      if (size === 0) return { response: { status, headers, body: Buffer.concat(chunks) }, rest: bytes.subarray(at) }
    }
  }
  const length = Number(headers["content-length"])
  if (!Number.isInteger(length)) throw new Error(`a response without length: ${line}`)
  if (bytes.length < at + length) return undefined
  return { response: { status, headers, body: bytes.subarray(at, at + length) }, rest: bytes.subarray(at + length) }
}
