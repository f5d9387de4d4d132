/** A client that reads only when it is told to, and keeps of the body nothing but its size and hash. */
import { createHash, type Hash } from "node:crypto"
import { once } from "node:events"
import * as Net from "node:net"
import * as Tls from "node:tls"

export class SlowReader {
  readonly socket: Net.Socket
  bytes = 0
  /** The body was framed as complete. */
  complete = false
  closed = false
  private readonly hash: Hash = createHash("sha256")
  private head: Buffer | undefined = Buffer.alloc(0)
  private fixed: number | undefined
  private line = ""
  private left = 0
  private state: "size" | "data" | "tail" = "size"

  /** Of the head; undefined: the body is chunked. */
  get length(): number | undefined {
    return this.fixed
  }

  private constructor(socket: Net.Socket) {
    this.socket = socket
    socket.on("error", () => {})
    socket.on("close", () => {
      this.closed = true
    })
  }

  static async get(port: number, path: string, ca?: Buffer): Promise<SlowReader> {
    const socket = ca === undefined
      ? Net.connect({ port, host: "127.0.0.1" })
      : Tls.connect({ port, host: "127.0.0.1", ca, servername: "localhost" })
    await once(socket, ca === undefined ? "connect" : "secureConnect")
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`)
    return new SlowReader(socket)
  }

  digest(): string {
    return this.hash.digest("hex")
  }

  /** Reads to the end of the body, pausing for a turn after each segment. */
  read(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.on("close", () => this.complete ? resolve() : reject(new Error(`cut after ${this.bytes} bytes`)))
      this.socket.on("data", (data: Buffer) => {
        this.consume(data)
        if (this.complete) return resolve()
        this.socket.pause()
        setImmediate(() => this.socket.resume())
      })
      this.socket.resume()
    })
  }

  private consume(data: Buffer): void {
    let bytes = data
    if (this.head !== undefined) {
      this.head = Buffer.concat([this.head, data])
      const end = this.head.indexOf("\r\n\r\n")
      if (end < 0) return
      const length = /content-length: (\d+)/i.exec(this.head.subarray(0, end).toString("latin1"))
      this.fixed = length === null ? undefined : Number(length[1])
      bytes = this.head.subarray(end + 4)
      this.head = undefined
    }
    if (this.fixed !== undefined) {
      this.take(bytes)
      this.complete = this.bytes >= this.fixed
      return
    }
    for (let at = 0; at < bytes.length;) {
      if (this.state === "data") {
        const part = bytes.subarray(at, at + this.left)
        this.take(part)
        this.left -= part.length
        at += part.length
        if (this.left === 0) this.state = "tail"
        continue
      }
      this.line += String.fromCharCode(bytes[at++]!)
      if (!this.line.endsWith("\r\n")) continue
      const line = this.line.slice(0, -2)
      this.line = ""
      if (this.state === "tail") {
        if (line !== "") throw new Error("a chunk longer than its size")
        this.state = "size"
        if (this.left < 0) this.complete = true
      } else {
        this.left = parseInt(line, 16)
        if (Number.isNaN(this.left)) throw new Error(`bad chunk size ${JSON.stringify(line)}`)
        this.state = this.left === 0 ? "tail" : "data"
        if (this.left === 0) this.left = -1
      }
    }
  }

  private take(part: Buffer): void {
    this.bytes += part.length
    this.hash.update(part)
  }
}
