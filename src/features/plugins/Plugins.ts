/** The plugins that are in force on this node, each with a sandbox of its own, and what runs the hooks of their lives. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Resident from "#src/platform/sandbox/Resident.ts"
import * as Sandbox from "#src/platform/sandbox/Sandbox.ts"
import type * as Seal from "#src/platform/sandbox/seal.ts"
import * as Hook from "./hooks/Hook.ts"
import * as Integrity from "./integrity.ts"
import { isInForce, type ownHooks, type Plugin, requestHooks } from "./ports/Plugin.ts"
import { PluginStore } from "./ports/PluginStore.ts"

/** ms for a hook of a plugin's life, and for a look at what its code exports. */
const OWN_HOOK_MS = 10_000
/** ms that a change waits for the sandboxes of this node. */
const WARM_MS = 10_000
/** Characters of a message that are kept. */
const MESSAGE_MAX = 1_000

/** Hooks of requests, in the order in which they are called: by name, and for answers the other way round. */
export interface InForce {
  readonly onRequest: ReadonlyArray<Hook.Hook>
  readonly onResponse: ReadonlyArray<Hook.Hook>
  readonly onError: ReadonlyArray<Hook.Hook>
}

/** The plugin's own failure. */
export class PluginFailed extends Schema.TaggedError<PluginFailed>()("PluginFailed", { message: Schema.String }) {}

export class Plugins extends Context.Service<Plugins, {
  /** This node runs plugins. */
  readonly isOn: boolean
  /** The folder below which plugins may lie; null = none. */
  readonly folder: string | null
  /** Null while no hook of a request is to be called: requests ask for it. */
  readonly inForce: () => InForce | null
  /** Acts on the records, and tells the other nodes. */
  readonly reload: Effect.Effect<void, StoreError>
  /** Names of the functions that a code exports. */
  readonly exportsOf: (code: string) => Effect.Effect<ReadonlyArray<string>, PluginFailed | Seal.Unsealed>
  /** Runs a hook of the plugin's life in a sandbox that ends with it; one that the manifest does not name does nothing. */
  readonly live: (plugin: Plugin, hook: typeof ownHooks[number]) => Effect.Effect<void, PluginFailed | Seal.Unsealed>
}>()("gateway/plugins/Plugins") {}

export interface Options {
  /** GATEWAY_PLUGINS: without it nothing runs. */
  readonly isOn: boolean
  /** GATEWAY_PLUGINS_DIR. */
  readonly folder: string | null
}

interface Held {
  readonly plugin: Plugin
  readonly hook: Hook.Hook
  /** Until its sandbox is there, or cannot be. */
  readonly warm: Effect.Effect<void>
  /** Ends its sandbox, after the calls that wait for it. */
  readonly retire: Effect.Effect<void>
}

const decodeNames = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Schema.String)))
const BROKEN = "Its code does not have the hash with which it was installed"

const merged = (held: ReadonlyArray<Held>): InForce | null => {
  const [onRequest = [], onResponse = [], onError = []] = requestHooks.map((name) => held.filter(({ plugin }) => plugin.manifest.hooks.includes(name)).map(({ hook }) => hook))
  return onRequest.length + onResponse.length + onError.length === 0 ? null : { onRequest, onResponse: onResponse.reverse(), onError: onError.reverse() }
}

/** Sandboxes beside those of active plugins; each may take 256 MB. */
const turns = Semaphore.makeUnsafe(2)

const run = Effect.fnUntraced(function*(code: string, name: string, context: string) {
  const outcome = yield* turns.withPermits(1)(Sandbox.run({ code, name, input: "{}", context }, OWN_HOOK_MS, Effect.void))
  if (outcome._tag === "TimedOut") return yield* new PluginFailed({ message: `It did not end within ${OWN_HOOK_MS} ms` })
  return outcome._tag === "Failed" ? yield* new PluginFailed({ message: outcome.message.slice(0, MESSAGE_MAX) }) : outcome.json
})

const make = Effect.fnUntraced(function*({ folder, isOn }: Options) {
  const store = yield* PluginStore
  const feed = yield* ChangeFeed
  const locked = (yield* RecordLocks).of("plugins")
  const scope = yield* Effect.scope
  const held = new Map<string, Held>()
  let inForce: InForce | null = null

  const hold = Effect.fnUntraced(function*(plugin: Plugin) {
    if (!Integrity.fits(plugin.code, plugin.integrity)) return { plugin, hook: Hook.make(plugin, BROKEN), warm: Effect.void, retire: Effect.void } satisfies Held
    const own = yield* Scope.fork(scope)
    const resident = yield* Scope.provide(Resident.make(plugin.code, plugin.manifest.hookTimeoutMs), own)
    const warm = Effect.catchTag(resident.warm, "Unsealed", ({ message }) => Effect.logError(`Plugin ${plugin.name} cannot run here: ${message}`))
    yield* Effect.forkIn(warm, own)
    return { plugin, hook: Hook.make(plugin, resident), warm: Effect.ignore(resident.warm), retire: Effect.andThen(resident.idle, Scope.close(own, Exit.void)) } satisfies Held
  })

  /** An active plugin whose code is another than it was. */
  const settleBroken = ({ name }: Plugin) => locked(Effect.gen(function*() {
    const plugin = yield* store.get(name)
    if (plugin?.status === "active" && !Integrity.fits(plugin.code, plugin.integrity)) yield* store.replace({ ...plugin, status: "error", errorMessage: BROKEN })
  })).pipe(Effect.catch((error) => Effect.logError(`Plugin ${name} cannot be marked as broken: ${error.message}`)))

  // One at a time: an older list must not take the place of a newer one.
  const apply = Semaphore.makeUnsafe(1).withPermits(1)(Effect.gen(function*() {
    const plugins = isOn ? (yield* store.list).filter(isInForce) : []
    const wanted = new Map(plugins.map((plugin) => [plugin.name, plugin]))
    const retired: Array<Held> = []
    for (const [name, one] of held) {
      if (wanted.get(name)?.updatedAt === one.plugin.updatedAt) continue
      held.delete(name)
      retired.push(one)
    }
    for (const plugin of plugins) {
      if (!held.has(plugin.name)) held.set(plugin.name, yield* hold(plugin))
    }
    inForce = merged([...held.values()].sort((a, b) => a.plugin.name < b.plugin.name ? -1 : 1))
    yield* Effect.forEach(retired, ({ retire }) => Effect.forkIn(retire, scope), { discard: true })
    return plugins.filter(({ code, integrity, status }) => status === "active" && !Integrity.fits(code, integrity))
  }))
  const reload = Effect.flatMap(apply, Effect.forEach(settleBroken, { discard: true }))

  /** So that the first requests after a change do not wait. */
  const warm = Effect.suspend(() => Effect.asVoid(Effect.timeoutOption(Effect.forEach([...held.values()], ({ warm }) => warm, { concurrency: "unbounded", discard: true }), WARM_MS)))

  yield* feed.hear(({ changes }) => changes === null || changes.some(({ kind }) => kind === "plugin") ? reload : Effect.void)
  yield* reload.pipe(Effect.catch((error) => Effect.logError(`Plugins cannot be read: ${error.message}`)))

  return Plugins.of({
    isOn, folder,
    inForce: () => inForce,
    reload: Effect.andThen(Effect.tap(reload, () => Effect.sync(feed.announce)), warm),
    exportsOf: Effect.fn("Plugins.exportsOf")(function*(code) {
      const json = yield* run(code, "", "{}")
      return yield* Effect.mapError(decodeNames(json), () => new PluginFailed({ message: "What it exports cannot be read" }))
    }),
    live: Effect.fn("Plugins.live")(function*(plugin, hook) {
      if (!plugin.manifest.hooks.includes(hook)) return
      if (!Integrity.fits(plugin.code, plugin.integrity)) return yield* new PluginFailed({ message: BROKEN })
      yield* Effect.asVoid(run(plugin.code, hook, Hook.contextOf(plugin)))
    })
  })
})

export const layer = (options: Options) => Layer.effect(Plugins, make(options))
