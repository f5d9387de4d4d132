/** Passing with, and replacing, the management password: brake, audit and refusals in one place (supplement 17). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Call } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/http/Audit.ts"
import { LoginGuard } from "./LoginGuard.ts"
import { Password } from "./Password.ts"

type Checked = Effect.Effect<void, Refusal.Refusal | StoreError, Call>

export class PasswordGate extends Context.Service<PasswordGate, {
  /** Passes with the right password; `action` names the audit entries (`<action>.failed` ...). */
  readonly pass: (presented: string, action: string) => Checked
  /** Sets the password; an existing one must be named. */
  readonly replace: (next: string, current: string | undefined) => Checked
}>()("gateway/http/PasswordGate") {}

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const guard = yield* LoginGuard
  const password = yield* Password

  const brake = Effect.fnUntraced(function*(action: string) {
    const { ip } = yield* Call
    if (configuration.current().settings.get("bruteForceProtection") === false) return
    const { first, waitMs } = yield* guard.begin(ip)
    if (waitMs === 0) return
    if (first) yield* audit.note({ action: `${action}.locked`, status: "blocked", resourceType: "session" })
    return yield* Effect.fail(Refusal.tooManyRequests("Too many failed attempts; try again later", waitMs / 1000, { code: "login_locked" }))
  })

  return PasswordGate.of({
    pass: Effect.fn("PasswordGate.pass")(function*(presented, action) {
      const { ip } = yield* Call
      yield* brake(action)
      if (yield* password.verify(presented)) return yield* guard.succeeded(ip)
      if (yield* password.exists) {
        yield* audit.note({ action: `${action}.failed`, status: "failure", resourceType: "session" })
        return yield* Effect.fail(Refusal.unauthorized("Invalid password", { code: "invalid_password" }))
      }
      yield* audit.note({ action: `${action}.setup_required`, status: "failure", resourceType: "session" })
      return yield* Effect.fail(Refusal.forbidden("No password is set yet: set one from this machine with POST /api/settings/require-login", {
        code: "setup_required", extra: { needsSetup: true }
      }))
    }),
    replace: Effect.fn("PasswordGate.replace")(function*(next, current) {
      const { ip } = yield* Call
      if (yield* password.exists) {
        if (current === undefined) return yield* Effect.fail(Refusal.badRequest("Current password required", { code: "current_password_required" }))
        yield* brake("auth.password")
        if (!(yield* password.verify(current))) {
          yield* audit.note({ action: "auth.password.failed", status: "failure", resourceType: "session" })
          return yield* Effect.fail(Refusal.unauthorized("Invalid current password", { code: "invalid_password" }))
        }
        yield* guard.succeeded(ip)
      }
      yield* password.set(next)
      yield* audit.note({ action: "auth.password.changed", resourceType: "settings" })
    })
  })
})

export const layer = Layer.effect(PasswordGate, make)
