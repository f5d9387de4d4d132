/** Leases in Redis, for any number of nodes: one script per transition. Without Redis no lease is given or used (fail closed). */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LeaseStore, LeaseStoreDown, type LeaseOutcome } from "#actors/lease/LeaseStore.ts"
import type {
  Acquire, AcquireReply, LeaseChange, ChangeKind, LeaseClaim, ClaimReply, EndReason, Lease, MoveReply
} from "#schemas/protocols/Lease.ts"
import * as LeaseScripts from "./leaseScripts.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"

/** What a script answers: a word, two texts, and the changes. */
interface Answer {
  readonly word: string
  readonly first: string
  readonly second: string
  readonly lines: ReadonlyArray<string>
}

const textOf = (value: unknown): string => Buffer.isBuffer(value) ? value.toString("utf8") : typeof value === "string" ? value : ""

const answerOf = (reply: unknown): Answer => {
  const [word, first, last] = Array.isArray(reply) ? reply as ReadonlyArray<unknown> : []
  return { word: textOf(word), first: textOf(first), second: textOf(last), lines: Array.isArray(last) ? last.map(textOf) : [] }
}

const leaseOf = (record: string): Lease => {
  const [owner = "", keyId = "", keyPrint = "", connection = "", generation, acquiredAt, renewedAt, expiresAt] = record.split("\n")
  return {
    owner, keyId, keyPrint, connection,
    generation: Number(generation), acquiredAt: Number(acquiredAt), renewedAt: Number(renewedAt), expiresAt: Number(expiresAt)
  }
}

const changeOf = (line: string): LeaseChange => {
  const end = line.indexOf("\n")
  const [kind, reason, at] = line.slice(0, end).split("|")
  return {
    kind: kind as ChangeKind,
    reason: reason === "" ? null : reason as EndReason,
    at: Number(at),
    lease: leaseOf(line.slice(end + 1))
  }
}

const granted = ({ first, second, word }: Answer): AcquireReply => {
  switch (word) {
    case "granted":
    case "reused":
      return { _tag: "Granted", lease: leaseOf(first), reused: word === "reused" }
    case "draw":
      return { _tag: "Draw", epoch: first, highest: Number(second) }
    case "capacity":
      return { _tag: "Capacity", now: Number(first), freeAt: Number(second) }
    case "unavailable":
      return { _tag: "Unavailable" }
    default:
      return { _tag: "Stale" }
  }
}

const held = ({ first, word }: Answer): ClaimReply => word === "held" ? { _tag: "Held", lease: leaseOf(first) } : { _tag: "Stale" }

const moved = (answer: Answer): MoveReply => answer.word === "taken" ? { _tag: "Taken" } : held(answer)

const both: ReadonlyArray<string> = [LeaseScripts.keys.records, LeaseScripts.keys.holders]
const claimArgs = ({ generation, keyId, keyPrint, owner }: LeaseClaim) => [owner, keyId, keyPrint, generation]

const acquireArgs = ({ available, drawn, fits, keyId, keyPrint, owner, ttlMs }: Acquire) => [
  owner, keyId, keyPrint, ttlMs, drawn === null ? "" : drawn.generation, drawn === null ? "" : drawn.epoch, Crypto.randomUUID(),
  fits.length, ...fits, ...available
]

export const make = Effect.gen(function*() {
  const redis = yield* RedisStore

  const ask = (script: RedisScript, keys: ReadonlyArray<string>, args: ReadonlyArray<string | number>): Effect.Effect<Answer, LeaseStoreDown> =>
    Effect.mapBoth(redis.run(script, keys, args), { onFailure: ({ message }) => new LeaseStoreDown({ message }), onSuccess: answerOf })

  const run = <Reply>(script: RedisScript, args: ReadonlyArray<string | number>, read: (answer: Answer) => Reply, keys = both) =>
    Effect.map(ask(script, keys, args), (answer): LeaseOutcome<Reply> => ({ reply: read(answer), changes: answer.lines.map(changeOf) }))

  return LeaseStore.of({
    acquire: (command) =>
      run(LeaseScripts.acquire, acquireArgs(command), granted, [...both, LeaseScripts.keys.epoch, LeaseScripts.keys.highest(command.owner)]),
    renew: (claim, ttlMs) => run(LeaseScripts.renew, [...claimArgs(claim), ttlMs], held),
    release: (claim, reason) => run(LeaseScripts.release, [...claimArgs(claim), reason], held),
    find: (claim) => Effect.map(ask(LeaseScripts.find, both, claimArgs(claim)), (answer) => answer.word === "held" ? leaseOf(answer.first) : null),
    move: (claim, from, to) => run(LeaseScripts.move, [...claimArgs(claim), from, to], moved),
    invalidate: ({ connection, generation, owner }, reason) =>
      run(LeaseScripts.invalidate, [owner, generation, connection, reason], ({ word }) => word === "ended"),
    sweep: run(LeaseScripts.sweep, [], ({ first }) => Number(first)),
    active: Effect.map(ask(LeaseScripts.active, both, []), ({ lines }) => lines.map(leaseOf))
  })
})

/** `LeaseStore` on the shared store. */
export const layer: Layer.Layer<LeaseStore, never, RedisStore> = Layer.effect(LeaseStore, make)
