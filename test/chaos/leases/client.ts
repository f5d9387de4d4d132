/**
 * A process of sessions that acquire, use, move, renew and release leases of the same connections, with pauses wherever they fall, and
 * write down what they ask before they ask it and what they hear, until their input is closed. Arguments: Redis URL, Postgres URL, file, seed.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import { LeaseStore } from "#actors/lease/LeaseStore.ts"
import type { Acquire, AcquireReply, LeaseClaim, Lease } from "#schemas/protocols/Lease.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as PostgresLeaseRecords from "#src/features/leases/PostgresLeaseRecords.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLeaseStore from "#src/features/leases/RedisLeaseStore.ts"
import { type Line, type Said, ttlMs } from "./history.ts"

const [redisUrl = "", postgresUrl = "", file = "", seed = ""] = process.argv.slice(2)
const out = fs.openSync(file, "a")
const write = (line: Line): void => {
  fs.writeSync(out, `${JSON.stringify(line)}\n`)
}
/** ms of the machine's monotonic clock, the same for every process. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6

let turns = 0
const below = (bound: number): number => crypto.createHash("sha256").update(`${seed} ${process.pid} ${turns++}`).digest().readUInt32BE() % bound
/** Mostly nothing, sometimes longer than a lease lives. */
const pause = () => delay(below(12) === 0 ? below(ttlMs * 2) : below(15))

const connections = ["c-0", "c-1", "c-2"]
const runtime = ManagedRuntime.make(Layer.merge(
  Layer.provide(RedisLeaseStore.layer, IoRedisStore.layer({ url: Redacted.make(redisUrl), prefix: "chaos:" })),
  Layer.provide(PostgresLeaseRecords.layer(), PostgresClient.layer({ url: Redacted.make(postgresUrl), poolSize: 2 }))
).pipe(Layer.orDie))

let asked = 0
/** Runs one call; what it was and what it said are on disk before anything follows. */
const call = async (op: Line["op"], owner: string, generation: number, effect: Effect.Effect<Said, unknown, LeaseStore | LeaseRecords>): Promise<Said> => {
  const id = `${process.pid}-${++asked}`
  write({ id, phase: "asked", op, owner, generation, at: now() })
  const exit = await runtime.runPromiseExit(effect)
  const said: Said = Exit.isSuccess(exit) ? exit.value : { tag: "Down" }
  write({ id, phase: "heard", op, owner, generation, at: now(), said })
  return said
}

const saidOf = (reply: { readonly _tag: string; readonly lease?: Lease; readonly reused?: boolean }): Said =>
  reply.lease === undefined ? { tag: reply._tag } : { tag: reply._tag, lease: reply.lease, ...(reply.reused === undefined ? {} : { reused: reply.reused }) }

/** As the keeper of leases does: asks, draws a durable generation, asks again. */
const acquire = (owner: string, wanted: ReadonlyArray<string>) => Effect.gen(function*() {
  const store = yield* LeaseStore
  const records = yield* LeaseRecords
  let command: Acquire = { owner, keyId: "k", keyPrint: "p", fits: connections, available: wanted, ttlMs, drawn: null }
  for (;;) {
    const { reply }: { reply: AcquireReply } = yield* store.acquire(command)
    if (reply._tag !== "Draw") return saidOf(reply)
    const generation = yield* records.nextGeneration(owner, reply.highest)
    yield* Effect.promise(pause)
    command = { ...command, drawn: { generation, epoch: reply.epoch } }
  }
})

let over = false
process.stdin.resume().once("end", () => {
  over = true
})

const session = async (owner: string): Promise<void> => {
  while (!over) {
    const order = [...connections].sort(() => below(2) - 1)
    const first = await call("acquire", owner, 0, acquire(owner, order))
    if (first.lease === undefined) {
      await pause()
      continue
    }
    let { lease } = first
    const claim: LeaseClaim = { owner, keyId: "k", keyPrint: "p", generation: lease.generation }
    const { generation } = claim
    for (let step = below(8); step >= 0; step--) {
      await pause()
      const kind = below(10)
      const to = connections[below(connections.length)] ?? ""
      const from = lease.connection
      const said = kind < 5
        ? await call("find", owner, generation, Effect.flatMap(LeaseStore, (store) => {
          const found = store.find(claim)
          return Effect.map(Effect.isEffect(found) ? found : Effect.succeed(found), (one) => one === null ? { tag: "Stale" } : { tag: "Held", lease: one })
        }))
        : kind < 7
        ? await call("renew", owner, generation, Effect.flatMap(LeaseStore, (store) => Effect.map(store.renew(claim, ttlMs), ({ reply }) => saidOf(reply))))
        : kind < 9
        ? await call("move", owner, generation, Effect.flatMap(LeaseStore, (store) => Effect.map(store.move(claim, from, to), ({ reply }) => saidOf(reply))))
        : await call("release", owner, generation, Effect.flatMap(LeaseStore, (store) => Effect.map(store.release(claim, "OWNER_EXIT"), ({ reply }) => saidOf(reply))))
      if (said.tag === "Stale" || kind === 9) {
        // Somebody with an old generation, later: it must find nothing.
        if (below(3) === 0) {
          await call("renew", owner, generation, Effect.flatMap(LeaseStore, (store) => Effect.map(store.renew(claim, ttlMs), ({ reply }) => saidOf(reply))))
        }
        break
      }
      if (said.lease !== undefined) lease = said.lease
    }
  }
}

// Two sessions of its own, and one whose owner is at work in every process.
await Promise.all([`${seed}-a`, `${seed}-b`, "everybody"].map((owner) => session(owner)))
await runtime.dispose()
