/**
 * Bodies of calls, kept while the operator asks for it: copied while a request runs, and masked, sealed and written behind it. What finds
 * no room in memory, and what the store does not take, is lost: no request waits for it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { Placement } from "#actors/ports/Placement.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { BodyStore, type SealedBodies } from "#src/features/bodies/ports/BodyStore.ts"
import { Capture, type Sent } from "./Capture.ts"
import * as Record from "./record.ts"

/** Bytes of bodies that running and unwritten requests hold at once. */
const MOST_HELD = 64 * 1024 * 1024
/** Requests that wait to be written. */
const MOST_WAITING = 1_000
/** Between two rounds of writing, ms. */
const WRITE_EVERY_MS = 100
/** Requests of one statement, and bytes after which it takes no further one. */
const AT_ONCE = 8
const BYTES_AT_ONCE = 512 * 1024
/** Between two lines of the log about what is lost, ms. */
const LOG_EVERY_MS = 60_000
/** Longest wait of a stop for what is not written, ms. */
const STOP_MS = 1_000
/** Between two sweeps, ms. */
const SWEEP_EVERY_MS = 30_000
const hourMs = 3_600_000
const kb = 1_024
const mb = 1_048_576

type Name = "callLogBodyShare" | "callLogBodyMaxKb" | "callLogBodyTotalMb" | "callLogBodyHours"

export type Found = ReturnType<typeof Record.decode> & { readonly createdAt: number }

export class CallBodies extends Context.Service<CallBodies, {
  /** Whether bodies are kept; asked for every request. */
  readonly isOn: () => boolean
  /** Follows one request; null when it is left out by the share. */
  readonly begin: (sent: Sent, credential: string | null) => Capture | null
  /** The record of these ids that has the attempt; null when there is none, `sealed` when it cannot be opened. */
  readonly find: (ids: ReadonlyArray<string>, attemptId: string) => Effect.Effect<Found | "sealed" | null, StoreError>
  /** Removes what is too old or too much; answers how many. */
  readonly sweep: Effect.Effect<number, StoreError>
}>()("gateway/features/bodies/CallBodies") {}

const contextOf = (id: string): string => `callBodies:${id}`

const make = Effect.gen(function*() {
  const store = yield* BodyStore
  const secrets = yield* Secrets
  const configuration = yield* Configuration
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const lock = yield* Semaphore.make(1)
  const room = new HeldBytes(MOST_HELD)
  const waiting: Array<Capture> = []
  /** Requests whose bodies were lost since the last line of the log. */
  let lost = 0
  let quietUntil = Number.NEGATIVE_INFINITY

  const numberOf = (name: Name): number => {
    const value = configuration.current().settings.get(name) ?? settingDefaults[name]
    return typeof value === "number" ? value : 0
  }
  const since = () => clock.currentTimeMillisUnsafe() - numberOf("callLogBodyHours") * hourMs

  const sealedOf = (capture: Capture) => Effect.map(Record.encode(capture), (json): SealedBodies => {
    const id = capture.attempts[0]?.id ?? ""
    return { id, createdAt: clock.currentTimeMillisUnsafe(), sealed: secrets.seal(Redacted.make(json), contextOf(id)) }
  })

  const next = (): ReadonlyArray<Capture> => {
    let bytes = 0
    const end = waiting.findIndex((capture, place) => place >= AT_ONCE || (bytes += capture.held) > BYTES_AT_ONCE && place > 0)
    return waiting.splice(0, end === -1 ? waiting.length : end)
  }

  const tell = (why: string) => Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    if (lost === 0 || now < quietUntil) return Effect.void
    quietUntil = now + LOG_EVERY_MS
    const count = lost
    lost = 0
    return Effect.logWarning(`Bodies of ${count} calls could not be kept: ${why}`)
  })

  const write = lock.withPermits(1)(Effect.suspend(() => {
    const batch = next()
    return Effect.forEach(batch, sealedOf).pipe(
      Effect.flatMap(store.put),
      Effect.andThen(tell("too many of them waited to be written.")),
      Effect.catchTag("StoreError", (error) => {
        lost += batch.length
        return tell(error.message)
      }),
      Effect.ensuring(Effect.sync(() => batch.forEach((capture) => capture.release())))
    )
  }))
  const writeAll: Effect.Effect<void> = Effect.suspend(() => waiting.length === 0 ? Effect.void : Effect.andThen(write, writeAll))

  const rounds = yield* Rounds.make("call bodies", () => waiting.length > 0, Duration.millis(WRITE_EVERY_MS), writeAll)
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeoutOption(writeAll, Duration.millis(STOP_MS))))

  const over = (capture: Capture): void => {
    if (waiting.length >= MOST_WAITING) {
      lost++
      capture.release()
      return
    }
    waiting.push(capture)
    rounds.wake()
  }

  const open = ({ createdAt, id, sealed }: SealedBodies): Found | "sealed" => {
    try {
      return { ...Record.decode(Redacted.value(secrets.openUnsafe(sealed, contextOf(id)))), createdAt }
    } catch (error) {
      if (error instanceof SealBroken) return "sealed"
      throw error
    }
  }

  return CallBodies.of({
    isOn: () => configuration.current().settings.get("callLogBodies") === true,
    begin: (sent, credential) => random.nextDoubleUnsafe() >= numberOf("callLogBodyShare")
      ? null
      : new Capture({ sent, credential }, numberOf("callLogBodyMaxKb") * kb, room, over),
    find: (ids, attemptId) => Effect.map(Effect.suspend(() => store.find(ids, since())), (records) => {
      const opened = records.map(open)
      return opened.find((one) => one !== "sealed" && one.attempts.some(({ id }) => id === attemptId)) ?? (opened.includes("sealed") ? "sealed" : null)
    }),
    sweep: Effect.suspend(() => Effect.zipWith(
      store.removeBefore(since()), store.removeBeyond(numberOf("callLogBodyTotalMb") * mb), (old, many) => old + many
    ))
  })
})

export const layer = Layer.effect(CallBodies, make)

/** On one node for all. */
export const sweep = Layer.effectDiscard(Effect.gen(function*() {
  const bodies = yield* CallBodies
  const placement = yield* Placement
  yield* placement.place("sweep/call bodies", Sweeps.loop({
    loop: "sweep/call bodies", name: "bodies of calls", everyMs: SWEEP_EVERY_MS, run: bodies.sweep
  }, SWEEP_EVERY_MS))
}))
