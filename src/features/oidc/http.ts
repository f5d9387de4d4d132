import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore, SessionStore } from "#actors/ports/Stores.ts"
import { type CallFacts, ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Brake from "#src/management/authentication/brake/Brake.ts"
import * as Cookie from "#src/management/authentication/cookie.ts"
import { Sessions } from "#src/management/authentication/Sessions.ts"
import * as SingleSignOn from "#src/management/authentication/singleSignOn.ts"
import * as Render from "#src/management/render.ts"
import * as Surface from "#src/management/Surface.ts"
import { OidcGroup } from "./api.ts"
import * as Page from "./page.ts"
import * as Pending from "./pending.ts"
import * as ReturnPath from "./returnPath.ts"
import { type Return, SignOn } from "./SignOn.ts"
import { refusalOf, type SignOnFailure } from "./SignOnFailure.ts"

const ACTION = "auth.login"

const attributes = ({ secure }: CallFacts) => ({ httpOnly: true, sameSite: "lax", path: "/", secure } as const)

const elsewhere = (location: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 302, headers: { location, "referrer-policy": "no-referrer" } })

export const layer = HttpApiBuilder.group(Surface.make(OidcGroup), "oidc", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const begin = yield* Brake.make
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const flags = yield* Flags
  const sessions = yield* Sessions
  const sessionStore = yield* SessionStore
  const signOn = yield* SignOn

  const settings = () => configuration.current().settings
  const missing = flags.isOn(SingleSignOn.FLAG) ? SingleSignOn.missingIn(settings()) : null
  if (missing !== null) yield* Effect.logWarning(`${SingleSignOn.FLAG} has no effect yet: ${missing}`)

  /** A browser gets a page, others the JSON of the management API. */
  const shown = <R>(effect: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal.Refusal | SignOnFailure | StoreError, R>) =>
    answer(Effect.catchTag(effect, "SignOnFailure", (failed) => Effect.fail(refusalOf(failed)))).pipe(Effect.catch((refusal) => Effect.gen(function*() {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const { requestId } = yield* ManagementCall
      return headers["accept"]?.includes("text/html") === true ? Page.of(refusal, requestId) : Render.body(refusal, requestId)
    })))

  const login = Effect.fn("Oidc.login")(function*(returnTo: string) {
    const place = ReturnPath.read(returnTo)
    if (place === null) return yield* Effect.fail(Refusal.invalidField("returnTo", "Expected a path of the dashboard, such as /dashboard/keys"))
    const { authorizeUrl, cookie } = yield* signOn.begin(place)
    return HttpServerResponse.setCookieUnsafe(elsewhere(authorizeUrl), Pending.COOKIE, cookie, { ...attributes(yield* ManagementCall), maxAge: Pending.LIFE_MS })
  })

  /** The password may be switched off from now on: there is another way in that works. */
  const prove = (client: SingleSignOn.Client) =>
    SingleSignOn.isProven(settings(), client) ? Effect.void : configuration.commit(documents.put("setting", SingleSignOn.PROOF, SingleSignOn.proofOf(client)))

  const finish = Effect.fn("Oidc.finish")(function*(pending: Pending.Pending, back: Return) {
    const call = yield* ManagementCall
    const attempt = yield* begin(ACTION)
    const identity = yield* Effect.tapError(signOn.finish(pending, back), (error) => Effect.andThen(
      attempt.failed,
      audit.note({
        action: `${ACTION}.failed`, status: "failure", resourceType: "session",
        details: { method: "oidc", ...error._tag === "SignOnFailure" ? { reason: error.reason, subject: error.subject } : { reason: "store" } }
      })
    ))
    yield* Effect.flatMap(Clock.currentTimeMillis, sessionStore.removeExpired)
    const { cookie } = yield* sessions.open(call.ip, identity)
    yield* prove(pending)
    yield* attempt.succeeded
    yield* audit.note({ action: `${ACTION}.success`, resourceType: "session", details: { method: "oidc", subject: identity.subject } })
    return Cookie.give(elsewhere(ReturnPath.locationOf(pending.returnTo)), cookie, call.secure)
  })

  /** Any page can send a browser here. What it did not begin is neither counted nor audited, and ends no sign-in that it did begin. */
  const callback = Effect.fn("Oidc.callback")(function*(back: Return) {
    const { cookies } = yield* HttpServerRequest.HttpServerRequest
    const pending = yield* signOn.resume(cookies[Pending.COOKIE], back)
    return HttpServerResponse.expireCookieUnsafe(yield* shown(finish(pending, back)), Pending.COOKIE, attributes(yield* ManagementCall))
  })

  return handlers.handleAll({
    login: ({ query }) => shown(login(query.returnTo ?? ReturnPath.DASHBOARD)),
    callback: ({ query }) => shown(callback(query))
  })
}))
