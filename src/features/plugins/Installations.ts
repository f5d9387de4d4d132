/** The plugins that are installed: how one comes, is switched on and off, is configured and goes. Each change is in the audit log. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import type { Unsealed } from "#src/platform/sandbox/seal.ts"
import * as Json from "#src/wire/json/json.ts"
import type { FromMarket, NewPlugin } from "./api.ts"
import * as Bounds from "./bounds.ts"
import * as Config from "./config.ts"
import * as Folder from "./folder.ts"
import * as Integrity from "./integrity.ts"
import * as Manifest from "./manifest.ts"
import { PluginMarket } from "./PluginMarket.ts"
import { type PluginFailed, Plugins } from "./Plugins.ts"
import type { ownHooks, Plugin } from "./ports/Plugin.ts"
import { PluginStore } from "./ports/PluginStore.ts"

/** The plugin as it stands afterwards. */
type Done<A = Plugin> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export class Installations extends Context.Service<Installations, {
  readonly get: (name: string) => Effect.Effect<Plugin, Refusal.Refusal | StoreError>
  readonly install: (input: NewPlugin) => Done
  /** A package holds what a call would say, and is checked as the call is. Only its operator activates it. */
  readonly installFrom: (wanted: FromMarket) => Done
  readonly activate: (name: string) => Done
  readonly deactivate: (name: string) => Done
  readonly remove: (name: string) => Done<void>
  readonly configure: (name: string, config: Plugin["config"]) => Done
}>()("gateway/http/Installations") {}

/** What is to be installed, and the field of the call that brought it. */
interface Given {
  readonly manifest: unknown
  readonly codeOf: (main: string) => Effect.Effect<string, Refusal.Refusal>
  readonly field: "path" | "code"
}

const missing = Effect.fail(Refusal.notFound("Plugin not found"))
const off = Refusal.unavailable("Plugins are off: set GATEWAY_PLUGINS to on", { code: "PLUGINS_DISABLED" })
const unsealed = ({ message }: Unsealed) => Effect.fail(Refusal.unavailable(`Plugins cannot run here: ${message}`, { code: "PLUGINS_UNAVAILABLE" }))
const failed = (hook: string, { message }: PluginFailed) => Refusal.unprocessable(`${hook} failed: ${message}`, { code: "PLUGIN_FAILED" })
const refusedPath = ({ message }: Folder.Unreadable) => Refusal.invalidField("path", message)

/** A change that the record shows, or why there is none. */
type Changed = Effect.Effect<Plugin, Refusal.Refusal | StoreError>

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const market = yield* PluginMarket
  const plugins = yield* Plugins
  const store = yield* PluginStore
  // A change keeps what others change at the same time. Hooks run before it: nothing waits for them in there.
  const locked = (yield* RecordLocks).of("plugins")

  const ready = plugins.isOn ? Effect.void : Effect.fail(off)
  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const find = (name: string) => Effect.flatMap(store.get(name), (plugin) => plugin === null ? missing : Effect.succeed(plugin))
  const note = (action: string, { integrity, name, status, version }: Plugin, details: Readonly<Record<string, string>> = {}) =>
    audit.note({ action, target: name, resourceType: "plugin", details: { version, status, integrity, ...details } })

  const change = (name: string, to: (plugin: Plugin) => Effect.Effect<Partial<Plugin>, Refusal.Refusal | StoreError>): Changed => Effect.gen(function*() {
    const plugin = yield* locked(Effect.gen(function*() {
      const before = yield* find(name)
      const plugin: Plugin = { ...before, ...yield* to(before), updatedAt: yield* now }
      if (!(yield* store.replace(plugin))) return yield* missing
      return plugin
    }))
    yield* plugins.reload
    return plugin
  })

  const inFolder = Effect.fnUntraced(function*(path: string) {
    const { folder } = plugins
    if (folder === null) return yield* Effect.fail(Refusal.invalidField("path", "No folder is allowed: set GATEWAY_PLUGINS_DIR, or send manifest and code"))
    const opened = yield* Effect.mapError(Folder.open(folder, path), refusedPath)
    const manifest = Json.parseRecord(opened.manifest)
    if (manifest === null) return yield* Effect.fail(Refusal.invalidField("path", `${Folder.MANIFEST} holds no JSON object`))
    return { manifest, field: "path", codeOf: (main) => Effect.mapError(opened.main(main), refusedPath) } satisfies Given
  })

  const given = Effect.fnUntraced(function*({ code, manifest, path }: NewPlugin) {
    const inert = Manifest.inert(manifest)
    if (inert.length > 0) return yield* Effect.fail(Refusal.notSupportedYet(inert))
    if ((path === undefined) === (manifest === undefined)) return yield* Effect.fail(Refusal.invalidField("path", "Give path or manifest"))
    yield* ready
    if (path === undefined) {
      if (code === undefined) return yield* Effect.fail(Refusal.invalidField("code", "Required beside manifest"))
      return { manifest, field: "code", codeOf: () => Effect.succeed(code) } satisfies Given
    }
    if (code !== undefined) return yield* Effect.fail(Refusal.invalidField("code", "The code is the main file of the path"))
    const found = yield* inFolder(path)
    const asked = Manifest.inert(found.manifest)
    return asked.length > 0 ? yield* Effect.fail(Refusal.notSupportedYet(asked)) : found
  })

  const fresh = Effect.fnUntraced(function*({ codeOf, field, manifest: raw }: Given) {
    const read = Manifest.read(raw)
    if (Result.isFailure(read)) return yield* Effect.fail(Refusal.invalidFields(read.failure))
    const { manifest, name, version } = read.success
    const code = yield* codeOf(manifest.main)
    const misfit = Manifest.misfitOf(read.success, code)
    if (misfit !== null) return yield* Effect.fail(Refusal.invalidField("manifest.integrity", misfit))
    const exported = yield* plugins.exportsOf(code).pipe(
      Effect.catchTag("PluginFailed", ({ message }) => Effect.fail(Refusal.invalidField(field, `The code cannot be loaded: ${message}`))),
      Effect.catchTag("Unsealed", unsealed)
    )
    const lacking = manifest.hooks.filter((hook) => !exported.includes(hook))
    if (lacking.length > 0) return yield* Effect.fail(Refusal.invalidFields(lacking.map((hook) => ({ field: `manifest.hooks.${hook}`, message: "The code exports no such function" }))))
    const at = yield* now
    const plugin: Plugin = {
      name, version, manifest, code, integrity: Integrity.of(code), status: "installed", config: Result.getOrElse(Config.checked(manifest.configSchema, {}), () => ({})),
      installedAt: at, activatedAt: null, errorMessage: null, updatedAt: at
    }
    return plugin
  })

  /** For the caller of a call that stands or falls with the hook. */
  const live = (plugin: Plugin, hook: typeof ownHooks[number]) => plugins.live(plugin, hook).pipe(Effect.catchTag("Unsealed", unsealed))
  /** What goes wrong; null when nothing does. An end is not held up by its hook. */
  const parting = (plugin: Plugin, hook: "onDeactivate" | "onUninstall") => plugins.isOn
    ? Effect.match(plugins.live(plugin, hook), { onFailure: ({ message }) => `${hook} failed: ${message}`, onSuccess: () => null })
    : Effect.succeed(null)

  const activate = Effect.fn("Plugins.activate")(function*(name: string) {
    yield* ready
    const plugin = yield* find(name)
    if (plugin.status === "active") return plugin
    yield* live(plugin, "onActivate").pipe(Effect.catchTag("PluginFailed", (failure) => Effect.gen(function*() {
      const broken = yield* change(name, () => Effect.succeed({ status: "error", activatedAt: null, errorMessage: `onActivate failed: ${failure.message}` }))
      yield* note("plugin.activated", broken)
      return yield* Effect.fail(failed("onActivate", failure))
    })))
    const active = yield* change(name, (before) => Effect.gen(function*() {
      if (!Integrity.fits(before.code, before.integrity)) return yield* Effect.fail(Refusal.unprocessable("The stored code does not have the hash with which it was installed: install it anew", { code: "PLUGIN_FAILED" }))
      const others = (yield* store.list).filter((other) => other.name !== name && other.status === "active")
      if (others.length >= Bounds.ACTIVE_MAX) return yield* Effect.fail(Refusal.conflict(`${Bounds.ACTIVE_MAX} plugins are active: deactivate one first`))
      return { status: "active", activatedAt: yield* now, errorMessage: null }
    }))
    yield* note("plugin.activated", active)
    return active
  })

  const install = Effect.fn("Plugins.install")(function*(input: NewPlugin, details: Readonly<Record<string, string>> = {}) {
    const plugin = yield* fresh(yield* given(input))
    const taken = Refusal.conflict(`The plugin ${plugin.name} is installed: uninstall it first`)
    if ((yield* store.get(plugin.name)) !== null) return yield* Effect.fail(taken)
    yield* live(plugin, "onInstall").pipe(Effect.catchTag("PluginFailed", (failure) => Effect.fail(failed("onInstall", failure))))
    yield* locked(Effect.gen(function*() {
      const all = yield* store.list
      if (all.some(({ name }) => name === plugin.name)) return yield* Effect.fail(taken)
      if (all.length >= Bounds.PLUGINS_MAX) return yield* Effect.fail(Refusal.conflict(`There are ${Bounds.PLUGINS_MAX} plugins already: uninstall one first`))
      yield* store.insert(plugin)
    }))
    yield* note("plugin.installed", plugin, details)
    if (!plugin.manifest.enabledByDefault) return plugin
    // It is installed, whatever becomes of its activation.
    return yield* Effect.catchIf(activate(plugin.name), (error) => error._tag === "Refusal", () => find(plugin.name))
  })

  const installFrom = Effect.fn("Plugins.installFrom")(function*(wanted: FromMarket) {
    yield* ready
    const { content: { code, manifest }, sha256 } = yield* market.take(wanted)
    if (!Json.isRecord(manifest) || typeof code !== "string" || code === "" || code.length > Bounds.CODE_MAX) {
      return yield* Effect.fail(Refusal.unprocessable(`The package of ${wanted.id} is no plugin: it needs manifest, an object, and code, a text of at most ${Bounds.CODE_MAX} characters`))
    }
    return yield* install({ manifest: { ...manifest as NonNullable<NewPlugin["manifest"]>, source: "marketplace", enabledByDefault: false }, code }, { marketId: wanted.id, sha256 })
  })

  const deactivate = Effect.fn("Plugins.deactivate")(function*(name: string) {
    const plugin = yield* find(name)
    if (plugin.status !== "active" && plugin.status !== "error") return plugin
    // No request meets it any more when it hears of its end.
    const inactive = yield* change(name, () => Effect.succeed({ status: "inactive", activatedAt: null, errorMessage: null }))
    const problem = plugin.status === "active" ? yield* parting(plugin, "onDeactivate") : null
    yield* note("plugin.deactivated", inactive)
    return problem === null ? inactive : yield* change(name, () => Effect.succeed({ errorMessage: problem }))
  })

  const remove = Effect.fn("Plugins.remove")(function*(name: string) {
    const plugin = yield* deactivate(name)
    const problem = yield* parting(plugin, "onUninstall")
    if (!(yield* locked(store.remove(name)))) return yield* missing
    yield* plugins.reload
    yield* note("plugin.uninstalled", plugin, problem === null ? {} : { problem })
  })

  const configure = Effect.fn("Plugins.configure")(function*(name: string, config: Plugin["config"]) {
    const plugin = yield* change(name, ({ manifest }) => Effect.suspend(() => {
      const checked = Config.checked(manifest.configSchema, config)
      return Result.isFailure(checked) ? Effect.fail(Refusal.invalidFields(checked.failure)) : Effect.succeed({ config: checked.success })
    }))
    yield* note("plugin.configured", plugin, { fields: Object.keys(config).join(", ") })
    return plugin
  })

  return Installations.of({ get: find, install, installFrom, activate, deactivate, remove, configure })
})

export const layer = Layer.effect(Installations, make)
