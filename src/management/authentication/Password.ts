/** The one management password: stored as a hash, set first from loopback, replaced only with the current one. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Passwords } from "./Passwords.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"
import { LoginGuard } from "./brake/LoginGuard.ts"

export class Password extends Context.Service<Password, {
  readonly exists: Effect.Effect<boolean, StoreError>
  /** Same work whether a password exists or not. */
  readonly verify: (presented: string) => Effect.Effect<boolean, StoreError>
  /** Equal as long as the password is the same one; another one after each `set`. */
  readonly stamp: Effect.Effect<string | null, StoreError>
  /** Stores the password and then does `also` in the same commit: once begun, both are carried through. */
  readonly set: <A>(password: string, also: Effect.Effect<A, StoreError>) => Effect.Effect<A, StoreError>
}>()("gateway/http/Password") {}

const KIND = "password"
const KEY = "management"

export const make = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const passwords = yield* Passwords
  const guard = yield* LoginGuard
  const configuration = yield* Configuration
  const secrets = yield* Secrets
  const { initialPassword, lookUpMs } = yield* ManagementOptions
  const lookUps = yield* LookUps.make<unknown>({ name: "Password", withinMs: lookUpMs })
  let asked = 0

  // Each is asked for itself: a password that was changed is out at once.
  const stored = Effect.suspend(() => Effect.map(
    lookUps.ask(`${++asked}`, documents.get(KIND, KEY)),
    (value) => typeof value === "string" ? value : null
  ))

  return Password.of({
    exists: Effect.map(stored, (hash) => hash !== null || initialPassword !== null),
    verify: Effect.fn("Password.verify")(function*(presented) {
      const hash = yield* stored
      const fits = yield* guard.hashing(passwords.verify(Redacted.make(presented), hash))
      if (hash !== null || initialPassword === null) return fits
      // Macs of equal length: comparing them says nothing about the password's own length.
      return secrets.mac("initial-password", presented) === secrets.mac("initial-password", Redacted.value(initialPassword))
    }),
    stamp: stored,
    set: <A>(password: string, also: Effect.Effect<A, StoreError>) => Effect.gen(function*() {
      const hash = yield* guard.hashing(passwords.hash(Redacted.make(password)))
      const write = Effect.andThen(documents.put(KIND, KEY, hash), documents.put("setting", "setupComplete", true))
      return yield* configuration.commit(Effect.andThen(write, also))
    })
  })
})

export const layer = Layer.effect(Password, make)
