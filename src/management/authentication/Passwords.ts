/** Password hashing (scrypt); hashes are self-describing strings. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Password from "#src/platform/secrets/Password.ts"

export class Passwords extends Context.Service<Passwords, {
  readonly hash: (password: Redacted.Redacted<string>) => Effect.Effect<string>
  /** Constant-time. With null (no password exists) it does the same work and answers false. */
  readonly verify: (password: Redacted.Redacted<string>, hash: string | null) => Effect.Effect<boolean>
}>()("gateway/ports/Passwords") {}

export const layer: Layer.Layer<Passwords> = Layer.succeed(Passwords, { hash: Password.hash, verify: Password.verify })
