/**
 * GATEWAY_WORKERS processes on one port: the kernel spreads the connections over all listeners. The supervisor serves nothing
 * itself. The first worker starts alone (it migrates, makes the first password, and says why when it cannot start), then the others;
 * one that dies is started again. They drain together, each within its own grace.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { type Drain, FromWorker, type Scraped, type Tell } from "./messages.ts"
import { Scrapes } from "./Scrapes.ts"

/** How one life of a worker ended. */
const Ended = Schema.Struct({
  code: Schema.NullOr(Schema.Number),
  /** Its name, such as SIGTERM. */
  signal: Schema.NullOr(Schema.String)
})
export interface Ended extends Schema.Schema.Type<typeof Ended> {}

export interface Options {
  readonly workers: number
  /** The program and its arguments. */
  readonly command: readonly [program: string, ...args: ReadonlyArray<string>]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** SIGHUP goes on to the first worker, which reads the configuration file for all; false: it ends the supervisor, as it does any process. */
  readonly reloads: boolean
  /** What a worker gets to drain before it is killed, ms. */
  readonly graceMs: number
}

/** The first worker could not start; it has said why. */
export class NotStarted extends Schema.TaggedError<NotStarted>()("NotStarted", { ended: Ended }) {}

const fromWorker = Schema.is(FromWorker)

/** Wait before the next start after `lives` short lives in a row, ms. */
export const backoffMs = (lives: number): number => Supervisor.backoffMs(Supervisor.loops.worker.backoff, lives)

const drain: Drain = { gateway: "drain" }

type Reply = (message: Scraped | Tell) => void

/** One life of a worker; an interruption drains it, and kills it after the grace. */
const live = (options: Options, index: number, hear: (message: FromWorker, reply: Reply) => void, born: (child: ChildProcess) => void): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    const [program, ...args] = options.command
    const child: ChildProcess = spawn(program, args, {
      env: { ...options.environment, GATEWAY_WORKER: String(index) },
      stdio: ["ignore", "inherit", "inherit", "ipc"]
    })
    born(child)
    let ended: Ended | null = null
    let over = (): void => {}
    const end = (how: Ended): void => {
      if (ended !== null) return
      ended = how
      resume(Effect.succeed(how))
      over()
    }
    const reply: Reply = (message) => {
      if (child.connected) child.send(message, undefined, undefined, () => undefined)
    }
    child.on("message", (message: unknown) => {
      if (fromWorker(message)) hear(message, reply)
    })
    child.once("error", () => end({ code: 1, signal: null }))
    child.once("exit", (code, signal) => end({ code, signal }))
    return Effect.callback<void>((done) => {
      if (ended !== null) return done(Effect.void)
      const timer = setTimeout(() => child.kill("SIGKILL"), options.graceMs)
      over = () => {
        clearTimeout(timer)
        done(Effect.void)
      }
      if (!child.connected) child.kill("SIGTERM")
      else child.send(drain, undefined, undefined, () => undefined)
    })
  })

/** Runs the workers until a stop is asked for over HTTP, and answers which kind of stop; `started` runs once the first of them serves. */
export const run = <E, R>(options: Options, started: Effect.Effect<void, E, R>): Effect.Effect<"restart" | "shutdown", NotStarted | E, Exclude<R, Scope.Scope>> =>
  Effect.gen(function*() {
    const stop = yield* Deferred.make<"restart" | "shutdown">()
    const ready = Array.from({ length: options.workers }, () => Deferred.makeUnsafe<string>())
    const scrapes = new Scrapes(options.workers, (ms, then) => {
      const timer = setTimeout(then, ms)
      return () => clearTimeout(timer)
    })
    const hear = (index: number) => (message: FromWorker, reply: Reply): void => {
      switch (message.gateway) {
        case "stop":
          Deferred.doneUnsafe(stop, Effect.succeed(message.kind))
          return
        case "scrape":
          return scrapes.scrape(index, message.id)
        case "told":
          return scrapes.reply(index, message.round, message.text)
        case "ready":
          scrapes.serves(index, reply)
          Deferred.doneUnsafe(ready[index - 1] ?? Deferred.makeUnsafe<string>(), Effect.succeed(message.banner))
      }
    }

    const children = new Map<number, ChildProcess>()
    const reload = (): void => void children.get(1)?.kill("SIGHUP")
    // Between two lives of the first worker nothing is lost: each life begins with the file.
    if (options.reloads) yield* Effect.acquireRelease(Effect.sync(() => process.on("SIGHUP", reload)), () => Effect.sync(() => process.off("SIGHUP", reload)))

    const worker = (index: number) => Effect.suspend(() => {
      let lives = 0
      return Supervisor.supervised("worker", Effect.gen(function*() {
        const began = performance.now()
        const ended = yield* live(options, index, hear(index), (child) => children.set(index, child))
        scrapes.gone(index)
        if (index === 1 && !(yield* Deferred.isDone(ready[0] as Deferred.Deferred<string>))) return yield* new NotStarted({ ended })
        lives = performance.now() - began > Supervisor.WELL_AFTER_MS ? 1 : lives + 1
        const waitMs = backoffMs(lives)
        yield* Effect.logWarning(`worker ${index} ended (${ended.signal ?? `exit code ${ended.code}`}) and is started again in ${waitMs} ms`)
        yield* Effect.sleep(waitMs)
      }), { fields: { worker: String(index) } })
    })

    const first = ready[0] as Deferred.Deferred<string>
    const others = Effect.andThen(Deferred.await(first), Effect.forEach(ready.slice(1), (_, at) => worker(at + 2), { concurrency: "unbounded", discard: true }))
    const welcome = Effect.gen(function*() {
      yield* Console.log(yield* Deferred.await(first))
      yield* started
      yield* Effect.forEach(ready, Deferred.await, { discard: true })
      yield* Effect.logInfo(`all ${options.workers} workers serve`)
      return yield* Effect.never
    })
    // Interrupted together, the workers drain at the same time.
    const all = Effect.andThen(Effect.all([worker(1), others, welcome], { concurrency: "unbounded", discard: true }), Effect.never)
    return yield* Effect.raceFirst(Deferred.await(stop), all)
  }).pipe(Effect.scoped)
