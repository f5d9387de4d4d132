/** The brake on attempts to sign in: each is counted by its address when it begins, refused while the address is locked, and audited when it locks. */
import * as Effect from "effect/Effect"
import { LOCK_MS, type LoginVerdict } from "#actors/access/LoginBrake.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { LoginGuard } from "./LoginGuard.ts"

/** One that has begun. */
export interface Attempt {
  /** The address is forgotten. */
  readonly succeeded: Effect.Effect<void>
  readonly failed: Effect.Effect<void, never, ManagementCall>
}

/** The verdict while nothing is counted. */
const freely: LoginVerdict = { waitMs: 0, locks: false }

/** `action` names the audit entry: `<action>.locked`. */
export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const guard = yield* LoginGuard
  return Effect.fnUntraced(function*(action: string) {
    const { ip } = yield* ManagementCall
    const brakes = configuration.current().settings.get("bruteForceProtection") !== false
    const { locks, waitMs } = brakes ? yield* guard.begin(ip) : freely
    if (waitMs > 0) {
      const minutes = Math.ceil(waitMs / 60_000)
      return yield* Effect.fail(Refusal.tooManyRequests(
        `Too many failed attempts from this address: try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}`, waitMs / 1000, { code: "login_locked" }
      ))
    }
    const attempt: Attempt = {
      succeeded: guard.succeeded(ip),
      failed: locks
        ? audit.note({ action: `${action}.locked`, status: "blocked", resourceType: "session", details: { minutes: LOCK_MS / 60_000 } })
        : Effect.void
    }
    return attempt
  })
})
