/**
 * One client connection: raw bytes out, one verified response at a time in. Nothing is retried; whatever goes wrong ends
 * the job, because a bench must not hide a lost byte.
 */
import { connect, type Socket } from "node:net"
import { type Expected } from "../payload.ts"
import { ContentCheck } from "../ContentCheck.ts"
import { ResponseParser } from "../ResponseParser.ts"
import type { Endpoint } from "./Job.ts"

const READ_BUFFER = 65_536
/** All connections read into one buffer: each read is used up before the next one starts. */
const shared = Buffer.allocUnsafeSlow(READ_BUFFER)
let reads = 0

/** Reads of this process from all its connections so far. */
export const readCount = (): number => reads

/** Checks a body while it arrives. Answers null while all is well. */
export interface BodyCheck {
  readonly feed: (bytes: Buffer, start: number, end: number) => string | null
  readonly finish: () => string | null
}

export interface ConnectionEvents {
  /** The response has ended and its content was right. */
  readonly done: (connection: Connection) => void
  readonly failed: (problem: string) => void
  /** Body bytes have arrived; answer false to stop reading until `resume`. */
  readonly received?: (connection: Connection, bytes: number) => boolean
}

export class Connection {
  readonly #socket: Socket
  readonly #events: ConnectionEvents
  readonly #parser: ResponseParser
  #check: BodyCheck | null = null
  #closing = false
  #reading = true

  constructor(endpoint: Endpoint, events: ConnectionEvents) {
    this.#events = events
    this.#parser = new ResponseParser({
      head: (status, head) => {
        if (this.#check === null) throw new Error(`a response nobody asked for: ${head.slice(0, 40)}`)
        if (status !== 200) this.#check = new Rejected(status)
      },
      body: (bytes, start, end) => {
        const problem = this.#check?.feed(bytes, start, end) ?? null
        if (problem !== null) throw new Error(problem)
        if (this.#events.received?.(this, end - start) === false) this.#reading = false
      },
      end: () => {
        const problem = this.#check?.finish() ?? null
        this.#check = null
        if (problem !== null) throw new Error(problem)
        this.#events.done(this)
      }
    })
    this.#socket = connect({
      host: endpoint.host,
      port: endpoint.port,
      noDelay: true,
      onread: { buffer: shared, callback: (length) => this.#read(length) }
    })
    this.#socket.on("error", (error) => this.#fail(error.message))
    this.#socket.on("end", () => this.#ended())
    this.#socket.on("close", () => this.#fail("connection closed"))
  }

  /** Sends a request; exactly one may be on its way. */
  send(request: Buffer, check: BodyCheck): void {
    if (this.#check !== null) throw new Error("one request at a time")
    this.#check = check
    this.#socket.write(request)
  }

  resume(): void {
    this.#reading = true
    this.#socket.resume()
  }

  close(): void {
    this.#closing = true
    this.#socket.destroy()
  }

  #read(length: number): boolean {
    if (this.#closing) return false
    reads++
    try {
      this.#parser.feed(shared, 0, length)
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error))
      return false
    }
    return this.#reading
  }

  #ended(): void {
    if (this.#closing) return
    try {
      this.#parser.close()
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error))
    }
  }

  #fail(problem: string): void {
    if (this.#closing) return
    this.close()
    this.#events.failed(problem)
  }
}

/** Collects what a target says instead of 200, for the error message. */
class Rejected implements BodyCheck {
  readonly #status: number
  #text = ""

  constructor(status: number) {
    this.#status = status
  }

  feed(bytes: Buffer, start: number, end: number): null {
    if (this.#text.length < 500) this.#text += bytes.toString("latin1", start, Math.min(end, start + 500))
    return null
  }

  finish(): string {
    return `status ${this.#status}: ${this.#text.slice(0, 500)}`
  }
}

/** A check of one response against its expected bytes. */
export const contentCheck = (expected: Expected, onStamp?: (micros: number) => void): ContentCheck =>
  new ContentCheck(expected, onStamp)
