/** Who may send a frame, over which transport, and how large it may be: all that is refused before one is read. */
import * as ByteSize from "effect/ByteSize"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Keys } from "#actors/ports/Keys.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as KeyPolicy from "#actors/keys/keyPolicy.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey, EndpointName } from "#schemas/records/ApiKey.ts"
import { type CallFacts, ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { presentedBy } from "#src/management/authentication/Authentication.ts"
import { Callers } from "#src/management/authentication/Callers.ts"
import * as Render from "#src/management/render.ts"
import * as Origin from "#src/platform/gate/origin.ts"
import * as McpCaller from "./McpCaller.ts"
import { McpOptions } from "./McpOptions.ts"
import * as Scopes from "#src/management/inner/scopes.ts"

export const paths = { sse: "/api/mcp/sse", "streamable-http": "/api/mcp/stream" } as const
export type Transport = "stdio" | keyof typeof paths

/** The bridge of `gateway mcp` says with this header that it speaks for a client on standard input. */
const STDIO_HEADER = "x-gateway-mcp-transport"

/** The gateway's address as the client wrote it. */
export const baseOf = (request: HttpServerRequest.HttpServerRequest): string =>
  `${Origin.isSecure(request.protocol, request.headers) ? "https" : "http"}://${request.headers["x-forwarded-host"] ?? request.headers["host"] ?? "localhost"}`

const bearerOf = (header: string | undefined): string | null => header === undefined ? null : /^bearer +(\S{1,1024}) *$/i.exec(header)?.[1] ?? null

/** What the policy of a key, or of its issuer, says against a call now. */
const refusalOf = (key: ApiKey, endpoint: EndpointName, remoteAddress: string, now: number): PublicError | null =>
  KeyPolicy.admit(key, endpoint, { remoteAddress }, now) ??
    (key.issuerId === null ? null : KeyPolicy.admitIssued({ key: key.issuer ?? null, isLimited: false }, endpoint, { remoteAddress }, now))

export const make = Effect.gen(function*() {
  const callers = yield* Callers
  const configuration = yield* Configuration
  const keys = yield* Keys
  const fallback = Scopes.granted((yield* McpOptions).scopes)

  const isEnabled = (): boolean => configuration.current().settings.get("mcpEnabled") === true
  const transportNow = (): Transport => {
    const stored = configuration.current().settings.get("mcpTransport")
    return stored === "sse" || stored === "streamable-http" ? stored : "stdio"
  }

  /** What is refused before a frame is read: switched off, another transport, a caller without the right. */
  const admit = Effect.fnUntraced(function*(transport: Transport) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const call = yield* ManagementCall
    const isStdio = call.caller.kind === "local" && request.headers[STDIO_HEADER] === "stdio"
    if (request.headers["origin"] !== undefined && !Origin.isSameOrigin((name) => request.headers[name])) {
      return yield* Effect.fail(Refusal.forbidden("The request comes from another origin", { code: "AUTH_CSRF" }))
    }
    const known = McpCaller.ofManagement(call.caller, fallback, isStdio)
    const address = call.ip ?? ""
    const caller = { ...known ?? (yield* byKey(request, address)), address }
    if (caller.key === null && !call.loopback) {
      return yield* Effect.fail(Refusal.forbidden("Without an API key of scope mcp:connect this route answers on the gateway's own machine only", { code: "LOCAL_ONLY" }))
    }
    if (!isEnabled()) return yield* Effect.fail(Refusal.unavailable("MCP is switched off: set the setting mcpEnabled", { code: "MCP_DISABLED" }))
    const now = transportNow()
    const wanted = isStdio ? "stdio" : transport
    if (now !== wanted) {
      return yield* Effect.fail(Refusal.badRequest(`MCP is served over ${now}, not over ${wanted}: see the setting mcpTransport`, { code: "MCP_TRANSPORT_MISMATCH" }))
    }
    return { caller, request, isStdio, now: callerNow(call, request, caller, wanted) }
  })

  const keyOf = (bearer: string | null): Effect.Effect<ApiKey | null, StoreError> => Effect.suspend(() => {
    if (bearer === null) return Effect.succeed(null)
    const hash = keys.hash(bearer)
    const known = keys.peek(hash)
    return known === undefined ? keys.find(hash) : Effect.succeed(known)
  })

  /** A stream outlives the key, the sign-in and the settings that opened it: its caller as it is by now, null for one that may not listen any more. */
  const callerNow = Effect.fnUntraced(function*(call: CallFacts, request: HttpServerRequest.HttpServerRequest, before: McpCaller.McpCaller, wanted: Transport) {
    if (!isEnabled() || transportNow() !== wanted) return null
    let caller: McpCaller.McpCaller | null
    if (before.key !== null) {
      const key = yield* keyOf(bearerOf(request.headers["authorization"]))
      const endpoint = call.caller.kind === "key" ? "management" : "mcp"
      const isRefused = key === null || !McpCaller.connects(key) || refusalOf(key, endpoint, before.address ?? "", yield* Clock.currentTimeMillis) !== null
      caller = isRefused ? null : McpCaller.ofKey(key, fallback)
    } else {
      const identified = (yield* callers.identify(presentedBy(request))).caller
      const isOpen = identified.kind === "anonymous" && configuration.current().settings.get("requireLogin") === false
      caller = McpCaller.ofManagement(isOpen ? { kind: "open" } : identified, fallback, wanted === "stdio")
    }
    return caller === null || caller.owner !== before.owner ? null : { ...caller, address: before.address ?? "" }
  })

  const byKey = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, remoteAddress: string) {
    const headers = { "www-authenticate": `Bearer resource_metadata="${baseOf(request)}/.well-known/oauth-protected-resource${new URL(request.url, "http://x").pathname}"` }
    const bearer = bearerOf(request.headers["authorization"])
    const key = yield* answer(keyOf(bearer))
    if (key === null) return yield* Effect.fail(Refusal.unauthorized(bearer === null ? "Authentication required" : "An API key with scope mcp:connect is needed", { headers }))
    const now = yield* Clock.currentTimeMillis
    const refused = refusalOf(key, "mcp", remoteAddress, now)
    if (refused !== null) {
      return yield* Effect.fail(refused.reason === "credential" ? Refusal.unauthorized(refused.message, { headers }) : Refusal.forbidden(refused.message))
    }
    if (!McpCaller.connects(key)) return yield* Effect.fail(Refusal.forbidden("This API key lacks the scope mcp:connect"))
    keys.touch(key)
    return McpCaller.ofKey(key, fallback)
  })

  /** A frame as text, bounded in bytes and depth. */
  const textOf = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
    if (Number(request.headers["content-length"] ?? "0") > Render.BODY_MAX) return yield* Effect.fail(Refusal.payloadTooLarge(Render.BODY_MAX))
    const text = yield* Effect.mapError(
      Effect.provideService(request.text, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(Render.BODY_MAX)),
      () => Refusal.badRequest(`The body cannot be read, or has more than ${Render.BODY_MAX} bytes`)
    )
    if (Render.isTooDeep(text)) return yield* Effect.fail(Refusal.invalidField("body", `Nested deeper than ${Render.DEPTH_MAX} levels`))
    return text
  })

  return { admit, isEnabled, textOf, transportNow }
})
