/** A message port as the byte stream that postgres.js expects of a socket. */
import { Duplex } from "node:stream"
import type { MessagePort } from "node:worker_threads"

export class PortStream extends Duplex {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    super({ allowHalfOpen: false, autoDestroy: true })
    this.#port = port
    port.on("message", (data: Uint8Array) => {
      this.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    })
    port.on("close", () => this.destroy())
  }

  /** The driver asks for it before it says goodbye. */
  get readyState(): "open" | "closed" {
    return this.destroyed ? "closed" : "open"
  }

  override _read(): void {
    // Replies are bounded by their statement: the port pushes.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // The driver reuses its buffer: the port's structured clone copies only what belongs to this chunk.
    this.#port.postMessage(new Uint8Array(chunk))
    done()
  }

  override _final(done: (error?: Error | null) => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#port.close()
    done(error)
  }
}
