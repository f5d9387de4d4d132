/**
 * The one table of what runs permanently in this process: loops, timers, threads and actors, each with its restart rule, its
 * backoff, the effect of its absence, and when a stop ends it. A loop without a row does not compile, and a test over the sources
 * refuses loops and timers made elsewhere.
 *
 * A defect in a loop is logged and counted (`gateway_loop_restarts_total{loop}`), and the loop begins again after its backoff.
 * Failures that are expected are the loop's own business; an interruption ends it. Each loop is forked into the scope of its
 * layer: a stop closes the layers in the order of `drainOrder`.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import * as Ticker from "./Ticker.ts"

/** `always`: a round follows the last one, however it ended. `after a defect`: a round that ends well was the last one. */
export type Restart = "always" | "after a defect" | "never"

export interface Backoff {
  /** Wait after the first defect, ms; each further one in a row doubles it. */
  readonly firstMs: number
  /** Longest wait, ms. */
  readonly mostMs: number
}

/** For what requests wait for. */
const QUICK: Backoff = { firstMs: 100, mostMs: 5_000 }
/** For what catches up at its next round. */
export const STEADY: Backoff = { firstMs: 1_000, mostMs: 60_000 }
/** For processes: what kills one at once must not keep the machine busy. */
const PROCESS: Backoff = { firstMs: 100, mostMs: 10_000 }
/** A round that lasted this long, ms, counts as healthy: the count of defects starts again at one. */
export const WELL_AFTER_MS = 60_000
/** Defects of ticks may come many times a second: one is logged per this interval, ms; all are counted. */
export const LOG_EVERY_MS = 10_000

/** What a stop ends first stands first; within a step the order is free. */
export const drainOrder = ["requests", "accounting", "webhooks", "connections", "sweeps", "nodes", "records", "export", "process"] as const

export interface LoopRow {
  /** A fiber that runs rounds; a timer of plain callbacks; a thread; an actor that lives for one request. */
  readonly kind: "fiber" | "timer" | "thread" | "actor"
  readonly restart: Restart
  readonly backoff: Backoff
  readonly drain: typeof drainOrder[number]
  /** What the log says beside the name and the restart. */
  readonly log: string
}

const fiber = (drain: LoopRow["drain"], backoff: Backoff, log: string) => ({ kind: "fiber", restart: "always", backoff, drain, log }) as const
/** Begun by what it works on, and over when nothing is left. */
const task = (drain: LoopRow["drain"], backoff: Backoff, log: string) => ({ kind: "fiber", restart: "after a defect", backoff, drain, log }) as const
/** Its pace is its backoff: the next tick comes at its time. */
const timer = (drain: LoopRow["drain"], log: string) => ({ kind: "timer", restart: "always", backoff: { firstMs: 0, mostMs: 0 }, drain, log }) as const
/** Started again by the next work for it. */
const thread = (drain: LoopRow["drain"], log: string) => ({ kind: "thread", restart: "after a defect", backoff: { firstMs: 0, mostMs: 0 }, drain, log }) as const

export const loops = {
  request: { kind: "actor", restart: "never", backoff: { firstMs: 0, mostMs: 0 }, drain: "requests", log: "A request failed unexpectedly" },
  "stream heartbeats": fiber("requests", QUICK, "silent streams get no heartbeat meanwhile"),
  "live events": timer("requests", "live events of one round are late, and sockets of callers who signed out stay open longer"),
  "progress of tools": fiber("requests", QUICK, "a caller of a slow tool hears nothing until its answer"),
  "beats of gateway mcp": fiber("requests", QUICK, "a session over `gateway mcp` counts as gone"),
  "MCP server": fiber("requests", STEADY, "the tools of one MCP server are not offered meanwhile"),
  tunnel: fiber("requests", STEADY, "one tunnel is closed, or its daemon is away"),
  "tunnel states": fiber("requests", STEADY, "the other processes of this machine do not know how its tunnels stand"),
  "tunnel sign-in": task("requests", STEADY, "a sign-in to Tailscale must be asked for again"),
  "body threads": thread("requests", "the next large body starts another one"),
  "page threads": thread("requests", "the next page starts another one"),
  "idempotency claims": fiber("requests", QUICK, "another node may take the claim of a running request"),
  "limit reconciliation": fiber("requests", STEADY, "limits count on without the ledger's word"),
  "limit renewal": fiber("requests", QUICK, "what this node took of shared limits is not renewed"),
  "limit handover": task("requests", STEADY, "other nodes wait for what this node's earlier lives used"),
  "limit notices": fiber("requests", STEADY, "notices of past windows stay stored"),
  "lease sweep": fiber("requests", STEADY, "expired leases stay, and so do those whose key or connection went"),
  "lease records": task("requests", STEADY, "changes of leases wait for their records"),
  "cache writes": fiber("requests", STEADY, "answers wait for the durable cache"),
  "cache eviction": fiber("requests", STEADY, "expired answers stay in the durable cache"),
  "call bodies": fiber("requests", STEADY, "bodies of calls wait in memory, and further ones are not kept"),
  "sweep/call bodies": fiber("requests", STEADY, "bodies of calls stay stored beyond their hours"),
  "compression statistics": fiber("requests", STEADY, "savings of compression wait to be stored"),
  "raw outputs": fiber("requests", STEADY, "whole outputs of tools wait in memory, and further ones are not kept"),
  "search statistics": fiber("requests", STEADY, "counts of searches wait to be stored"),
  "proxy subscriptions": fiber("requests", STEADY, "lists of outbound proxies grow old"),
  "proxy health": fiber("requests", STEADY, "counts of tunnels wait to be stored"),
  "background responses": fiber("requests", STEADY, "responses in the background are made twice, or wait for a process that makes them"),
  "sweep/responses": fiber("requests", STEADY, "expired responses stay stored"),
  "agent tasks": fiber("requests", QUICK, "tasks of other agents may count as failed, and go on when they were cancelled on another node"),
  "sweep/agent tasks": fiber("requests", STEADY, "abandoned tasks of other agents end when they are read, and old ones stay stored"),
  batches: fiber("requests", STEADY, "batches stand still"),
  batch: task("requests", STEADY, "its lines wait"),
  "sweep/batches": fiber("requests", STEADY, "old batches stay stored"),
  "sweep/memories": fiber("requests", STEADY, "expired entries of memories stay stored"),
  "memory vectors": fiber("requests", STEADY, "entries of memories that have no vector yet are compared by words alone"),
  "sweep/files": fiber("requests", STEADY, "expired files stay stored"),
  "sweep/file bytes": fiber("requests", STEADY, "bytes that belong to no file stay stored"),
  "model lists": fiber("requests", STEADY, "the model lists of provider nodes grow old"),
  "model catalogues": fiber("requests", STEADY, "prices and facts of models from public lists grow old"),
  "configuration file": fiber("requests", QUICK, "a SIGHUP is heard later"),
  "connection tests": fiber("requests", STEADY, "connections are not tested in the background"),
  "connection days": fiber("requests", STEADY, "limits per day of connections count what this node settled"),
  "quota history": task("requests", STEADY, "quota readings are not stored"),
  "quota polls": fiber("requests", STEADY, "quotas are read from answers only"),
  "quota polls elsewhere": fiber("requests", STEADY, "quotas that other nodes read are not known here"),
  "quota eviction": fiber("requests", STEADY, "old quota readings stay stored"),
  "scheduled backups": fiber("requests", STEADY, "no backup is made on its schedule"),
  "database check": task("requests", STEADY, "the schema of the database is not checked"),
  "journal delivery": fiber("accounting", STEADY, "usage rows wait in the journal"),
  "journal retention": fiber("accounting", STEADY, "old segments of the journal stay"),
  "journal replay": fiber("accounting", STEADY, "journals of dead processes wait"),
  "journal fsync": fiber("accounting", STEADY, "the journal is flushed by the kernel alone"),
  tokenizer: thread("accounting", "tokens are estimated from characters until another one is loaded"),
  "event loop watch": timer("accounting", "one stall of the event loop is not counted"),
  "webhook events": fiber("webhooks", STEADY, "events wait in their file"),
  "webhook leftovers": fiber("webhooks", STEADY, "events of dead processes wait in their files"),
  "webhook queue": fiber("webhooks", STEADY, "jobs and webhooks of other nodes are not noticed"),
  "webhook backlog": fiber("webhooks", STEADY, "the backlog of slow webhooks is not bounded"),
  "webhook lane": fiber("webhooks", STEADY, "its deliveries wait in the queue"),
  "sweep/webhooks": fiber("webhooks", STEADY, "old deliveries stay stored"),
  "token refresh": fiber("connections", STEADY, "tokens are renewed by the requests that need them"),
  "cooldown records": task("connections", STEADY, "cooldowns and breakers are not stored"),
  "node count": fiber("connections", STEADY, "shares of limits follow the last count of nodes"),
  "cooldown feed": fiber("connections", STEADY, "cooldowns of other nodes are heard of by message only"),
  "upstream deadlines": timer("connections", "one call's deadline may be missed by a second"),
  "simulator pace": timer("connections", "one simulated answer may stand still"),
  "sweep/nodes and changes": fiber("sweeps", STEADY, "old changes and dead nodes stay stored"),
  "sweep/sessions": fiber("sweeps", STEADY, "expired sessions stay stored"),
  "sweep/usage": fiber("sweeps", STEADY, "usage rows stay beyond their days"),
  "sweep/audit log": fiber("sweeps", STEADY, "the audit log stays beyond its days"),
  "sweep/lease changes": fiber("sweeps", STEADY, "changes of leases stay beyond their days"),
  "change feed": fiber("nodes", QUICK, "changes of other nodes are not applied"),
  "stand-still watch": timer("nodes", "a process that stood still may act on old records for a moment"),
  "Redis probe": timer("nodes", "Redis is found again later"),
  "Redis pulse": timer("nodes", "a subscription that broke silently is noticed later"),
  "Redis listeners": timer("nodes", "one message of another node was not heard"),
  "embedded database": thread("records", "it is started again by the next statement"),
  "database lock": timer("records", "another host may take the data directory for abandoned"),
  "span export": fiber("export", STEADY, "spans wait to be built"),
  "slow clients": timer("process", "one client's deadline may be missed"),
  worker: fiber("process", PROCESS, "one process fewer serves")
} as const satisfies Readonly<Record<string, LoopRow>>

export type Loop = keyof typeof loops
type OfKind<Kind extends LoopRow["kind"]> = { [Name in Loop]: typeof loops[Name]["kind"] extends Kind ? Name : never }[Loop]

/** For tests: sees each round begin, and ends one with a defect by throwing. */
export class Probe extends Context.Reference<{ readonly round: (loop: Loop) => void; readonly ended: (loop: Loop) => void } | null>(
  "gateway/actors/Supervisor/Probe", { defaultValue: () => null }
) {}

/** Wait before the next round after so many defects in a row, ms. */
export const backoffMs = ({ firstMs, mostMs }: Backoff, defects: number): number => Math.min(mostMs, firstMs * 2 ** Math.min(30, Math.max(0, defects - 1)))

const restarts = (name: Loop) => Metric.counter("gateway_loop_restarts_total", {
  description: "Defects of a loop after which it went on.", attributes: { loop: name }, incremental: true
})

type Fields = Readonly<Record<string, string>>

const line = (name: Loop, cause: Cause.Cause<unknown>, after: string, defects: number, fields?: Fields): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError(`${name}: a defect, and ${after}; ${loops[name].log}`, cause), {
    loop: name, restart: loops[name].restart, defects, ...fields
  })

const isAlways = (): boolean => true

export interface LoopRounds {
  /** Asked before each round; false ends the loop. */
  readonly while?: () => boolean
  /** The first round of a `loop` runs up to its first wait before the caller continues. */
  readonly atOnce?: boolean
  /** Which of several loops of the name it is, for the log. */
  readonly fields?: Fields
}

/**
 * Rounds under the rule of their row, in the fiber that runs this. A round waits for its time or its work itself. Its failure
 * ends the loop with the same failure.
 */
export const supervised = <E, R>(name: OfKind<"fiber">, round: Effect.Effect<unknown, E, R>, turns: LoopRounds = {}): Effect.Effect<void, E, R> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const probe = Context.get(context, Probe)
    const { backoff, restart } = loops[name]
    const clock = yield* Clock.Clock
    const mayRun = turns.while ?? isAlways
    const counter = restarts(name)
    counter.updateUnsafe(0, context)
    const body = probe === null ? round : Effect.andThen(Effect.sync(() => probe.round(name)), round)
    const rounds = Effect.gen(function*() {
      let defects = 0
      while (mayRun()) {
        const began = clock.currentTimeMillisUnsafe()
        const exit = yield* Effect.exit(body)
        if (Exit.isSuccess(exit)) {
          if (restart !== "always") return
          defects = 0
          // A round that had nothing to wait for leaves the others their turn.
          yield* Effect.yieldNow
          continue
        }
        if (Cause.hasFails(exit.cause)) return yield* Effect.failCause(exit.cause)
        // An interruption of this fiber never comes here: what comes is a defect, or the interruption of something it waited for.
        defects = clock.currentTimeMillisUnsafe() - began >= WELL_AFTER_MS ? 1 : defects + 1
        const waitMs = backoffMs(backoff, defects)
        counter.updateUnsafe(1, context)
        yield* line(name, exit.cause, `it begins again in ${waitMs} ms`, defects, turns.fields)
        yield* Effect.sleep(waitMs)
      }
    })
    return yield* probe === null ? rounds : Effect.ensuring(rounds, Effect.sync(() => probe.ended(name)))
  })

/** A loop of the scope that this is run in. */
export const loop = <R>(name: OfKind<"fiber">, round: Effect.Effect<unknown, never, R>, turns?: LoopRounds): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.asVoid(Effect.forkScoped(supervised(name, round, turns), { startImmediately: turns?.atOnce === true }))

/** Where an actor, a thread or a part of a round reports its defect; it continues without a restart from here. */
export const reporter = (name: Loop): Effect.Effect<(error: unknown, fields?: Fields) => void> => Effect.map(Effect.context<never>(), (context) => {
  const run = Effect.runForkWith(context)
  const clock = Context.get(context, Clock.Clock)
  const row: LoopRow = loops[name]
  const counter = row.restart === "never" ? null : restarts(name)
  counter?.updateUnsafe(0, context)
  const everyMs = row.kind === "thread" || row.kind === "actor" ? 0 : LOG_EVERY_MS
  const after = row.restart === "never" ? "it is over" : "it goes on"
  let defects = 0
  let quietUntil = Number.NEGATIVE_INFINITY
  return (error, fields) => {
    defects++
    counter?.updateUnsafe(1, context)
    const at = clock.currentTimeMillisUnsafe()
    if (at < quietUntil) return
    quietUntil = at + everyMs
    run(line(name, Cause.isCause(error) ? error : Cause.die(error), after, defects, fields))
  }
})

/** A timer of plain callbacks, for what is too much or too often for fibers. */
export const ticker = (name: OfKind<"timer">): Effect.Effect<Ticker.Ticker> => Effect.gen(function*() {
  const probe = yield* Probe
  return Ticker.make(yield* reporter(name), probe === null ? undefined : () => probe.round(name))
})
