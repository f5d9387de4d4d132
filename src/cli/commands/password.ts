/** `gateway password reset`: a new management password for an operator with access to the data directory or the database. */
import { text } from "node:stream/consumers"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { AccessTokenStore, DocumentStore, SessionStore } from "#actors/ports/Stores.ts"
import { PASSWORD_MAXIMUM, PASSWORD_MINIMUM } from "#schemas/passwordLength.ts"
import { generatePassword } from "#src/bootstrap/FirstRun.ts"
import { FLAG } from "#src/management/authentication/singleSignOn.ts"
import * as Password from "#src/platform/secrets/Password.ts"
import { load, type Overrides } from "#src/cli/environment.ts"
import { failure } from "#src/cli/Failure.ts"
import * as LocalAudit from "#src/cli/LocalAudit.ts"
import * as Records from "./records.ts"

/** The first line of standard input. */
const fromStdin = Effect.gen(function*() {
  const line = (yield* Effect.promise(() => text(process.stdin))).split(/\r?\n/, 1)[0] ?? ""
  if (line.length < PASSWORD_MINIMUM || line.length > PASSWORD_MAXIMUM) {
    return yield* failure(`The password on standard input has ${line.length} characters; it needs ${PASSWORD_MINIMUM} to ${PASSWORD_MAXIMUM}.`)
  }
  return line
})

export const reset = (options: Overrides & { readonly stdin: boolean; readonly keepTokens: boolean }) =>
  Effect.gen(function*() {
    const settings = yield* load(options)
    yield* Records.refuseWhileRunning(settings, "gateway password reset")
    const password = options.stdin ? yield* fromStdin : generatePassword()
    const hash = yield* Password.hash(Redacted.make(password))
    const ended = yield* Effect.gen(function*() {
      const documents = yield* DocumentStore
      const sessions = yield* SessionStore
      const tokens = yield* AccessTokenStore
      yield* documents.put("password", "management", hash)
      yield* documents.put("setting", "setupComplete", true)
      // The way back in when the issuer of single sign-on is gone.
      const wasOff = yield* documents.remove("flag", FLAG)
      const details = {
        sessionCount: yield* sessions.revokeOthers(null, yield* Clock.currentTimeMillis),
        revokedTokenCount: options.keepTokens ? 0 : yield* tokens.removeByPassword(null)
      }
      yield* LocalAudit.note({ action: "auth.password.reset", target: null, resourceType: "settings", details })
      return { ...details, wasOff }
    }).pipe(Effect.provide(Records.stores(settings)))
    yield* Console.log(`${options.stdin ? "The management password is set." : `Management password: ${password}\n(shown only this once)`}
Ended: ${ended.sessionCount} sessions. Revoked: ${ended.revokedTokenCount} access tokens.${ended.wasOff ? `\nCleared the flag ${FLAG}: the password signs in again.` : ""}`)
  })
