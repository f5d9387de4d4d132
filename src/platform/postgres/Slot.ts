/**
 * One server connection: a postgres.js client of size one, so that a statement, a transaction and a broken socket always
 * belong together.
 *
 * postgres.js reconnects by itself; a slot adds what it lacks: an end to every wait (a server that stays silent longer
 * than its own statement timeout is gone, and its socket is cut), and a generation, so that a transaction never
 * continues on another connection than the one it began on.
 */
import { Duplex } from "node:stream"
import { setTimeout as delay } from "node:timers/promises"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import postgres from "postgres"
import { connectionLost, fromDriver } from "./sqlErrors.ts"
import { stored } from "./text.ts"

/** Where a slot's bytes go: TCP, TLS, a Unix socket or the embedded server. */
export interface Transport {
  /** Opens a byte stream; rejects when it cannot. */
  readonly open: () => Promise<Duplex>
  /** True when a running statement can be cancelled over a second stream. */
  readonly cancels: boolean
}

export type DriverOptions = postgres.Options<Record<string, never>>

export interface SlotOptions {
  readonly driver: DriverOptions
  readonly transport: Transport
  /** ms without an answer after which the connection is cut. */
  readonly silence: number
  /** False behind a pooler that cannot keep prepared statements. */
  readonly prepare: boolean
}

/** ms that a cancelled statement may take to end before its connection is cut. */
const cancelGrace = 1_000
const cancelRequestCode = 80877102
/** ms between fruitless connects: doubles from the first to the last. */
const firstPause = 25
const maxPause = 800
/** Distinct statements prepared per connection; later ones go unprepared, so that the server's memory stays bounded. */
const maxPrepared = 400

type Shape = "rows" | "values" | "result"

/** ms of silence that the statements of an effect are given instead of the connection's own; for migrations. */
export const Patience = Context.Reference<number | undefined>("gateway/postgres/Patience", { defaultValue: () => undefined })

export class Slot {
  #sql: postgres.Sql
  readonly #options: SlotOptions
  readonly #sockets = new Set<Duplex>()
  readonly #prepared = new Set<string>()
  /** Connects in a row without one answered statement. */
  #fruitless = 0
  /** Why this side cut the connection last, until it connects again. */
  #severed: string | null = null
  #generation = 0
  #pending = 0
  #whenIdle: (() => void) | null = null
  #closed = false

  constructor(options: SlotOptions) {
    this.#options = options
    this.#sql = this.#driver()
  }

  /**
   * A driver for one life of the connection. The driver keeps the last error of a connection that the server ended and
   * gives it to the first statement of the next one: so a lost connection takes its driver with it.
   */
  #driver(): postgres.Sql {
    const born = this.#generation
    const options: DriverOptions & { readonly socket: () => Promise<Duplex> } = {
      ...this.#options.driver,
      max: 1,
      socket: () => this.#open(born),
      onclose: () => {
        if (born !== this.#generation) return
        this.#generation++
        this.#prepared.clear()
        const old = this.#sql
        this.#sql = this.#driver()
        old.end({ timeout: 0 }).catch(() => undefined)
      }
    }
    return postgres(options)
  }

  /** For statements that stand alone. */
  readonly connection: Connection = this.#makeConnection((sql, params, shape, prepare) =>
    this.#run(sql, params, shape, prepare)
  )

  /** For one transaction: fails when the connection it began on was lost. */
  transaction(): Connection {
    let born = -1
    return this.#makeConnection((sql, params, shape, prepare) => {
      if (sql === "ROLLBACK") return this.#rollback(born)
      if (born === -1) {
        return Effect.map(this.#run(sql, params, shape, prepare), (rows) => {
          born = this.#generation
          return rows
        })
      }
      return Effect.suspend(() =>
        born === this.#generation
          ? this.#run(sql, params, shape, prepare)
          : Effect.fail(connectionLost("The connection was lost in the middle of a transaction; nothing of it was committed."))
      )
    })
  }

  /** Calls back once no statement is running, at once when that is now. */
  idle(then: () => void): void {
    if (this.#pending === 0) then()
    else this.#whenIdle = then
  }

  /** Cuts the connection: running statements fail, the next one connects anew. */
  sever(why: string): void {
    this.#severed = why
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Ends the connection for good; running statements get `grace` ms. */
  async close(grace: number): Promise<void> {
    this.#closed = true
    await this.#sql.end({ timeout: grace / 1_000 }).catch(() => undefined)
    this.sever("The client was closed.")
  }

  /** Never rejects: the driver forgets a connection whose stream it did not get, so a failure is a stream that breaks. */
  async #open(born: number): Promise<Duplex> {
    if (this.#fruitless > 0) await delay(Math.min(maxPause, firstPause * 2 ** (this.#fruitless - 1)))
    this.#fruitless++
    const over = () => this.#closed || born !== this.#generation
    if (over()) return broken(new Error("The connection was given up."))
    try {
      const socket = await this.#options.transport.open()
      for (const other of this.#sockets) if (other.destroyed) this.#sockets.delete(other)
      if (over()) {
        socket.on("error", () => undefined).destroy()
        return broken(new Error("The connection was given up."))
      }
      this.#sockets.add(socket)
      this.#severed = null
      return socket
    } catch (error) {
      return broken(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** A lost connection has rolled back by itself, and one that cannot roll back is cut: this never fails. */
  #rollback(born: number): Effect.Effect<ReadonlyArray<never>> {
    if (born !== this.#generation) return Effect.succeed([])
    return Effect.matchEffect(this.#run("ROLLBACK", [], "rows", false), {
      onSuccess: () => Effect.succeed([]),
      onFailure: () =>
        Effect.sync(() => {
          this.sever("A rollback failed.")
          return []
        })
    })
  }

  #run(text: string, params: ReadonlyArray<unknown>, shape: Shape, prepare: boolean): Effect.Effect<ReadonlyArray<unknown>, SqlError> {
    return Effect.withFiber((fiber) => this.#send(text, params, shape, prepare, fiber.getRef(Patience) ?? this.#options.silence))
  }

  #send(
    text: string,
    params: ReadonlyArray<unknown>,
    shape: Shape,
    prepare: boolean,
    silence: number
  ): Effect.Effect<ReadonlyArray<unknown>, SqlError> {
    return Effect.callback((resume) => {
      const query: postgres.PendingQuery<Array<postgres.Row>> = this.#sql.unsafe(
        text,
        params.map(clean) as Array<postgres.SerializableParameter>,
        { prepare: prepare && this.#mayPrepare(text) }
      )
      // The driver remembers an origin per failed statement for ever; an untagged statement has none.
      Object.defineProperty(query, "origin", { value: "" })
      if (shape === "values") query.values()
      this.#pending++
      let over = false
      let timer = setTimeout(() => this.sever(`No answer within ${silence} ms.`), silence)
      const settle = (outcome: Effect.Effect<ReadonlyArray<unknown>, SqlError>) => {
        if (over) return
        over = true
        clearTimeout(timer)
        this.#pending--
        resume(outcome)
        if (this.#pending === 0 && this.#whenIdle !== null) {
          const then = this.#whenIdle
          this.#whenIdle = null
          then()
        }
      }
      query.then(
        (rows) => {
          this.#fruitless = 0
          settle(Effect.succeed(rows))
        },
        (error: unknown) => {
          if (isAnswer(error)) this.#fruitless = 0
          settle(Effect.fail(this.#severed === null || isAnswer(error) ? fromDriver(error) : connectionLost(this.#severed)))
        }
      )
      return Effect.sync(() => {
        if (over || !this.#options.transport.cancels) return
        clearTimeout(timer)
        timer = setTimeout(() => this.sever("A cancelled statement did not end."), cancelGrace)
        this.#cancel(query)
      })
    })
  }

  /** The driver's own cancel drops a promise that may reject, which ends the process: this one does not. */
  #cancel(query: object): void {
    const backend: unknown = Reflect.get(query, "state")
    if (typeof backend !== "object" || backend === null) return
    const [pid, secret]: ReadonlyArray<unknown> = [Reflect.get(backend, "pid"), Reflect.get(backend, "secret")]
    if (typeof pid !== "number" || typeof secret !== "number") return
    this.#options.transport.open().then((socket) => {
      const request = Buffer.alloc(16)
      request.writeUInt32BE(16, 0)
      request.writeUInt32BE(cancelRequestCode, 4)
      request.writeUInt32BE(pid, 8)
      request.writeUInt32BE(secret, 12)
      socket.on("error", () => socket.destroy())
      socket.end(request)
      setTimeout(() => socket.destroy(), cancelGrace).unref()
    }, () => undefined)
  }

  #mayPrepare(text: string): boolean {
    if (!this.#options.prepare) return false
    if (this.#prepared.has(text)) return true
    if (this.#prepared.size >= maxPrepared) return false
    this.#prepared.add(text)
    return true
  }

  #makeConnection(
    run: (
      sql: string,
      params: ReadonlyArray<unknown>,
      shape: Shape,
      prepare: boolean
    ) => Effect.Effect<ReadonlyArray<unknown>, SqlError>
  ): Connection {
    const execute: Connection["execute"] = (sql, params, transform) => {
      const rows = run(sql, params, "rows", true) as Effect.Effect<ReadonlyArray<object>, SqlError>
      return transform === undefined ? rows : Effect.map(rows, transform)
    }
    const values = (prepare: boolean): Connection["executeValues"] => (sql, params) =>
      run(sql, params, "values", prepare) as Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError>
    return {
      execute,
      executeRaw: (sql, params) => run(sql, params, "result", true),
      executeValues: values(true),
      executeValuesUnprepared: values(false),
      executeUnprepared: (sql, params, transform) => {
        const rows = run(sql, params, "rows", false) as Effect.Effect<ReadonlyArray<object>, SqlError>
        return transform === undefined ? rows : Effect.map(rows, transform)
      },
      executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform))
    }
  }
}

/** A stream that fails once the driver listens to it. */
const broken = (error: Error): Duplex => {
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  setImmediate(() => stream.destroy("code" in error ? error : Object.assign(error, { code: "CONNECTION_ENDED" })))
  return stream
}

/** True when the server itself answered with an error: the connection works. */
const isAnswer = (error: unknown): boolean => error instanceof postgres.PostgresError

/** A client-supplied NUL must not fail a statement. */
const clean = (value: unknown): unknown => typeof value === "string" ? stored(value) : value ?? null
