/**
 * Whole outputs of tools of which a shorter form was sent, where the operator asks for it: sealed, and written behind their requests. They
 * lie beside the bodies of calls, whose hours and bytes bound them. What finds no room in memory, and what the store does not take, is lost.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Configuration } from "#actors/ports/Configuration.ts"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import type { RawOutput } from "#src/compression/rtk/raw.ts"
import { BodyStore, type SealedBodies } from "#src/features/bodies/ports/BodyStore.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { Generations } from "#src/routing/models/Generations.ts"

/** Characters that wait to be written. */
const MOST_HELD = 16 * 1024 * 1024
const MOST_WAITING = 1_000
/** Outputs of one statement. */
const AT_ONCE = 4
/** Between two rounds of writing, ms. */
const WRITE_EVERY_MS = 100
/** Longest wait of a stop for what is not written, ms. */
const STOP_MS = 1_000
/** Ids that are known to be stored. */
const KNOWN = 10_000
const HOUR_MS = 3_600_000
/** An output that is sent again is stored anew after this time, ms: it may be old, and others may have taken its room. */
const AGAIN_MS = 600_000

export interface Found extends RawOutput {
  /** ms since the epoch. */
  readonly keptAt: number
}

export class RawOutputs extends Context.Service<RawOutputs, {
  /** Nothing waits for it. What was stored a moment ago is not stored again. */
  readonly keep: (outputs: ReadonlyArray<RawOutput>) => void
  /** Null when there is none, `sealed` when it cannot be opened. */
  readonly find: (id: string) => Effect.Effect<Found | "sealed" | null, StoreError>
}>()("gateway/features/compression/RawOutputs") {}

const Kept = Schema.fromJsonString(Schema.Struct({ text: Schema.String, bytes: Schema.Int, cut: Schema.Boolean }))
const decode = Schema.decodeUnknownSync(Kept)

/** Other ids of the store are those of calls. */
const keyOf = (id: string): string => `rtk:${id}`

const make = Effect.gen(function*() {
  const store = yield* BodyStore
  const secrets = yield* Secrets
  const configuration = yield* Configuration
  const clock = yield* Clock.Clock
  const room = new HeldBytes(MOST_HELD)
  const waiting: Array<RawOutput> = []
  /** When each was stored, ms since the epoch. */
  const stored = new Generations<number>(KNOWN)
  const now = (): number => clock.currentTimeMillisUnsafe()
  const keptMs = (): number => {
    const hours = configuration.current().settings.get("callLogBodyHours") ?? settingDefaults.callLogBodyHours
    return typeof hours === "number" ? hours * HOUR_MS : 0
  }

  const sealedOf = ({ bytes, cut, id, text }: RawOutput): SealedBodies => {
    const key = keyOf(id)
    return { id: key, createdAt: now(), sealed: secrets.seal(Redacted.make(JSON.stringify({ text, bytes, cut })), key) }
  }

  const write = Effect.suspend(() => {
    const batch = waiting.splice(0, AT_ONCE)
    return Effect.suspend(() => Effect.andThen(store.renew(batch.map(({ id }) => keyOf(id)), now()), store.put(batch.map(sealedOf)))).pipe(
      Effect.catchTag("StoreError", (error) => {
        // The next turn of the conversation has it again.
        for (const { id } of batch) stored.set(id, Number.NEGATIVE_INFINITY)
        return Effect.logWarning(`${batch.length} whole outputs of tools could not be kept: ${error.message}`)
      }),
      Effect.ensuring(Effect.sync(() => batch.forEach(({ text }) => room.give(text.length))))
    )
  })
  const writeAll: Effect.Effect<void> = Effect.suspend(() => waiting.length === 0 ? Effect.void : Effect.andThen(write, writeAll))
  const rounds = yield* Rounds.make("raw outputs", () => waiting.length > 0, Duration.millis(WRITE_EVERY_MS), writeAll)
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeoutOption(writeAll, Duration.millis(STOP_MS))))

  const open = ({ createdAt, sealed }: SealedBodies, id: string): Found | "sealed" => {
    try {
      return { id, keptAt: createdAt, ...decode(Redacted.value(secrets.openUnsafe(sealed, keyOf(id)))) }
    } catch (error) {
      if (error instanceof SealBroken) return "sealed"
      throw error
    }
  }

  return RawOutputs.of({
    keep: (outputs) => {
      for (const output of outputs) {
        const last = stored.get(output.id)
        if (last !== undefined && now() - last < AGAIN_MS) continue
        if (waiting.length >= MOST_WAITING || !room.take(output.text.length)) return
        stored.set(output.id, now())
        waiting.push(output)
      }
      rounds.wake()
    },
    find: (id) => Effect.map(Effect.suspend(() => store.find([keyOf(id)], now() - keptMs())), ([row]) => row === undefined ? null : open(row, id))
  })
})

export const layer = Layer.effect(RawOutputs, make)
