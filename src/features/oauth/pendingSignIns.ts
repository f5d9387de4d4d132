/** Sign-ins that have begun and are not finished. They hold secrets (PKCE verifier, device code): they leave this file sealed only. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Secrets } from "#actors/ports/Secrets.ts"
import { type SignInFailure, SignInFailure as Failure } from "#src/features/oauth/ports/SignIns.ts"
import { SignInStore } from "#src/features/oauth/ports/SignInStore.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ProviderSpecificData } from "#schemas/records/Connection.ts"

const common = {
  provider: Schema.String,
  purpose: Schema.Struct({
    connectionId: Schema.NullOr(Schema.String), name: Schema.NullOr(Schema.String), providerSpecificData: ProviderSpecificData
  }),
  tokenUrl: Schema.String,
  /** ms since the epoch. */
  expiresAt: Schema.Finite
}

const CodeFlow = Schema.Struct({ ...common, flow: Schema.Literal("authorization-code"), verifier: Schema.String, redirectUri: Schema.String })
export type CodeFlow = typeof CodeFlow.Type

const DeviceFlow = Schema.Struct({ ...common, flow: Schema.Literal("device-code"), deviceCode: Schema.String, intervalMs: Schema.Finite })
export type DeviceFlow = typeof DeviceFlow.Type

/** How long an ended sign-in is kept, so that a late caller gets the reason (ms). */
const ENDED_KEPT_MS = 600_000
/** Longest turn of a question to a vendor: a node that was lost with it gives it up (ms). */
const TURN_MS = 60_000

/** The sign-ins in progress with one flow; a state of another provider or flow is no state. */
export interface PendingSignIns<Entry> {
  /** Its first turn is in `restMs`. */
  readonly add: (state: string, entry: Entry, now: number, restMs?: number) => Effect.Effect<void, SignInFailure>
  readonly find: (provider: string, state: string) => Effect.Effect<Entry | null, SignInFailure>
  /** Of many concurrent callers one gets it. */
  readonly take: (provider: string, state: string) => Effect.Effect<Entry | null, SignInFailure>
  /** True: the caller alone may ask the vendor, until it says `rest` or `take`. */
  readonly turn: (provider: string, state: string) => Effect.Effect<boolean, SignInFailure>
  readonly rest: (state: string, entry: Entry, restMs: number) => Effect.Effect<void, SignInFailure>
}

const unavailable = new Failure({ reason: "unavailable", message: "Sign-ins in progress cannot be reached now: try again in a moment" })

const away = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, SignInFailure> =>
  Effect.catchTag(effect, "StoreError", (error) =>
    Effect.andThen(Effect.logWarning(`A sign-in cannot go on: ${error.message}`), Effect.fail(unavailable)))

const make = Effect.fnUntraced(function*<Entry extends CodeFlow | DeviceFlow>(
  flow: Entry["flow"], decode: (text: string) => Option.Option<Entry>
) {
  const store = yield* SignInStore
  const secrets = yield* Secrets
  // The state is the sender's proof: only its MAC is kept.
  const idOf = (provider: string, state: string): string => secrets.mac("sign-in", JSON.stringify([flow, provider, state]))
  const seal = (id: string, entry: Entry): string => secrets.seal(Redacted.make(JSON.stringify(entry)), `sign-in:${id}`)
  const open = (id: string, sealed: string | null): Entry | null => {
    if (sealed === null) return null
    try {
      return Option.getOrNull(decode(Redacted.value(secrets.openUnsafe(sealed, `sign-in:${id}`))))
    } catch {
      // Sealed with a master key that is no longer known: such a sign-in begins again.
      return null
    }
  }
  const pending: PendingSignIns<Entry> = {
    add: (state, entry, now, restMs = 0) => Effect.suspend(() => {
      const id = idOf(entry.provider, state)
      return away(store.add(id, seal(id, entry), entry.expiresAt - now + ENDED_KEPT_MS, restMs))
    }),
    find: (provider, state) => Effect.suspend(() => {
      const id = idOf(provider, state)
      return Effect.map(away(store.find(id)), (sealed) => open(id, sealed))
    }),
    take: (provider, state) => Effect.suspend(() => {
      const id = idOf(provider, state)
      return Effect.map(away(store.take(id)), (sealed) => open(id, sealed))
    }),
    turn: (provider, state) => Effect.suspend(() => away(store.turn(idOf(provider, state), TURN_MS))),
    rest: (state, entry, restMs) => Effect.suspend(() => {
      const id = idOf(entry.provider, state)
      return away(store.rest(id, seal(id, entry), restMs))
    })
  }
  return pending
})

/** Over the deployment's store. */
export const codeFlows = make("authorization-code", Schema.decodeUnknownOption(Schema.fromJsonString(CodeFlow)))
export const deviceFlows = make("device-code", Schema.decodeUnknownOption(Schema.fromJsonString(DeviceFlow)))
