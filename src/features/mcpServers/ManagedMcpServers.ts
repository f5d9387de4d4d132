/** The MCP servers that operators set up: how they are made, changed, refreshed and removed. Each change is in the audit log. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { checkKept, UrlGuard } from "#actors/ports/UrlGuard.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import * as StoredCredentials from "#src/management/ownership/storedCredentials.ts"
import * as Addresses from "./addresses.ts"
import type { McpServerChange, NewMcpServer } from "./api.ts"
import { McpServers } from "./McpServers.ts"
import { McpServersOptions } from "./McpServersOptions.ts"
import { McpAddress, type McpServer, type McpTransport } from "./ports/McpServer.ts"
import { McpServerStore } from "./ports/McpServerStore.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export class ManagedMcpServers extends Context.Service<ManagedMcpServers, {
  readonly get: (id: string) => Effect.Effect<McpServer, Refusal.Refusal | StoreError>
  readonly create: (input: NewMcpServer) => Done<McpServer>
  readonly change: (id: string, input: McpServerChange) => Done<McpServer>
  readonly remove: (id: string) => Done<void>
  /** Asks the server for its tools now. */
  readonly refresh: (id: string) => Done<McpServer>
}>()("gateway/features/mcpServers/ManagedMcpServers") {}

const TIMEOUT_MS = 60_000
/** Servers of a gateway. */
const SERVERS_MAX = 100

const decodeAddress = Schema.decodeUnknownSync(Schema.fromJsonString(McpAddress))
export const addressIn = (server: McpServer): McpAddress => decodeAddress(Redacted.value(server.address))
export const iso = (ms: number): string => new Date(ms).toISOString()

const missing = Effect.fail(Refusal.notFound("MCP server not found"))

const make = Effect.gen(function*() {
  const audit = yield* Audit
  const guard = yield* UrlGuard
  const random = yield* SecureRandom.SecureRandom
  const servers = yield* McpServers
  const store = yield* McpServerStore
  const { startsPrograms } = yield* McpServersOptions
  // A change keeps the fields that others change at the same time.
  const locked = (yield* RecordLocks).of("MCP servers")

  const now = Effect.map(Clock.currentTimeMillis, iso)
  const get = (id: string) => Effect.flatMap(store.get(id), (server) => server === null ? missing : Effect.succeed(server))

  /** What runs a program is for the operator of the machine alone, and for nodes that are set to run some. */
  const checkProgram = (transport: McpTransport) => Effect.gen(function*() {
    if (transport === "http") return
    const { caller, loopback } = yield* ManagementCall
    if (!startsPrograms) {
      return yield* Effect.fail(Refusal.forbidden("Servers over stdio are programs that this machine runs: set GATEWAY_MCP_STDIO_SERVERS to on", { code: "MCP_STDIO_DISABLED" }))
    }
    if (!loopback || (caller.kind !== "session" && caller.kind !== "local")) {
      return yield* Effect.fail(Refusal.forbidden("Programs are set up on the gateway's own machine, by a signed-in operator or the command line", { code: "LOCAL_ONLY" }))
    }
  })

  const addressOf = (transport: McpTransport, fields: McpServerChange, before: McpAddress | null) => {
    const address = Addresses.addressOf(transport, fields, before)
    if (address instanceof Refusal.Refusal) return Effect.fail(address)
    if (before === null || !Addresses.isHttp(before) || !Addresses.isHttp(address) || !Addresses.keepsHeaders(fields, before, address)) return Effect.succeed(address)
    const [from, to] = [StoredCredentials.originOf(before.url), StoredCredentials.originOf(address.url)]
    return Effect.as(StoredCredentials.refuseMove({ field: "url", from, to }), address)
  }

  const sealed = (address: McpAddress) => Redacted.make(JSON.stringify(address))

  const checked = Effect.fnUntraced(function*(transport: McpTransport, fields: McpServerChange, before: McpAddress | null) {
    const unknown = (fields.scopes ?? []).findIndex((scope) => !Scopes.toolScopes.some((known) => known === scope))
    if (unknown >= 0) return yield* Effect.fail(Refusal.invalidField(`scopes.${unknown}`, "Expected a scope of tools; GET /api/mcp/tools names them"))
    const address = yield* addressOf(transport, fields, before)
    if (Addresses.isHttp(address)) yield* Effect.mapError(checkKept(guard, address.url, "provider"), ({ message }) => Refusal.invalidField("url", message))
    return address
  })

  const note = (action: string, { access, enabled, id, name, transport }: McpServer) =>
    audit.note({ action, target: id, resourceType: "mcp-server", details: { name, transport, enabled, access } })

  const create = Effect.fn("ManagedMcpServers.create")(function*(input: NewMcpServer) {
    const at = yield* now
    const transport = input.transport ?? "http"
    yield* checkProgram(transport)
    const address = sealed(yield* checked(transport, input, null))
    const server: McpServer = {
      id: yield* random.uuidV4(), name: input.name, description: input.description ?? null, transport, address, enabled: input.enabled ?? true,
      access: input.access ?? "keys", allowedTools: input.allowedTools ?? [], blockedTools: input.blockedTools ?? [], scopes: input.scopes ?? [],
      timeoutMs: input.timeoutMs ?? TIMEOUT_MS, createdAt: at, updatedAt: at
    }
    yield* locked(Effect.gen(function*() {
      if ((yield* store.list).length >= SERVERS_MAX) return yield* Effect.fail(Refusal.conflict(`There are ${SERVERS_MAX} MCP servers already`))
      yield* store.insert(server)
    }))
    yield* servers.reload
    yield* note("mcp_server.created", server)
    return server
  })

  const change = Effect.fn("ManagedMcpServers.change")(function*(id: string, input: McpServerChange) {
    const known = yield* get(id)
    // Also what changes less than the program: it may start it.
    yield* checkProgram(known.transport)
    // The URL guard asks the network, which must not hold up other writers.
    yield* checked(known.transport, input, addressIn(known))
    const server = yield* locked(Effect.gen(function*() {
      const before = yield* get(id)
      const server: McpServer = {
        ...before, address: sealed(yield* addressOf(before.transport, input, addressIn(before))), name: input.name ?? before.name,
        description: input.description === undefined ? before.description : input.description, enabled: input.enabled ?? before.enabled,
        access: input.access ?? before.access, allowedTools: input.allowedTools ?? before.allowedTools,
        blockedTools: input.blockedTools ?? before.blockedTools, scopes: input.scopes ?? before.scopes, timeoutMs: input.timeoutMs ?? before.timeoutMs,
        updatedAt: yield* now
      }
      if (!(yield* store.replace(server))) return yield* missing
      return server
    }))
    yield* servers.reload
    yield* note("mcp_server.updated", server)
    return server
  })

  const remove = Effect.fn("ManagedMcpServers.remove")(function*(id: string) {
    const server = yield* get(id)
    if (!(yield* locked(store.remove(id)))) return yield* missing
    yield* servers.reload
    yield* note("mcp_server.deleted", server)
  })

  const refresh = Effect.fn("ManagedMcpServers.refresh")(function*(id: string) {
    const server = yield* get(id)
    yield* servers.refresh(id)
    yield* note("mcp_server.refreshed", server)
    return server
  })

  return ManagedMcpServers.of({ get, create, change, remove, refresh })
})

export const layer = Layer.effect(ManagedMcpServers, make)
