import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore, SessionStore } from "#actors/ports/Stores.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Cookie from "#src/management/authentication/cookie.ts"
import { PasswordGate } from "#src/management/authentication/PasswordGate.ts"
import { Password } from "#src/management/authentication/Password.ts"
import { type OpenedSession, Sessions } from "#src/management/authentication/Sessions.ts"
import * as SingleSignOn from "#src/management/authentication/singleSignOn.ts"
import { AuthGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

export const layer = HttpApiBuilder.group(Surface.make(AuthGroup), "auth", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const flags = yield* Flags
  const gate = yield* PasswordGate
  const password = yield* Password
  const sessions = yield* Sessions
  const sessionStore = yield* SessionStore

  const loginState = Effect.gen(function*() {
    const { settings } = configuration.current()
    const hasPassword = yield* password.exists
    return {
      requireLogin: settings.get("requireLogin") !== false,
      hasPassword,
      setupComplete: hasPassword || settings.get("setupComplete") === true
    }
  })

  const login = Effect.fn("Auth.login")(function*(presented: string) {
    const call = yield* ManagementCall
    const { cookie } = yield* gate.pass<OpenedSession>(presented, {
      action: "auth.login",
      open: Effect.andThen(Effect.flatMap(Clock.currentTimeMillis, sessionStore.removeExpired), sessions.open(call.ip, null)),
      undo: ({ sessionId }) => sessions.revoke(sessionId)
    })
    yield* audit.note({ action: "auth.login.success", resourceType: "session" })
    return Cookie.give(HttpServerResponse.jsonUnsafe({ success: true }), cookie, call.secure)
  })

  const logout = Effect.gen(function*() {
    const call = yield* ManagementCall
    if (call.caller.kind === "session") {
      yield* sessions.revoke(call.caller.sessionId)
      yield* audit.note({ action: "auth.logout.success", resourceType: "session" })
    }
    return Cookie.takeBack(HttpServerResponse.jsonUnsafe({ success: true }), call.secure)
  })

  const setRequireLogin = Effect.fn("Auth.setRequireLogin")(function*(change: {
    readonly requireLogin?: boolean
    readonly password?: string
    readonly currentPassword?: string
    readonly keepTokens?: boolean
  }) {
    const { caller } = yield* ManagementCall
    if (change.requireLogin === undefined && change.password === undefined) {
      return yield* Effect.fail(Refusal.badRequest("Nothing to change: send requireLogin or password"))
    }
    if (caller.kind === "anonymous" && change.password === undefined) {
      return yield* Effect.fail(Refusal.invalidField("password", "The first call from this machine must set a password"))
    }
    const passwordChange = change.password === undefined
      ? null
      : yield* gate.replace({ next: change.password, current: change.currentPassword, keepTokens: change.keepTokens === true })
    if (change.requireLogin !== undefined) {
      yield* configuration.commit(documents.put("setting", "requireLogin", change.requireLogin))
      yield* audit.note({ action: "settings.updated", resourceType: "settings", target: "requireLogin", details: { requireLogin: change.requireLogin } })
    }
    return { ...yield* loginState, ...(passwordChange === null ? {} : { passwordChange }) }
  })

  return handlers.handleAll({
    login: ({ payload }) => answer(login(payload.password)),
    logout: () => answer(logout),
    status: () => answer(Effect.gen(function*() {
      const { caller } = yield* ManagementCall
      const state = yield* loginState
      const authenticated = caller.kind !== "anonymous" && caller.kind !== "open"
      return {
        authenticated: authenticated || !state.requireLogin,
        method: authenticated || state.requireLogin ? caller.kind : "open",
        singleSignOn: SingleSignOn.clientIn(configuration.current().settings) !== null,
        passwordLogin: !SingleSignOn.isPasswordOff(configuration.current().settings, flags.isOn(SingleSignOn.FLAG)),
        ...state
      }
    })),
    requireLogin: () => answer(loginState),
    setRequireLogin: ({ payload }) => answer(setRequireLogin(payload)),
    postRequireLogin: ({ payload }) => answer(setRequireLogin(payload))
  })
}))
