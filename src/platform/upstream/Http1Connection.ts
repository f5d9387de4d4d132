/**
 * One HTTP/1.1 socket, one call at a time: writes the request, feeds what arrives to the parser, notifies the call.
 *
 * Bytes are read into one buffer that all sockets share, and are borrowed from there: a call gets them before the next read, and
 * what it does not take, because it has paused, is copied. A stream thus costs neither a copy nor an allocation per read.
 */
import type { OnReadOpts, Socket } from "node:net"
import type { UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { Pieces } from "#actors/request/ports/Body.ts"
import { BodySender } from "./request/BodySender.ts"
import type { Dial, Dialed } from "./Dialer.ts"
import { BadResponse, ClosedEarly, DialError } from "./failures.ts"
import { write, writeHead } from "./request/RequestHead.ts"
import type { RequestHead } from "./request/RequestHead.ts"
import { ResponseParser } from "./ResponseParser.ts"

/** Most bytes that one read takes from a socket. */
const readBytes = 64 * 1024
const readBuffer = Buffer.allocUnsafeSlow(readBytes)

/** What a connection tells the call that owns it; none of these may throw. */
export interface ConnectionExchange {
  readonly head: RequestHead
  readonly body: UpstreamRequest["body"]
  /** A socket is being made. */
  readonly onConnecting: () => void
  /** The request is about to be written. */
  readonly onSent: () => void
  readonly onMessageHead: (status: number, headers: Array<string>) => void
  /** Borrowed body bytes of one read: valid until the call returns. */
  readonly onMessageData: (bytes: Buffer) => void
  /** The response is complete; the connection is not the call's any more. */
  readonly onMessageEnd: () => void
  /** The connection is closed, and the response is not complete. */
  readonly onBroken: (error: Error) => void
}

/** The pool, as a connection sees it. */
export interface ConnectionOwner {
  readonly peer: string
  /** True when its sockets come out of a tunnel, which is read as a stream. */
  readonly tunnelled: boolean
  readonly now: () => number
  readonly dial: (onread: OnReadOpts, done: Dialed) => Dial
  /** The connection can serve another call; the server keeps it for `hintMs`, or did not say (-1). */
  readonly onIdle: (connection: Http1Connection, hintMs: number) => void
  /** The connection cannot be used any more. */
  readonly drop: (connection: Http1Connection) => void
}

export class Http1Connection {
  /** The peer's address. */
  address = ""
  closed = false
  bornAt = 0
  checkedAt = 0
  /** When the idle connection is to be closed, in ms of the wheel's clock. */
  idleUntil = Infinity
  /** Calls that this connection has completed. */
  served = 0
  /** True once a byte of the answer to the latest request came. */
  answered = false
  readonly #owner: ConnectionOwner
  readonly #parser: ResponseParser
  /** The call that owns the connection; null when idle. */
  #call: ConnectionExchange | null = null
  #socket: Socket | null = null
  #dial: Dial | null = null
  /** Writes the call's body, where that is not written at once. */
  #sender: BodySender | null = null
  #paused = false
  /** True while the call's callbacks are on the stack. */
  #delivering = false
  /** The peer has closed its side. */
  #ended = false
  /** Bytes came before there was a request. */
  #spoilt = false

  constructor(owner: ConnectionOwner, maxHeadBytes: number) {
    this.#owner = owner
    this.#parser = new ResponseParser(maxHeadBytes)
  }

  get idle(): boolean {
    return this.#call === null
  }

  /** Gives the connection to a call, which is written now or once the socket is there. */
  assign(call: ConnectionExchange): void {
    this.#call = call
    this.answered = false
    this.#paused = false
    this.#parser.reset(false)
    if (this.#socket === null) this.#connect(call)
    else {
      this.#socket.ref()
      this.#send(this.#socket, call)
    }
  }

  /** Stops reading; what was read already waits. */
  pause(): void {
    if (this.#paused || this.closed) return
    this.#paused = true
    this.#socket?.pause()
  }

  resume(): void {
    if (!this.#paused || this.closed) return
    this.#paused = false
    this.#deliver()
    // A receiver that paused again keeps the socket as it is; a connection that was handed on reads already.
    if (!this.#paused && !this.closed) this.#socket?.resume()
  }

  /** Ends the socket or the attempt to make one, at once; the call is not notified. */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.#call = null
    this.#dial?.cancel()
    this.#dial = null
    this.#sender?.stop()
    this.#socket?.destroy()
    this.#owner.drop(this)
  }

  #connect(call: ConnectionExchange): void {
    call.onConnecting()
    const onread: OnReadOpts = {
      buffer: readBuffer,
      callback: (size) => {
        this.#onBytes(readBuffer, size)
        return true
      }
    }
    this.#dial = this.#owner.dial(onread, (error, socket) => {
      this.#dial = null
      if (this.closed) return void socket?.destroy()
      if (socket === null || socket.destroyed) {
        return this.#break(error ?? new DialError("reset", `${this.#owner.peer} closed the connection while it was being made`))
      }
      this.#attach(socket)
    })
  }

  #attach(socket: Socket): void {
    this.#socket = socket
    this.bornAt = this.checkedAt = this.#owner.now()
    this.address = socket.remoteAddress ?? ""
    socket.on("end", () => this.#onEnd())
    socket.on("error", (error) => this.#break(error))
    socket.on("close", () => this.#onEnd())
    if (this.#spoilt) return this.#break(new BadResponse("bytes came before the request"))
    if (this.#owner.tunnelled) {
      socket.on("data", (bytes: Buffer) => this.#onBytes(bytes, bytes.length))
      socket.resume()
    }
    if (this.#call !== null) this.#send(socket, this.#call)
  }

  #send(socket: Socket, call: ConnectionExchange): void {
    call.onSent()
    const { body, head } = call
    if (!(body instanceof Pieces)) {
      write(socket, head, body)
      return
    }
    const sender = this.#sender = new BodySender(socket, body, (error) => this.#break(error))
    socket.cork()
    writeHead(socket, head, body.length)
    sender.start()
    socket.uncork()
  }

  #onBytes(bytes: Buffer, size: number): void {
    if (this.#call === null || this.#socket === null) {
      // An idle server has nothing to say; whatever this is, it must not become the next call's answer.
      if (this.#dial === null) this.close()
      else this.#spoilt = true
      return
    }
    this.answered = true
    this.#parser.feed(bytes, size)
    this.#deliver()
    this.#parser.own()
  }

  #onEnd(): void {
    if (this.closed || this.#ended) return
    this.#ended = true
    if (this.#call === null) return this.close()
    this.#parser.eof()
    this.#deliver()
  }

  /** Passes to the call what the parser has found, in order, until the call has ended or paused. */
  #deliver(): void {
    const call = this.#call
    const parser = this.#parser
    if (this.#delivering || call === null) return
    this.#delivering = true
    while (!this.#paused && this.#call === call) {
      if (parser.headReady) {
        parser.headReady = false
        call.onMessageHead(parser.head.status, parser.head.headers)
      } else if (parser.body !== null) {
        const { body } = parser
        parser.body = null
        call.onMessageData(body)
      } else break
    }
    this.#delivering = false
    if (this.#paused || this.#call !== call) return
    if (parser.complete) this.#complete(call)
    else if (parser.failure !== null) this.#break(new BadResponse(parser.failure))
    else if (parser.cut) this.#break(new ClosedEarly("closed"))
  }

  #complete(call: ConnectionExchange): void {
    const { head, surplus } = this.#parser
    const socket = this.#socket
    const isSent = this.#sender === null || this.#sender.isDone
    this.#call = null
    this.served++
    // A request body that is still on its way would be taken for the next request.
    if (!head.keepAlive || surplus || this.#ended || !isSent || socket === null || socket.destroyed || socket.writableLength > 0) this.close()
    else {
      this.#sender = null
      socket.unref()
      this.#owner.onIdle(this, head.keepAliveMs)
    }
    call.onMessageEnd()
  }

  #break(error: Error): void {
    const call = this.#call
    this.close()
    call?.onBroken(error)
  }
}
