/** A session with one server: the handshake, its tools, and calls of them. It ends with its scope. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import type { Upstream } from "#actors/request/ports/Upstream.ts"
import type { HttpAddress, McpAddress, StdioAddress } from "#src/features/mcpServers/ports/McpServer.ts"
import { version } from "#schemas/version.ts"
import { isSecretName } from "#src/management/redact.ts"
import * as HttpTransport from "./HttpTransport.ts"
import { failure, masker, type McpFailure, type Message } from "./messages.ts"
import * as Peer from "./Peer.ts"
import * as StdioTransport from "./StdioTransport.ts"

/** Newest first: the first is asked for, and a server may choose any of them. */
export const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const
/** For the handshake and for one page of tools, ms. */
const SETUP_MS = 15_000
const PAGES_MAX = 50
/** Tools of one server. */
export const TOOLS_MAX = 500
/** The transport gives up this much later than a request, which tells the server, ms. */
const TRANSPORT_MS = 5_000
/** Shorter values are no secrets, and would be found everywhere. */
const SECRET_MIN = 6

type Json = Readonly<Record<string, unknown>>

/** A tool as its server describes it. */
export interface Described extends Json {
  readonly name: string
}

export interface Session {
  readonly protocolVersion: string
  /** Name and version that the server gives itself. */
  readonly server: { readonly name: string; readonly version: string }
  readonly tools: Effect.Effect<ReadonlyArray<Described>, McpFailure>
  readonly call: (name: string, args: Json, asked: Peer.Asked) => Effect.Effect<Json, McpFailure>
  /** Brings what the server says unasked, until it ends. */
  readonly listen: Effect.Effect<void, McpFailure>
  readonly lost: Effect.Effect<never, McpFailure>
}

const textOf = (value: unknown): string => typeof value === "string" ? value.slice(0, 200) : ""
const isHttp = (address: McpAddress): address is HttpAddress => "url" in address

const partsOf = (value: string): ReadonlyArray<string> => [value, ...value.split(/\s+/)]

/** What a server must never be quoted with: its credentials, as a whole and without the word before them. */
const secretsOf = (address: McpAddress): ReadonlyArray<string> => {
  const named = isHttp(address)
    ? [...Object.entries(address.headers).filter(([name]) => isSecretHeader(name)), ...Array.from(new URL(address.url).searchParams)]
    : Object.entries(address.env).filter(([name]) => isSecretName(name))
  return named.flatMap(([, value]) => partsOf(value)).filter((value) => value.length >= SECRET_MIN && !/^(bearer|basic)$/i.test(value))
}

const isSecretHeader = (name: string): boolean => /key|token|secret|auth|cookie|passw|credential|signature|session/i.test(name)

/** `told`: called when the server says that its tools have changed. */
export const open = (
  address: McpAddress, timeoutMs: number, upstream: Upstream["Service"], told: () => void
): Effect.Effect<Session, McpFailure, Scope.Scope> => Effect.gen(function*() {
  const mask = masker(secretsOf(address))
  const connect = (heard: (message: Message) => void): Effect.Effect<Peer.Transport, McpFailure, Scope.Scope> => isHttp(address)
    ? Effect.succeed(HttpTransport.make({ address, upstream, mask, timeoutMs: Math.max(timeoutMs, SETUP_MS) + TRANSPORT_MS }, heard))
    : StdioTransport.make({ address: address as StdioAddress, mask }, heard)
  const { peer, transport } = yield* Peer.make(connect, (method) => {
    if (method === "notifications/tools/list_changed") told()
  })
  const asked = { timeoutMs: SETUP_MS }

  const hello = yield* peer.request("initialize", { protocolVersion: versions[0], capabilities: {}, clientInfo: { name: "gateway", version } }, asked)
  const chosen = Predicate.isReadonlyObject(hello) ? hello["protocolVersion"] : undefined
  if (!Predicate.isReadonlyObject(hello) || !versions.some((known) => known === chosen)) {
    return yield* Effect.fail(failure("protocol", `The server speaks version '${textOf(chosen)}' of the protocol; known are ${versions.join(", ")}`))
  }
  transport.agreed(String(chosen))
  yield* Effect.addFinalizer(() => transport.end)
  yield* Effect.timeoutOrElse(peer.notify("notifications/initialized"), {
    duration: SETUP_MS, orElse: () => Effect.fail(failure("timeout", `The server did not take its start within ${SETUP_MS} ms`))
  })
  const info = Predicate.isReadonlyObject(hello["serverInfo"]) ? hello["serverInfo"] : {}

  const page = (cursor: string | null, known: ReadonlyArray<Described>, left: number): Effect.Effect<ReadonlyArray<Described>, McpFailure> => Effect.gen(function*() {
    const answer = yield* peer.request("tools/list", cursor === null ? {} : { cursor }, asked)
    const listed = Predicate.isReadonlyObject(answer) ? answer["tools"] : undefined
    if (!Predicate.isReadonlyObject(answer) || !Array.isArray(listed)) return yield* Effect.fail(failure("protocol", "The server's list of tools is none"))
    const all = [...known, ...listed.filter((tool): tool is Described => Predicate.isReadonlyObject(tool) && typeof tool["name"] === "string")]
    const next = answer["nextCursor"]
    return typeof next !== "string" || left === 0 || all.length >= TOOLS_MAX ? all.slice(0, TOOLS_MAX) : yield* page(next, all, left - 1)
  })

  return {
    protocolVersion: String(chosen),
    server: { name: textOf(info["name"]), version: textOf(info["version"]) },
    tools: Effect.suspend(() => Predicate.isReadonlyObject(hello["capabilities"]) && hello["capabilities"]["tools"] === undefined ? Effect.succeed([]) : page(null, [], PAGES_MAX)),
    call: (name, args, how) => Effect.flatMap(peer.request("tools/call", { name, arguments: args }, how), (result) =>
      Predicate.isReadonlyObject(result) ? Effect.succeed(result) : Effect.fail(failure("protocol", "The server's result is none"))),
    listen: transport.listen,
    lost: transport.lost
  }
})
