/** One running call: undici's handler, the port's handle and the wheel's entry in one object. */
import type { Dispatcher } from "undici"
import type { Phase, UpstreamCall, UpstreamFailure, UpstreamHandler, UpstreamRequest } from "#actors/ports/Upstream.ts"
import { Decoder, encodingOf, supports } from "./Decoder.ts"
import * as Failures from "./failures.ts"
import type { Connection, SocketPool } from "./SocketPool.ts"
import { Entry } from "./TimerWheel.ts"
import type { TimerWheel } from "./TimerWheel.ts"

const abortedError = new Error("aborted")

/** Greater than 0 while undici's parser is on the stack: it must not be entered again, not even for another socket. */
let parsing = 0

const limitNames: Readonly<Record<Phase, string>> = {
  queue: "no socket was free",
  connect: "no connection was made",
  headers: "no response head came",
  "first-event": "no useful event came",
  idle: "no further useful event came",
  total: "the call did not end"
}

export class Call extends Entry implements UpstreamCall, Dispatcher.DispatchHandler {
  /** Place among the live calls. */
  rosterSlot = -1
  readonly options: Dispatcher.DispatchOptions
  readonly startedAt: number
  readonly #request: UpstreamRequest
  readonly #handler: UpstreamHandler
  readonly #pool: SocketPool
  readonly #wheel: TimerWheel
  readonly #onOver: (call: Call) => void
  readonly #totalAt: number
  #phase: Phase = "queue"
  #phaseAt: number
  #connection: Connection | null = null
  #controller: Dispatcher.DispatchController | null = null
  #decoder: Decoder | null = null
  #over = false
  /** Set by abort(): a failure that waits for its turn is not told any more. */
  #silent = false
  #complete = false
  #paused = false
  #full = false
  #head = false
  #useful = false
  /** True while dispatch() is on the stack: no callback may come before the caller holds the handle. */
  #starting = true

  constructor(request: UpstreamRequest, headers: Array<string>, handler: UpstreamHandler, pool: SocketPool, wheel: TimerWheel, onOver: (call: Call) => void) {
    super()
    this.#request = request
    this.#handler = handler
    this.#pool = pool
    this.#wheel = wheel
    this.#onOver = onOver
    this.startedAt = wheel.now()
    this.#phaseAt = this.startedAt
    this.#totalAt = request.timeouts.total > 0 ? this.startedAt + request.timeouts.total : Infinity
    this.options = { path: request.path, method: request.method, headers, body: request.body }
  }

  start(): void {
    this.#pool.running++
    this.#submit(false)
    this.#arm()
    this.#starting = false
  }

  // ---- the port's handle -------------------------------------------------------------------------------------------------------

  pause(): void {
    if (this.#over || this.#paused) return
    this.#paused = true
    this.#decoder?.pause()
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#over || !this.#paused) return
    this.#paused = false
    // Time that the receiver spent is not the upstream's silence.
    this.#phaseAt = this.#wheel.now()
    this.#arm()
    this.#decoder?.resume()
    this.#flow()
  }

  abort(): void {
    this.#silent = true
    if (this.#over) return
    this.#finish()
    this.#release()
  }

  useful(): void {
    if (this.#over || !this.#head) return
    this.#useful = true
    this.#phaseAt = this.#wheel.now()
    if (this.#phase === "first-event") {
      this.#phase = "idle"
      this.#arm()
    }
  }

  /** Ends the call with a failure of the gateway's own (the scope closes). */
  shutDown(): void {
    this.#fail(Failures.make("aborted", this.#progress(), "the gateway is shutting down", {
      source: "gateway",
      ...(this.#controller === null ? {} : { retry: "never" })
    }))
  }

  // ---- the pool ----------------------------------------------------------------------------------------------------------------

  onAssigned(connection: Connection): void {
    this.#connection = connection
    this.#enter("connect")
  }

  /** The client had no living socket: a new one is being made. */
  onConnecting(): void {
    this.#enter("connect")
  }

  // ---- deadlines ---------------------------------------------------------------------------------------------------------------

  onTick(now: number): number {
    if (this.#over) return Infinity
    const due = this.#due()
    if (due > now) return due
    const { timeouts } = this.#request
    const phase = now >= this.#totalAt ? "total" : this.#phase
    const limit = phase === "total" ? timeouts.total : this.#limit()
    const progress = { ...this.#progress(), phase }
    this.#fail(Failures.make("timeout", progress, `${limitNames[phase]} from ${this.#pool.peer} within ${limit} ms (${phase} timeout)`))
    return Infinity
  }

  // ---- undici ------------------------------------------------------------------------------------------------------------------

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over) return controller.abort(abortedError)
    this.#controller = controller
    if (this.#paused) controller.pause()
    this.#enter("headers")
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, fields: Record<string, string | Array<string> | undefined>): void {
    if (this.#over || status < 200) return
    this.#head = true
    this.#enter(this.#request.timeouts.firstEvent > 0 ? "first-event" : "idle")
    const encoding = fields["content-encoding"]
    const name = encoding === undefined ? "" : encodingOf(String(encoding))
    if (name !== "" && !this.#decode(name)) return
    const flat: Array<string> = []
    for (const field in fields) {
      const value = fields[field]
      if (typeof value === "string") {
        if (name === "" || (field !== "content-encoding" && field !== "content-length")) flat.push(field, value)
      } else if (value !== undefined) { for (const one of value) flat.push(field, one) }
    }
    parsing++
    try {
      this.#handler.onHead(status, flat)
    } finally {
      parsing--
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    parsing++
    try {
      if (this.#decoder !== null) this.#decoder.write(chunk)
      else this.#deliver(chunk)
    } finally {
      parsing--
    }
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.#complete = true
    this.#letGo(true)
    if (this.#decoder !== null) return this.#decoder.end()
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#over || this.#complete) return
    if (!this.#isStale()) return this.#fail(Failures.fromError(error, this.#progress()))
    // Once at most: a new socket has served nothing, so its close is never stale.
    this.#letGo(false)
    this.#controller = null
    this.#enter("queue")
    this.#submit(true)
  }

  // ---- inside ------------------------------------------------------------------------------------------------------------------

  #submit(fresh: boolean): void {
    if (!this.#pool.submit(this, fresh)) {
      this.#fail(Failures.make("timeout", this.#progress(), `the queue for a socket to ${this.#pool.peer} is full`, { source: "gateway" }))
    }
  }

  #enter(phase: Phase): void {
    this.#phase = phase
    this.#phaseAt = this.#wheel.now()
    this.#arm()
  }

  #arm(): void {
    this.#wheel.schedule(this, this.#due())
  }

  #limit(): number {
    const { timeouts } = this.#request
    switch (this.#phase) {
      case "queue":
      case "connect":
        return timeouts.connect
      case "headers":
        return timeouts.headers
      case "first-event":
        return timeouts.firstEvent
      case "idle":
        return timeouts.idle
      case "total":
        return timeouts.total
    }
  }

  #due(): number {
    const limit = this.#limit()
    const waits = limit > 0 && !(this.#paused && this.#head) && !this.#complete
    return waits ? Math.min(this.#phaseAt + limit, this.#totalAt) : this.#totalAt
  }

  #progress(): Failures.Progress {
    return { phase: this.#phase, sent: this.#controller !== null, head: this.#head, useful: this.#useful, peer: this.#pool.peer }
  }

  #isStale(): boolean {
    const connection = this.#connection
    if (connection === null || this.#controller === null || this.#head) return false
    const headers = this.#request.headers
    let idempotencyKey = false
    for (let i = 0; i < headers.length; i += 2) if (headers[i] === "idempotency-key") idempotencyKey = true
    return Failures.maySendAgain({
      method: this.#request.method,
      idempotencyKey,
      reused: connection.served > 0
    })
  }

  #decode(name: string): boolean {
    if (!supports(name)) {
      this.#fail(Failures.make("protocol", this.#progress(), `${this.#pool.peer} sent the content-encoding "${name.slice(0, 40)}", which cannot be decoded`))
      return false
    }
    this.#decoder = new Decoder(name, {
      onData: (chunk) => this.#deliver(chunk),
      onEnd: () => this.#end(),
      onError: (reason, message) => this.#fail(Failures.make(reason, this.#progress(), `${this.#pool.peer}: ${message}`)),
      onFull: () => {
        this.#full = true
        this.#controller?.pause()
      },
      onReady: () => {
        this.#full = false
        this.#flow()
      }
    })
    return true
  }

  #deliver(chunk: Uint8Array): void {
    if (this.#over) return
    if (this.#request.timeouts.firstEvent <= 0) this.#useful = true
    this.#handler.onData(chunk)
  }

  #flow(): void {
    if (this.#paused || this.#full || this.#complete || this.#over) return
    if (parsing === 0) this.#controller?.resume()
    else queueMicrotask(() => this.#flow())
  }

  #end(): void {
    if (this.#over) return
    this.#finish()
    parsing++
    try {
      this.#handler.onEnd()
    } finally {
      parsing--
    }
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#over) return
    const late = this.#starting
    this.#finish()
    this.#release()
    if (late) {
      queueMicrotask(() => {
        if (!this.#silent) this.#handler.onFailure(failure)
      })
    } else this.#handler.onFailure(failure)
  }

  #finish(): void {
    this.#over = true
    this.#wheel.cancel(this)
    this.#pool.running--
    this.#onOver(this)
  }

  /** Gives up whatever the call holds: its place in the queue, its attempt to connect, or its socket. */
  #release(): void {
    const connection = this.#connection
    const controller = this.#controller
    this.#decoder?.close()
    this.#letGo(false)
    if (connection === null) this.#pool.leaveQueue(this)
    else if (controller === null) connection.close()
    else if (!this.#complete) {
      connection.pool.drop(connection)
      controller.abort(abortedError)
    }
  }

  #letGo(served: boolean): void {
    const connection = this.#connection
    if (connection === null) return
    this.#connection = null
    connection.call = null
    if (served) connection.served++
  }
}
