import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as Redacted from "effect/Redacted"
import * as Egress from "#actors/egress/Egress.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Proxy, ProxyAssignment, ProxyScope } from "#schemas/egress/Proxy.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as StoredCredentials from "#src/management/ownership/storedCredentials.ts"
import { REDACTED } from "#src/management/redact.ts"
import * as Surface from "#src/management/Surface.ts"
import { Proxies } from "#src/features/proxies/Proxies.ts"
import { ProxyTest } from "#src/features/proxies/ProxyTest.ts"
import { isSame, plain } from "#src/features/proxies/sameProxy.ts"
import * as Views from "#src/features/proxies/views.ts"
import { type MapChange, type MapView, type ProxyPlace, type ProxyPlaceView, ProxySettingsGroup } from "./api.ts"

/** The maps of scopes, in the order of replies. */
const maps = [["providers", "provider"], ["combos", "combo"], ["keys", "key"]] as const

/** One place that a change names. */
interface Wish {
  readonly scope: ProxyScope
  readonly id: string | null
  readonly proxy: ProxyPlace | null
  /** Of the proxy in what was sent, and of the id. */
  readonly path: string
  readonly idPath: string
}

const placeView = (proxy: Proxy): ProxyPlaceView => {
  const { host, password, port, type, username } = Views.proxyView(proxy)
  return { type, host, port, username, password }
}

/** Errors of a place name it by its path in the whole. */
const at = ({ idPath, path }: Pick<Wish, "idPath" | "path">) => (problem: Refusal.Refusal): Refusal.Refusal => {
  const { details } = problem.error
  return details === undefined ? problem : new Refusal.Refusal(problem.status, problem.error.type, problem.error.code, problem.error.message, {
    details: details.map(({ field, message }) => ({ field: field === "scopeId" ? idPath : `${path}.${field}`, message }))
  })
}

export const layer = HttpApiBuilder.group(Surface.make(ProxySettingsGroup), "proxySettings", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const proxies = yield* Proxies
  const proxyTest = yield* ProxyTest
  const store = yield* ProxyStore

  const view = Effect.gen(function*() {
    const snapshot = configuration.current()
    const byId = new Map((yield* store.list).map((proxy) => [proxy.id, proxy]))
    const found: { global: ProxyPlaceView | null; providers: Record<string, ProxyPlaceView>; combos: Record<string, ProxyPlaceView>; keys: Record<string, ProxyPlaceView> } =
      { global: null, providers: {}, combos: {}, keys: {} }
    for (const assignment of yield* store.assignments) {
      const proxy = byId.get(assignment.proxyId)
      if (proxy === undefined) continue
      if (assignment.scope === "global") found.global = placeView(proxy)
      const map = maps.find(([, scope]) => scope === assignment.scope)
      if (map !== undefined) found[map[0]][Views.shownScopeId(snapshot, assignment) ?? ""] = placeView(proxy)
    }
    return found satisfies MapView
  })

  /** What a change asks for, place by place; what a given map leaves out is asked to go. */
  const wishesOf = (change: MapChange, assignments: ReadonlyArray<ProxyAssignment>): Effect.Effect<ReadonlyArray<Wish>, Refusal.Refusal> => {
    const { id = null, level, proxy } = change
    if (level !== undefined) {
      return proxy === undefined
        ? Effect.fail(Refusal.invalidField("proxy", "Required beside level: a proxy, or null to remove it"))
        : Effect.succeed([{ scope: level, id: level === "global" ? null : id, proxy, path: "proxy", idPath: "id" }])
    }
    if (proxy !== undefined || id !== null) return Effect.fail(Refusal.invalidField("level", "Required beside id and proxy"))
    const snapshot = configuration.current()
    const wishes: Array<Wish> = change.global === undefined ? [] : [{ scope: "global", id: null, proxy: change.global, path: "global", idPath: "global" }]
    for (const [name, scope] of maps) {
      const map = change[name]
      if (map === undefined) continue
      for (const [id, proxy] of Object.entries(map)) wishes.push({ scope, id, proxy, path: `${name}.${id}`, idPath: `${name}.${id}` })
      for (const assignment of assignments) {
        const shown = Views.shownScopeId(snapshot, assignment)
        if (assignment.scope === scope && shown !== null && !Object.hasOwn(map, shown) && !Object.hasOwn(map, assignment.scopeId)) wishes.push({ scope, id: shown, proxy: null, path: name, idPath: name })
      }
    }
    return wishes.length === 0 && maps.every(([name]) => change[name] === undefined)
      ? Effect.fail(Refusal.badRequest("No valid fields to update"))
      : Effect.succeed(wishes)
  }

  /** The place with the credentials that stay, checked. */
  const drafted = Effect.fnUntraced(function*(place: ProxyPlace, standing: Proxy | undefined, field: string) {
    const kept = (given: string | null | undefined, stored: Redacted.Redacted<string> | null | undefined) => given === REDACTED ? plain(stored ?? null) : given ?? null
    const draft = yield* proxies.draft({
      ...place, name: `${place.host}:${place.port}`.slice(0, 120), username: kept(place.username, standing?.username), password: kept(place.password, standing?.password)
    }, "settings")
    if (standing !== undefined && (place.username === REDACTED || place.password === REDACTED)) {
      yield* StoredCredentials.refuseMove({ field, from: Views.originOf(standing), to: Views.originOf(draft) })
    }
    return draft
  })

  const put = Effect.fn("ProxySettings.put")(function*(change: MapChange) {
    const [all, assignments] = [yield* store.list, yield* store.assignments]
    const wanted: Array<{ readonly scope: ProxyScope; readonly scopeId: string; readonly draft: Proxy | null }> = []
    for (const wish of yield* wishesOf(change, assignments)) {
      const draft = Effect.gen(function*() {
        const scopeId = yield* proxies.scopeIdOf(wish.scope, wish.id)
        const current = assignments.find((one) => one.scope === wish.scope && one.scopeId === scopeId)
        return { scope: wish.scope, scopeId, draft: wish.proxy === null ? null : yield* drafted(wish.proxy, all.find(({ id }) => id === current?.proxyId), "host") }
      })
      wanted.push(yield* Effect.mapError(draft, (problem) => problem._tag === "Refusal" ? at(wish)(problem) : problem))
    }
    yield* configuration.commit(Effect.gen(function*() {
      for (const { draft, scope, scopeId } of wanted) {
        if (draft === null) yield* store.unassign(scope, scopeId)
        else {
          const known = (yield* store.list).find((one) => one.status === "active" && isSame(one, draft))
          if (known === undefined) yield* store.insert(draft)
          yield* store.assign({ scope, scopeId, proxyId: (known ?? draft).id, assignedAt: draft.createdAt })
        }
      }
      // What this map made and nothing uses any more.
      const used = new Set((yield* store.assignments).map(({ proxyId }) => proxyId))
      for (const { id, source } of yield* store.list) if (source === "settings" && !used.has(id)) yield* store.remove(id)
    }))
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: wanted.map(({ scope, scopeId }) => scopeId === "" ? `proxy.${scope}` : `proxy.${scope}.${scopeId}`) } })
    return yield* view
  })

  const test = Effect.fn("ProxySettings.test")(function*({ proxy: place, proxyId }: { readonly proxy?: ProxyPlace; readonly proxyId?: string }) {
    if ((place === undefined) === (proxyId === undefined)) return yield* Effect.fail(Refusal.invalidField("proxy", "Give either proxy or proxyId"))
    const stored = proxyId === undefined ? undefined : (yield* store.list).find(({ id }) => id === proxyId)
    if (proxyId !== undefined && stored === undefined) return yield* Effect.fail(Refusal.notFound("Proxy not found"))
    const draft = stored ?? (yield* Effect.mapError(drafted(place as ProxyPlace, undefined, "proxy.host"), (problem) => problem._tag === "Refusal" ? at({ path: "proxy", idPath: "proxy" })(problem) : problem))
    const outbound = Egress.outbound(draft, configuration.current().settings.get("enableSocks5Proxy") === true)
    const tried = yield* proxyTest.run(stored === undefined ? { ...outbound, id: "under test" } : outbound)
    return tried.success ? { ...tried, proxyUrl: Views.originOf(draft) } : tried
  })

  return handlers.handleAll({
    get: () => answer(view),
    put: ({ payload }) => answer(put(payload)),
    test: ({ payload }) => answer(test(payload))
  })
}))
