/**
 * The gate of the management API: every endpoint passes through it, and it denies by default.
 *
 * Per call, in this order: the raw path must be the documented one byte for byte; the caller is identified; the route's
 * access rule decides; a browser's ambient authority must come from our own origin; the body is bounded; the handler
 * runs; whatever it ended with becomes a reply with x-request-id. A defect shows a client nothing but its request id.
 */
import * as Cause from "effect/Cause"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { StoreDeadline } from "#actors/ports/StoreDeadline.ts"
import { ManagementCall, type CallFacts, type Caller, Management } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import { answer } from "#src/management/answer.ts"
import { Assembled } from "#src/management/Assembled.ts"
import { boundedBody, withBody } from "#src/management/boundedBody.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as Render from "#src/management/render.ts"
import { ActingCaller, Callers, type Identified, keyIn, type Presented } from "./Callers.ts"
import * as Cookie from "./cookie.ts"
import * as Origin from "#src/platform/gate/origin.ts"
import { type EndpointGate, gateOf } from "./endpointGate.ts"
import { Password } from "./Password.ts"
import { admit } from "./rights.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"

type Request = HttpServerRequest.HttpServerRequest
type Handler = Parameters<Management["Service"]>[0]

export const presentedBy = (request: Request): Presented => ({
  method: request.method,
  headers: request.headers,
  cookies: request.cookies,
  peerAddress: Option.getOrNull(request.peerAddress),
  remoteAddress: Option.getOrNull(request.remoteAddress)
})

/** What an operator's change waits for one answer of shared state, ms; a request waits for GATEWAY_REDIS_TIMEOUT_MS. */
const changeMs = 10_000

/** A caller that a browser can be made to act for without knowing a secret. */
const isAmbient = (caller: Caller): boolean => caller.kind === "session" || caller.kind === "open" || caller.kind === "anonymous"

/**
 * Must the page that sends this call be our own? For every change, and for what a page embeds or fetches while management is open:
 * there no cookie keeps other pages out. A link that is followed is neither.
 */
const actsFor = ({ headers, method }: Presented, caller: Caller): boolean =>
  Origin.isMutation(method) || (caller.kind === "open" && headers["sec-fetch-mode"] !== "navigate")

export const make = Effect.gen(function*() {
  const callers = yield* Callers
  const password = yield* Password
  const configuration = yield* Configuration
  const lifecycle = yield* Lifecycle
  const random = yield* SecureRandom.SecureRandom
  const options = yield* ManagementOptions
  const table = RouteTable.make((yield* Assembled).routes)
  const lookUps = yield* LookUps.make<Identified>({ name: "Callers", withinMs: options.lookUpMs })
  let asked = 0
  /** What GET of a path answers, for the calls of the same path that take a record back. */
  const readers = new Map<string, Handler>()

  /** PUBLIC routes answer without a store; an unreadable credential then counts as anonymous. */
  const identify = (gate: EndpointGate, presented: Presented): Effect.Effect<Identified, Refusal.Refusal> => Effect.flatMap(ActingCaller, (acting) => {
    if (acting !== null) return Effect.succeed<Identified>({ caller: acting, refusedBearer: false, renewedCookie: null })
    // Every call is looked up for itself: a sign-out ends a session at once.
    const identified = lookUps.ask(`${++asked}`, callers.identify(presented))
    return gate.rule?.tier === "PUBLIC"
      ? Effect.catchTag(identified, "StoreError", () => Effect.succeed<Identified>({ caller: { kind: "anonymous" }, refusedBearer: false, renewedCookie: null }))
      : answer(identified)
  })

  const authorize = Effect.fnUntraced(function*(gate: EndpointGate, presented: Presented, identified: Identified, loopback: boolean, query: string) {
    const asksFirstRun = gate.rule?.firstRun === true && loopback && identified.caller.kind === "anonymous"
    // API keys travel in other headers and in the query, too.
    const presentsKey = identified.refusedBearer || (gate.rule?.tier === "CLIENT_API" && keyIn(presented, query))
    const admitted = admit(gate.rule, {
      caller: identified.caller,
      refusedBearer: presentsKey,
      loopback,
      bypassesLocality: identified.caller.kind === "key" && bypassesLocality(gate.path),
      requireLogin: configuration.current().settings.get("requireLogin") !== false,
      hasPassword: asksFirstRun ? yield* answer(password.exists) : true
    })
    if (admitted instanceof Refusal.Refusal) return yield* Effect.fail(admitted)
    // A call with a Bearer borrows none of a browser's rights; the handler finds out what its key may do.
    const asksAsKey = (gate.rule?.tier === "CLIENT_API" || gate.rule?.clientKey === true) && presentsKey
    if (isAmbient(admitted) && !asksAsKey && actsFor(presented, admitted) && !Origin.isSameOrigin((name) => presented.headers[name])) {
      return yield* Effect.fail(Refusal.forbidden("The request comes from another origin", { code: "AUTH_CSRF" }))
    }
    return admitted
  })

  /** Does the operator let keys with management rights use this route from other machines? */
  const bypassesLocality = (path: string): boolean => {
    const { settings } = configuration.current()
    const prefixes = settings.get("localOnlyManageScopeBypassPrefixes") ?? ["/api/mcp/"]
    return settings.get("localOnlyManageScopeBypassEnabled") !== false && Array.isArray(prefixes) &&
      prefixes.some((prefix) => typeof prefix === "string" && path.startsWith(prefix))
  }

  const unrouted = (method: string, path: string): Refusal.Refusal => {
    const routes = RouteTable.ofOtherMethods(table.match(path), method)
    return routes.length === 0 ? Refusal.unknownRoute(method, path) : Refusal.methodNotAllowed(method, RouteTable.allowed(routes))
  }

  const finish = (method: string, response: HttpServerResponse.HttpServerResponse, call: CallFacts, renewedCookie: string | null) => {
    const marked = HttpServerResponse.setHeaders(response, {
      "x-request-id": call.requestId,
      "x-gateway-version": lifecycle.version,
      // Only what is meant to be kept says so itself.
      "cache-control": response.headers["cache-control"] ?? "no-store",
      "x-content-type-options": "nosniff",
      ...(Origin.isMutation(method) ? Render.receipt(response, configuration.current().version) : {})
    })
    return renewedCookie === null || marked.cookies.cookies[Cookie.NAME] !== undefined
      ? marked
      : Cookie.give(marked, renewedCookie, call.secure)
  }

  return Management.of((handler, { endpoint, group }) => {
    const gate = gateOf(endpoint, group.identifier)
    if (endpoint.method === "GET") readers.set(endpoint.path, handler)
    return Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const presented = presentedBy(request)
      const path = RouteTable.rawPath(request.url)
      let call: CallFacts = {
        requestId: Origin.givenRequestId(presented.headers) ?? (yield* random.uuidV4()),
        caller: { kind: "anonymous" },
        ip: presented.remoteAddress,
        loopback: Origin.isLoopback(presented),
        secure: options.cookieSecure || Origin.isSecure(request.protocol, presented.headers),
        userAgent: presented.headers["user-agent"] ?? null
      }
      let renewedCookie: string | null = null

      const served = Effect.gen(function*() {
        // A parametric route must not shadow a documented path of another method, such as GET /api/providers/validate.
        if (!gate.fits(path) || (gate.parametric && table.match(path).every((route) => route.path !== endpoint.path))) {
          return yield* Effect.fail(unrouted(request.method, path))
        }
        const identified = yield* identify(gate, presented)
        renewedCookie = identified.renewedCookie
        call = { ...call, caller: yield* authorize(gate, presented, identified, call.loopback, request.url.split("?", 2)[1] ?? "") }
        const query = gate.input.query(yield* HttpServerRequest.ParsedSearchParams)
        if (query instanceof Refusal.Refusal) return yield* Effect.fail(query)
        const serve = (handler: Handler, query: HttpServerRequest.ParsedSearchParams["Service"], ready: Request) => handler.pipe(
          Effect.provideService(ManagementCall, call),
          Effect.provideService(HttpServerRequest.ParsedSearchParams, query),
          Effect.provideService(HttpServerRequest.HttpServerRequest, ready),
          Effect.provideService(StoreDeadline, gate.waits && call.caller.kind !== "anonymous" ? changeMs : null)
        )
        if (!gate.takesBody) return yield* serve(handler, query, request)
        const text = gate.input.body(yield* boundedBody(request))
        const reader = gate.readBack === null ? undefined : readers.get(gate.path)
        if (gate.readBack === null || reader === undefined) return yield* serve(handler, query, withBody(request, text))
        return yield* serve(handler, query, withBody(request, yield* gate.readBack.body(text, (asked) => serve(reader, asked, request))))
      })

      const response = yield* Effect.catchCause(served, (cause) => {
        if (Cause.hasInterrupts(cause)) return Effect.interrupt
        const { defect, refusal } = Render.ofCause(cause)
        const reply = Render.forms[gate.refusals](refusal, call.requestId)
        return defect
          ? Effect.as(Effect.annotateLogs(Effect.logError(`${request.method} ${path} failed`, cause), "requestId", call.requestId), reply)
          : Effect.succeed(reply)
      })
      return finish(request.method, yield* Render.compressed(response, presented.headers["accept-encoding"]), call, renewedCookie)
    }).pipe(Effect.annotateLogs("endpoint", endpoint.identifier))
  })
})

export const layer = Layer.effect(Management, make)
