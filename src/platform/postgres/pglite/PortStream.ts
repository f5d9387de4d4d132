/** A message port as the byte stream that postgres.js expects of a socket. */
import { Duplex } from "node:stream"
import type { MessagePort } from "node:worker_threads"

const goodbye = 0x58

export class PortStream extends Duplex {
  readonly #port: MessagePort
  readonly #abandoned: () => void
  /** True while the server owes an answer. */
  #owed = false

  /** `abandoned` is called when the stream is cut while the server still works for it. */
  constructor(port: MessagePort, abandoned: () => void) {
    super({ allowHalfOpen: false, autoDestroy: true })
    this.#port = port
    this.#abandoned = abandoned
    port.on("message", (data: Uint8Array) => {
      this.#owed = false
      this.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    })
    port.on("close", () => {
      // The server's side is gone: nothing works on the answer any more.
      this.#owed = false
      this.destroy()
    })
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
    this.#owed = chunk[0] !== goodbye
    this.#port.postMessage(new Uint8Array(chunk))
    done()
  }

  override _final(done: (error?: Error | null) => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#port.close()
    if (this.#owed) this.#abandoned()
    done(error)
  }
}
