/** One running call: the connection's exchange, the port's handle and the wheel's entry in one object. */
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { Phase, UpstreamCall, UpstreamFailure, UpstreamHandler, UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { Decoder, encodingOf, supports } from "./Decoder.ts"
import * as Failures from "./failures.ts"
import type { ConnectionExchange, Http1Connection } from "./Http1Connection.ts"
import type { RequestHead } from "./request/RequestHead.ts"
import type { SocketPool } from "./SocketPool.ts"
import { WheelEntry } from "./TimerWheel.ts"
import type { TimerWheel } from "./TimerWheel.ts"

const limitNames: Readonly<Record<Phase, string>> = {
  queue: "no socket was free",
  connect: "no connection was made",
  headers: "no response head came",
  "first-event": "no useful event came",
  idle: "no further useful event came",
  total: "the call did not end"
}

/** The head of a response whose body is handed on decoded. */
const withoutEncoding = (headers: ReadonlyArray<string>): Array<string> => {
  const out: Array<string> = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ""
    if (name !== "content-encoding" && name !== "content-length") out.push(name, headers[i + 1] ?? "")
  }
  return out
}

export class HttpCall extends WheelEntry implements UpstreamCall, ConnectionExchange {
  /** Place among the live calls. */
  rosterSlot = -1
  readonly head: RequestHead
  /** Null from the response head on: a long request need not live as long as its answer. */
  body: UpstreamRequest["body"]
  readonly startedAt: number
  readonly #method: UpstreamRequest["method"]
  readonly #headers: UpstreamRequest["headers"]
  readonly #timeouts: UpstreamRequest["timeouts"]
  readonly #handler: UpstreamHandler
  readonly #pool: SocketPool
  readonly #wheel: TimerWheel
  readonly #onOver: (call: HttpCall) => void
  #phase: Phase = "queue"
  #phaseAt: number
  #connection: Http1Connection | null = null
  #sent = false
  #decoder: Decoder | null = null
  #over = false
  /** Set by abort(): a failure that waits for its turn is not reported any more. */
  #silent = false
  #complete = false
  #paused = false
  #full = false
  #answered = false
  #useful = false
  /** True while dispatch() is on the stack: no callback may come before the caller holds the handle. */
  #starting = true

  constructor(request: UpstreamRequest, head: RequestHead, handler: UpstreamHandler, pool: SocketPool, wheel: TimerWheel, onOver: (call: HttpCall) => void) {
    super()
    this.#method = request.method
    this.#headers = request.headers
    this.#timeouts = request.timeouts
    this.#handler = handler
    this.#pool = pool
    this.#wheel = wheel
    this.#onOver = onOver
    this.startedAt = wheel.now()
    this.#phaseAt = this.startedAt
    this.head = head
    this.body = request.body
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
    this.#connection?.pause()
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
    if (this.#over || !this.#answered) return
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
      ...(this.#sent ? { retry: "never" } : {})
    }))
  }

  get #totalAt(): number {
    const { total } = this.#timeouts
    return total > 0 ? this.startedAt + total : Infinity
  }

  // ---- the pool ----------------------------------------------------------------------------------------------------------------

  onAssigned(connection: Http1Connection): void {
    this.#connection = connection
  }

  // ---- deadlines ---------------------------------------------------------------------------------------------------------------

  onTick(now: number): number {
    if (this.#over) return Infinity
    const due = this.#due()
    if (due > now) return due
    const timeouts = this.#timeouts
    const phase = now >= this.#totalAt ? "total" : this.#phase
    const limit = phase === "total" ? timeouts.total : this.#limit()
    const progress = { ...this.#progress(), phase }
    // The tunnel does not stand yet: the provider has not been asked.
    const reason = phase === "connect" && this.#pool.tunnelled ? "proxy" : "timeout"
    if (reason === "proxy") this.#pool.noteProxySilent()
    this.#fail(Failures.make(reason, progress, `${limitNames[phase]} from ${this.#pool.peer} within ${limit} ms (${phase} timeout)`))
    return Infinity
  }

  // ---- the connection ----------------------------------------------------------------------------------------------------------

  onConnecting(): void {
    this.#enter("connect")
  }

  onSent(): void {
    this.#sent = true
    this.#handler.onSent?.()
    if (this.#paused) this.#connection?.pause()
    this.#enter("headers")
  }

  onMessageHead(status: number, headers: Array<string>): void {
    this.#answered = true
    this.body = null
    this.#enter(this.#timeouts.firstEvent > 0 ? "first-event" : "idle")
    const encoding = encodingOf(headerOf(headers, "content-encoding") ?? "")
    if (encoding !== "" && !this.#decode(encoding)) return
    try {
      this.#handler.onHead(status, encoding === "" ? headers : withoutEncoding(headers))
    } catch (error) {
      this.#onThrown(error)
    }
  }

  onMessageData(bytes: Buffer): void {
    if (this.#decoder !== null) this.#decoder.write(Buffer.from(bytes))
    else this.#deliver(bytes)
  }

  onMessageEnd(): void {
    this.#complete = true
    this.#connection = null
    if (this.#decoder !== null) return this.#decoder.end()
    this.#end()
  }

  onBroken(error: Error): void {
    if (this.#over) return
    if (error instanceof Failures.BodyLost || !this.#isStale()) return this.#fail(Failures.fromError(error, this.#progress()))
    // Once at most: a new socket has served nothing, so its close is never stale.
    this.#connection = null
    this.#sent = false
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
    const timeouts = this.#timeouts
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
    const waits = limit > 0 && !(this.#paused && this.#answered) && !this.#complete
    return waits ? Math.min(this.#phaseAt + limit, this.#totalAt) : this.#totalAt
  }

  #progress(): Failures.Progress {
    return { phase: this.#phase, sent: this.#sent, head: this.#answered, useful: this.#useful, peer: this.#pool.peer }
  }

  #isStale(): boolean {
    const connection = this.#connection
    if (connection === null || !this.#sent || connection.answered) return false
    return Failures.maySendAgain({
      method: this.#method,
      idempotencyKey: headerOf(this.#headers, "idempotency-key") !== undefined,
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
        this.#connection?.pause()
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
    if (this.#timeouts.firstEvent <= 0) this.#useful = true
    try {
      this.#handler.onData(chunk)
    } catch (error) {
      this.#onThrown(error)
    }
  }

  /** The receiver is broken: the call ends; the process and every other call continue. */
  #onThrown(error: unknown): void {
    this.#fail(Failures.fromError(error instanceof Error ? error : new Error(String(error)), this.#progress()))
  }

  #flow(): void {
    if (this.#paused || this.#full || this.#complete || this.#over) return
    this.#connection?.resume()
  }

  #end(): void {
    if (this.#over) return
    this.#finish()
    try {
      this.#handler.onEnd()
    } catch {
      // The call is over: there is nothing left to tell.
    }
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#over) return
    const late = this.#starting
    if (failure.reason === "proxy") this.#pool.noteProxyFailed(failure.message)
    this.#finish()
    this.#release()
    if (late) queueMicrotask(() => this.#tell(failure))
    else this.#tell(failure)
  }

  #tell(failure: UpstreamFailure): void {
    if (this.#silent) return
    try {
      this.#handler.onFailure(failure)
    } catch {
      // The call is over: there is nothing left to tell.
    }
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
    this.#decoder?.close()
    this.#connection = null
    if (connection !== null) connection.close()
    else if (!this.#complete) this.#pool.leaveQueue(this)
  }
}
