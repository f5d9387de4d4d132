/** Checks and replaces the management password: brake, audit and refusals in one place. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { AccessTokenStore } from "#actors/ports/Stores.ts"
import type { PasswordChange } from "./passwordChange.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Brake from "./brake/Brake.ts"
import { Password } from "./Password.ts"
import { Sessions } from "./Sessions.ts"
import * as SingleSignOn from "./singleSignOn.ts"

type Checked<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

/** What the password is given for: something that is made with it, and undone if the password was replaced meanwhile. */
export interface GateEntry<A> {
  /** Names the audit entries: `<action>.failed`, `<action>.locked`. */
  readonly action: string
  readonly open: Checked<A>
  readonly undo: (opened: A) => Effect.Effect<unknown, StoreError>
}

export interface Replacement {
  readonly next: string
  /** Must be named where there is a password. */
  readonly current: string | undefined
  /** Access tokens that the old password stands behind stay. */
  readonly keepTokens: boolean
}

export class PasswordGate extends Context.Service<PasswordGate, {
  /** Lets in with the right password, unless the password is switched off. */
  readonly pass: <A>(presented: string, entry: GateEntry<A>) => Checked<A>
  /** Sets the password and ends what the old one opened, but the caller's own session or token. Null for the first one. */
  readonly replace: (replacement: Replacement) => Checked<PasswordChange | null>
}>()("gateway/http/PasswordGate") {}

/** How the tokens that stay are revoked. */
const REVOKE = "DELETE /api/cli/tokens/{id}, for each of GET /api/cli/tokens with byPassword true"

const off = Refusal.forbidden(`The password is switched off by the flag ${SingleSignOn.FLAG}: sign in by single sign-on, GET /api/auth/oidc/login`, { code: "password_login_disabled" })

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const flags = yield* Flags
  const begin = yield* Brake.make
  const password = yield* Password
  const sessions = yield* Sessions
  const tokens = yield* AccessTokenStore

  /** Whether the password is right; counted per address, and refused while the address is locked. */
  const verified = Effect.fnUntraced(function*(presented: string, action: string) {
    const attempt = yield* begin(action)
    const isRight = yield* password.verify(presented)
    yield* isRight ? attempt.succeeded : attempt.failed
    return isRight
  })

  return PasswordGate.of({
    pass: <A>(presented: string, { action, open, undo }: GateEntry<A>) => Effect.gen(function*() {
      if (SingleSignOn.isPasswordOff(configuration.current().settings, flags.isOn(SingleSignOn.FLAG))) return yield* Effect.fail(off)
      const stamp = yield* password.stamp
      if (yield* verified(presented, action)) {
        const opened = yield* open
        if ((yield* password.stamp) === stamp) return opened
        yield* undo(opened)
        return yield* Effect.fail(Refusal.unauthorized("Invalid password", { code: "invalid_password" }))
      }
      if (yield* password.exists) {
        yield* audit.note({ action: `${action}.failed`, status: "failure", resourceType: "session" })
        return yield* Effect.fail(Refusal.unauthorized("Invalid password", { code: "invalid_password" }))
      }
      yield* audit.note({ action: `${action}.setup_required`, status: "failure", resourceType: "session" })
      return yield* Effect.fail(Refusal.forbidden("No password is set yet: set one from this machine with POST /api/settings/require-login", {
        code: "setup_required", extra: { needsSetup: true }
      }))
    }),
    replace: Effect.fn("PasswordGate.replace")(function*({ current, keepTokens, next }) {
      const isFirst = !(yield* password.exists)
      if (!isFirst) {
        if (current === undefined) return yield* Effect.fail(Refusal.badRequest("Current password required", { code: "current_password_required" }))
        if (!(yield* verified(current, "auth.password"))) {
          yield* audit.note({ action: "auth.password.failed", status: "failure", resourceType: "session" })
          return yield* Effect.fail(Refusal.unauthorized("Invalid current password", { code: "invalid_password" }))
        }
      }
      const { caller } = yield* ManagementCall
      const ended = yield* password.set(next, Effect.gen(function*() {
        const sessionsEnded = yield* sessions.endOthers(caller.kind === "session" ? caller.sessionId : null)
        const tokensRevoked = keepTokens ? 0 : yield* tokens.removeByPassword(caller.kind === "token" ? caller.token.id : null)
        const tokensKept = (yield* tokens.list).filter((token) => token.byPassword).length
        return { sessionsEnded, tokensRevoked, tokensKept, ...(tokensKept === 0 ? {} : { revokeTokens: REVOKE }) }
      }))
      const details = { sessionCount: ended.sessionsEnded, revokedTokenCount: ended.tokensRevoked, keptTokenCount: ended.tokensKept }
      yield* audit.note({ action: "auth.password.changed", resourceType: "settings", details })
      return isFirst ? null : ended
    })
  })
})

export const layer = Layer.effect(PasswordGate, make)
