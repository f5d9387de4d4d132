/**
 * `RedisStore` over ioredis. A call that meets no answer within its deadline is given up and its late reply ignored; a few of those
 * in a row open the store's breaker, after which a call costs nothing until a probe, once a second, is answered.
 */
import * as Crypto from "node:crypto"
import type { Redis } from "ioredis"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Supervisor from "#actors/Supervisor.ts"
import { StoreDeadline } from "#actors/ports/StoreDeadline.ts"
import * as Link from "./link.ts"
import { RedisStore, type RedisScript, SharedStoreDown, type Value } from "./RedisStore.ts"
import { PROBE_EVERY_MS, StoreBreaker } from "./StoreBreaker.ts"
import { Subscriptions } from "./Subscriptions.ts"

/** How long a call may take unless its caller has another deadline, ms. */
export const DEADLINE_MS = 50
/** A probe may take longer, ms: no request waits for it. */
const PROBE_WITHIN_MS = 250
/** Unanswered probes after which the connection itself is replaced: its other end may have vanished without a word. */
const PROBES_PER_CONNECTION = 3
/** How often a connection to a server that only reads is replaced, ms. */
const LEAVE_EVERY_MS = 1_000
/** How often refused writes are told, ms. */
const TELL_REFUSED_EVERY_MS = 60_000
/** How long the start waits for the first connection, ms; without one it continues alone. */
const FIRST_CONNECT_MS = 1_000
/** How long a new subscription may take to be confirmed, ms; after it the wait ends, not the subscription. */
const SUBSCRIBE_WITHIN_MS = 1_000

export interface Options {
  readonly url: Redacted.Redacted<string>
  /** Before every key and channel. Default `gateway:`. */
  readonly prefix?: string | undefined
  /** How long a call waits whose caller has no deadline of its own, ms. Default 50. */
  readonly deadlineMs?: number | undefined
}

/** Replies by which a server says that it answers nothing now; every other error reply is an answer. */
const isAway = (message: string): boolean => /^(?:LOADING|BUSY|MASTERDOWN|NOAUTH)\b/.test(message)

/** Replies of a server that reads and does not write: a replica, full memory, a disk that cannot be written, a user without the right. */
const refusesWrites = (message: string): boolean => /\b(?:READONLY|OOM|MISCONF|NOREPLICAS|NOPERM)\b/.test(message)

const check = "Check REDIS_URL and the server."

/** What Redis takes as an argument without turning it into text. */
const argument = (value: Value): string | number | Buffer =>
  typeof value === "string" || typeof value === "number" ? value
  : Buffer.isBuffer(value) ? value
  : Buffer.from(value.buffer, value.byteOffset, value.byteLength)

/** A call as error messages describe it: `purpose` completes "while ..."; `script` is for the log's fields. */
interface CallPurpose {
  readonly purpose: string
  readonly script?: string
}

const probed: CallPurpose = { purpose: "it was asked whether it is back" }
const announced: CallPurpose = { purpose: "the other nodes were told of a change" }

type Settled = (error: SharedStoreDown | null, reply: unknown) => void

export const make = Effect.fnUntraced(function*(options: Options) {
  const prefix = options.prefix ?? "gateway:"
  const usualMs = options.deadlineMs ?? DEADLINE_MS
  const runLog = Effect.runForkWith(yield* Effect.context<never>())
  const log = (level: "warn" | "info" | "error", message: string, fields: Record<string, unknown> = {}) => {
    const line = level === "warn" ? Effect.logWarning(message) : level === "error" ? Effect.logError(message) : Effect.logInfo(message)
    runLog(Effect.annotateLogs(line, { module: "redis", ...fields }))
  }
  const breaker = new StoreBreaker()
  const breakerOpen = new SharedStoreDown({ reason: "breaker-open", message: `Redis has not answered lately and is asked again within a second. ${check}` })
  const shas = new WeakMap<RedisScript, string>()
  let lastError = ""
  const probes = yield* Supervisor.ticker("Redis probe")
  const pulse = yield* Supervisor.ticker("Redis pulse")
  const listenerFailed = yield* Supervisor.reporter("Redis listeners")
  let stopProbing: (() => void) | null = null
  let unansweredProbes = 0

  const redis = yield* Effect.acquireRelease(
    Effect.sync(() => Link.make(options.url, "commands", (message) => {
      lastError = message
    })),
    (redis) => Effect.sync(() => {
      stopProbing?.()
      Link.close(redis)
    })
  )
  const heard = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const redis = Link.make(options.url, "subscriptions", () => undefined)
      const subscriptions = new Subscriptions(redis, pulse, (channel, error) => listenerFailed(error, { channel }))
      return { redis, subscriptions }
    }),
    ({ redis, subscriptions }) => Effect.sync(() => {
      subscriptions.close()
      Link.close(redis)
    })
  )

  const answered = (): void => {
    unansweredProbes = 0
    if (!breaker.answered()) return
    stopProbing?.()
    stopProbing = null
    log("info", "Redis answers again")
  }

  const unanswered = (why: string, { script }: CallPurpose): void => {
    if (!breaker.unanswered()) return
    log("warn", "Redis does not answer; what is shared falls back to its declared behaviour until it does", { why, lastError, ...(script === undefined ? {} : { script }) })
    stopProbing ??= probes.every(PROBE_EVERY_MS, probe)
  }

  let leftAt = -Infinity
  let toldAt = -Infinity
  /** Behind a name that follows the primary, a failover leaves connections with the replica: new ones lead to the primary. */
  const writeRefused = (why: string): void => {
    const now = performance.now()
    if (now - toldAt >= TELL_REFUSED_EVERY_MS) {
      toldAt = now
      log("warn", "Redis refuses writes; what is shared falls back to its declared behaviour until it takes them", { why })
    }
    if (!why.includes("READONLY") || now - leftAt < LEAVE_EVERY_MS) return
    leftAt = now
    for (const connection of [redis, heard.redis]) if (connection.status === "ready") connection.disconnect(true)
  }

  /** Sends one command; `settle` is called exactly once, at the latest at the deadline. Answers the way to give it up. */
  const send = (told: CallPurpose, name: string, args: ReadonlyArray<string | number | Buffer>, deadlineMs: number, settle: Settled): () => void => {
    let open = true
    const sentAt = deadlineMs > usualMs && !breaker.lets ? performance.now() : 0
    let timer: NodeJS.Timeout | null = null
    if (redis.status !== "ready") {
      const message = `Redis was not connected${lastError === "" ? "" : ` (${lastError})`} while ${told.purpose}. ${check}`
      unanswered(message, told)
      settle(new SharedStoreDown({ reason: "refused", message }), null)
      return () => undefined
    }
    const expire = (): void => {
      if (!open) return
      open = false
      const message = `Redis did not answer within ${deadlineMs} ms while ${told.purpose}. ${check}`
      unanswered(message, told)
      settle(new SharedStoreDown({ reason: "deadline", message }), null)
    }
    // A loop that was busy past the deadline has the reply in its socket already: it is read before the deadline counts.
    timer = setTimeout(() => setImmediate(expire), deadlineMs)
    redis.callBuffer(name, args as Array<string | number | Buffer>, (error, reply) => {
      if (!open) return
      open = false
      if (timer !== null) clearTimeout(timer)
      if (error === null || error === undefined) {
        // An answer that was too late for a request does not send requests there again; a probe with such an answer is over, and another one follows.
        const isLate = sentAt !== 0 && performance.now() - sentAt > usualMs
        if (!isLate) answered()
        else if (told === probed) unanswered(`Redis answered a probe later than ${usualMs} ms`, told)
        return settle(null, reply)
      }
      const isReply = error.name === "ReplyError"
      const message = `Redis refused a command while ${told.purpose}: ${error.message}`
      if (isReply && !isAway(error.message)) answered()
      else unanswered(message, told)
      if (isReply && refusesWrites(error.message)) writeRefused(message)
      settle(new SharedStoreDown({ reason: isReply ? "failed" : "refused", message }), null)
    })
    return () => {
      open = false
      if (timer !== null) clearTimeout(timer)
    }
  }

  const probe = (): void => {
    if (!breaker.probe()) return
    send(probed, "PING", [], PROBE_WITHIN_MS, (error) => {
      if (error === null || breaker.lets) return
      if (++unansweredProbes % PROBES_PER_CONNECTION === 0 && redis.status !== "reconnecting" && redis.status !== "connecting") redis.disconnect(true)
    })
  }

  /** A caller with a deadline of its own rather waits than is refused: its call goes out through an open breaker, too. */
  const call = (told: CallPurpose, name: string, args: ReadonlyArray<string | number | Buffer>): Effect.Effect<unknown, SharedStoreDown> =>
    Effect.withFiber((fiber) => Effect.callback((resume) => {
      const ownMs = told === announced ? null : fiber.getRef(StoreDeadline)
      if (!breaker.lets && ownMs === null) return resume(Effect.fail(breakerOpen))
      const giveUp = send(told, name, args, ownMs ?? usualMs, (error, reply) => resume(error === null ? Effect.succeed(reply) : Effect.fail(error)))
      return Effect.sync(giveUp)
    }))

  const shaOf = (script: RedisScript): string => {
    let sha = shas.get(script)
    if (sha === undefined) {
      sha = Crypto.hash("sha1", script.lua, "hex")
      shas.set(script, sha)
    }
    return sha
  }

  redis.on("ready", answered)
  yield* Effect.all([waitFor(redis, FIRST_CONNECT_MS), waitFor(heard.redis, FIRST_CONNECT_MS)], { concurrency: 2, discard: true })
  if (redis.status !== "ready") {
    const why = lastError === "" ? `no answer within ${FIRST_CONNECT_MS} ms` : lastError
    log("warn", `Redis cannot be used (${why}); the gateway starts without it and keeps trying. ${check}`, { lastError })
  }

  return RedisStore.of({
    prefix,
    run: (script, keys, args) => Effect.suspend(() => {
      const told = { purpose: script.purpose, script: script.name }
      const rest = [keys.length, ...keys.map((key) => prefix + key), ...args.map(argument)]
      return Effect.catchIf(
        call(told, "EVALSHA", [shaOf(script), ...rest]),
        (error) => error.reason === "failed" && error.message.includes("NOSCRIPT"),
        // The server was restarted or flushed: the source goes along once, and is known there from then on.
        () => call(told, "EVAL", [script.lua, ...rest])
      )
    }),
    command: (name, args) => Effect.suspend(() => call({ purpose: `the command ${name} ran` }, name, args.map(argument))),
    publish: (channel, message) => Effect.asVoid(call(announced, "PUBLISH", [prefix + channel, message])),
    subscribe: (channel, listener) => Effect.acquireRelease(
      Effect.promise(() => Promise.race([
        heard.subscriptions.add(prefix + channel, listener),
        new Promise<void>((resolve) => setTimeout(resolve, SUBSCRIBE_WITHIN_MS).unref())
      ])),
      () => Effect.sync(() => heard.subscriptions.remove(prefix + channel, listener))
    ),
    state: () => breaker.state
  })
})

/** Opens the connection and waits until it is ready, for a while. */
const waitFor = (redis: Redis, ms: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    redis.once("ready", () => {
      clearTimeout(timer)
      resume(Effect.void)
    })
    Link.open(redis)
  })

/** The shared store on a Redis server; it starts without one and finds it when it comes. */
export const layer = (options: Options): Layer.Layer<RedisStore> => Layer.effect(RedisStore, make(options))
