/**
 * The gateway's sessions with other MCP servers: one supervised loop for each that is switched on. It connects, keeps the list of tools
 * fresh, and tries a server that fails again after growing waits; what one server does never concerns the others.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { McpAddress, type McpServer } from "./ports/McpServer.ts"
import * as Catalog from "./catalog.ts"
import { failure, type McpFailure } from "./client/messages.ts"
import type { Asked } from "./client/Peer.ts"
import * as Session from "./client/Session.ts"
import * as Health from "./health.ts"
import { McpServerStore } from "./ports/McpServerStore.ts"

/** A list of tools is read again after this time, ms, unless its server says earlier that it changed. */
const LIST_MS = 60_000
/** A server that ended its stream of notifications is asked for another one after this time, ms. */
const LISTEN_AGAIN_MS = 5_000
/** A call waits this long for a server that is being connected, ms. */
const PATIENCE_MS = 10_000
/** A session that stood this long, ms, was well: the waits begin small again. */
const WELL_MS = 10_000
/** Calls of one server at once, from this node. */
const CALLS_MAX = 64

type Json = Readonly<Record<string, unknown>>

export interface Standing {
  readonly record: McpServer
  readonly health: Health.Health
  readonly tools: ReadonlyArray<Catalog.CatalogTool>
  /** Tools that are not offered, and why. */
  readonly leftOut: ReadonlyArray<Catalog.LeftOut>
}

export class McpServers extends Context.Service<McpServers, {
  /** By name. */
  readonly all: () => ReadonlyArray<Standing>
  readonly find: (id: string) => Standing | null
  /** Reads the records again: what changed is connected anew. */
  readonly reload: Effect.Effect<void, StoreError>
  /** Connects now, or reads the tools again; waits until that went well or failed. */
  readonly refresh: (id: string) => Effect.Effect<void>
  readonly tools: () => ReadonlyMap<string, Catalog.CatalogTool>
  /** Grows with every change of `tools`. */
  readonly version: () => number
  readonly call: (tool: Catalog.CatalogTool, args: Json, onProgress?: Asked["onProgress"]) => Effect.Effect<Json, McpFailure>
}>()("gateway/mcpServers/McpServers") {}

export interface Options {
  /** This node may start the programs of `stdio` servers. */
  readonly startsPrograms: boolean
}

/** One server on this node. */
interface Held {
  readonly record: McpServer
  health: Health.Health
  /** In a row, a session that soon broke among them. */
  failures: number
  session: Session.Session | null
  tools: ReadonlyArray<Catalog.CatalogTool>
  leftOut: ReadonlyArray<Catalog.LeftOut>
  calls: number
  /** Open while there is something to do at once: the tools changed, or an operator asks. */
  readonly due: Latch.Latch
  /** Open unless it is being connected or asked again. */
  readonly settled: Latch.Latch
}

const decodeAddress = Schema.decodeUnknownSync(Schema.fromJsonString(McpAddress))

const up = (server: string) => Metric.gauge("gateway_mcp_server_up", { description: "1 while the session with an MCP server stands.", attributes: { server } })
const calls = (server: string, outcome: string) => Metric.counter("gateway_mcp_server_calls_total", {
  description: "Calls of tools of other MCP servers, by outcome.", attributes: { server, outcome }, incremental: true
})

const same = (a: ReadonlyArray<Catalog.CatalogTool>, b: ReadonlyArray<Catalog.CatalogTool>): boolean =>
  a.length === b.length && JSON.stringify(a.map(({ described }) => described)) === JSON.stringify(b.map(({ described }) => described))

const make = Effect.fnUntraced(function*({ startsPrograms }: Options) {
  const store = yield* McpServerStore
  const upstream = yield* Upstream
  const feed = yield* ChangeFeed
  const context = yield* Effect.context<never>()
  const running = yield* FiberMap.make<string>()
  const held = new Map<string, Held>()
  let catalog: ReadonlyMap<string, Catalog.CatalogTool> = new Map()
  let version = 0

  const publish = (): void => {
    catalog = Catalog.merged([...held.values()])
    version++
  }

  const take = (one: Held, described: ReadonlyArray<Session.Described>): void => {
    const { leftOut, tools } = Catalog.ofServer(one.record, described)
    one.leftOut = leftOut
    if (same(one.tools, tools)) return
    one.tools = tools
    publish()
  }

  const gauge = (one: Held, value: number): void => up(one.record.name).updateUnsafe(value, context)

  /** One session, from its handshake to its loss. */
  const session = (one: Held) => Effect.scoped(Effect.gen(function*() {
    const { record } = one
    const opened = yield* Session.open(decodeAddress(Redacted.value(record.address)), record.timeoutMs, upstream, () => Latch.openUnsafe(one.due))
    take(one, yield* opened.tools)
    one.session = opened
    one.health = { status: "connected", sinceMs: yield* Clock.currentTimeMillis, protocolVersion: opened.protocolVersion, server: opened.server }
    gauge(one, 1)
    yield* one.settled.open
    const fresh = Effect.gen(function*() {
      for (;;) {
        yield* Effect.raceFirst(one.due.await, Effect.sleep(LIST_MS))
        yield* one.due.close
        take(one, yield* opened.tools)
        yield* one.settled.open
      }
    })
    // A server without such a stream refuses it: its list is read again from time to time.
    const listening = Effect.gen(function*() {
      for (;;) {
        if (!(yield* Effect.match(opened.listen, { onFailure: () => false, onSuccess: () => true }))) return yield* Effect.never
        yield* Effect.sleep(LISTEN_AGAIN_MS)
      }
    })
    return yield* Effect.raceFirst(Effect.raceFirst(fresh, opened.lost), listening)
  })).pipe(Effect.ensuring(Effect.sync(() => {
    one.session = null
    gauge(one, 0)
  })))

  /** The tools of a server that fails stay listed: it may be back for the next call, and clients keep what they know. */
  const round = (one: Held) => session(one).pipe(Effect.catch((problem) => Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    // A session that stood and was forgotten is opened again at once.
    if (one.health.status === "connected" && problem.reason === "session_lost") one.health = { status: "connecting", sinceMs: now }
    else {
      one.failures = one.health.status === "connected" && now - one.health.sinceMs >= WELL_MS ? 1 : one.failures + 1
      one.health = Health.failed(one.health, one.failures, problem, now)
      if (one.failures === 1) yield* Effect.logWarning(`MCP server ${one.record.name}: ${problem.message}; it is tried again`)
      yield* one.settled.open
      const { health } = one
      yield* Effect.raceFirst(one.due.await, Effect.sleep(health.status === "failing" ? Math.max(0, health.nextTryMs - now) : 0))
    }
    yield* one.due.close
  })))

  const offOf = ({ enabled, transport }: McpServer): Health.Health | null =>
    !enabled ? { status: "off", why: "It is disabled" } : transport === "stdio" && !startsPrograms
      ? { status: "off", why: "This node does not start programs: set GATEWAY_MCP_STDIO_SERVERS to on" } : null

  const hold = Effect.fnUntraced(function*(record: McpServer) {
    const off = offOf(record)
    const one: Held = {
      record, health: off ?? { status: "connecting", sinceMs: yield* Clock.currentTimeMillis }, failures: 0, session: null, tools: [], leftOut: [], calls: 0,
      due: yield* Latch.make(false), settled: yield* Latch.make(off !== null)
    }
    held.set(record.id, one)
    if (off !== null) yield* FiberMap.remove(running, record.id)
    else yield* FiberMap.run(running, record.id, Supervisor.supervised("MCP server", round(one), { fields: { server: record.name } }))
  })

  // One at a time: an older list must not take the place of a newer one.
  const reload = Semaphore.makeUnsafe(1).withPermits(1)(Effect.gen(function*() {
    const records = yield* store.list
    const listed = new Set(records.map(({ id }) => id))
    for (const id of held.keys()) {
      if (listed.has(id)) continue
      held.delete(id)
      yield* FiberMap.remove(running, id)
    }
    for (const record of records) if (held.get(record.id)?.record.updatedAt !== record.updatedAt) yield* hold(record)
    publish()
  }))

  yield* feed.hear(({ changes }) => changes === null || changes.some(({ kind }) => kind === "mcp-server") ? reload : Effect.void)
  yield* reload.pipe(Effect.catch((error) => Effect.logError(`MCP servers cannot be read: ${error.message}`)))

  const standing = ({ health, leftOut, record, tools }: Held): Standing => ({ record, health, tools, leftOut })

  const unavailable = ({ health, record }: Held): McpFailure => failure("unavailable", health.status === "failing"
    ? `MCP server ${record.name} is not connected since ${new Date(health.sinceMs).toISOString()} (${health.problem.message}); next try at ${new Date(health.nextTryMs).toISOString()}`
    : `MCP server ${record.name} is not connected`)

  const awaited = (one: Held): Effect.Effect<Session.Session, McpFailure> => Effect.gen(function*() {
    if (one.session === null) yield* Effect.timeoutOption(one.settled.await, Math.min(PATIENCE_MS, one.record.timeoutMs))
    return one.session ?? (yield* Effect.fail(unavailable(one)))
  })

  const ask = Effect.fnUntraced(function*(one: Held, tool: Catalog.CatalogTool, args: Json, onProgress: Asked["onProgress"]) {
    const asked = { timeoutMs: one.record.timeoutMs, onProgress }
    const first = yield* awaited(one)
    return yield* first.call(tool.original, args, asked).pipe(Effect.catchIf(({ reason }) => reason !== "rpc" && reason !== "protocol", (problem) => Effect.gen(function*() {
      // Whether it lives is found out now, not with the next look at its list.
      if (one.session === first && problem.reason !== "too_large") {
        if (problem.reason === "session_lost") {
          one.session = null
          yield* one.settled.close
        }
        yield* one.due.open
      }
      // A session that was forgotten ran nothing: the call is safe to repeat.
      if (problem.reason !== "session_lost") return yield* Effect.fail(problem)
      const again = yield* awaited(one)
      return yield* again.call(tool.original, args, asked)
    })))
  })

  return McpServers.of({
    all: () => [...held.values()].map(standing).sort((a, b) => a.record.name < b.record.name ? -1 : 1),
    find: (id) => {
      const one = held.get(id)
      return one === undefined ? null : standing(one)
    },
    reload: Effect.tap(reload, () => Effect.sync(feed.announce)),
    refresh: (id) => Effect.gen(function*() {
      const one = held.get(id)
      if (one === undefined || one.health.status === "off") return
      yield* one.settled.close
      yield* one.due.open
      yield* Effect.timeoutOption(one.settled.await, PATIENCE_MS)
    }),
    tools: () => catalog,
    version: () => version,
    call: (tool, args, onProgress) => Effect.suspend(() => {
      const one = held.get(tool.server.id)
      if (one === undefined) return Effect.fail(failure("unavailable", `MCP server ${tool.server.name} is gone`))
      if (one.calls >= CALLS_MAX) return Effect.fail(failure("unavailable", `MCP server ${tool.server.name} has ${CALLS_MAX} calls at once already`))
      one.calls++
      const count = (outcome: string) => Effect.sync(() => calls(tool.server.name, outcome).updateUnsafe(1, context))
      return ask(one, tool, args, onProgress).pipe(
        Effect.tap(() => count("answered")),
        Effect.tapError(({ reason }) => count(reason)),
        Effect.ensuring(Effect.sync(() => one.calls--))
      )
    })
  })
})

export const layer = (options: Options) => Layer.effect(McpServers, make(options))
