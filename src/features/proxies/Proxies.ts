/** Changes of outbound proxies and their assignments: what they must fulfil, and one change at a time over all nodes. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore, ProxyStore } from "#actors/ports/Stores.ts"
import { checkKept, UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Proxy, ProxyAssignment, ProxyScope } from "#schemas/egress/Proxy.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import * as StoredCredentials from "#src/management/ownership/storedCredentials.ts"
import { REDACTED } from "#src/management/redact.ts"
import type { Imported, NewProxy, ProxyChange } from "./api.ts"
import * as Address from "./address.ts"
import { isSame } from "./sameProxy.ts"
import { later } from "./subscriptions/reconcile.ts"
import { originOf } from "./views.ts"

/** Longest credential over SOCKS5, bytes (RFC 1929). */
const SOCKS_MAX = 255

/** Proxies of an import that are checked at once. */
const IMPORTED_AT_ONCE = 8

type Done<A, R = ManagementCall> = Effect.Effect<A, Refusal.Refusal | StoreError, R>

export class Proxies extends Context.Service<Proxies, {
  /** A record that may be stored. */
  readonly draft: (input: NewProxy, source: Proxy["source"]) => Done<Proxy, never>
  readonly create: (input: NewProxy, source: Proxy["source"]) => Done<Proxy>
  readonly update: (input: ProxyChange) => Done<Proxy>
  /** Several at once: what cannot be stored is named by its place and the rest is stored; proxies that are there are left as they are. */
  readonly importAll: (inputs: ReadonlyArray<NewProxy>) => Done<Omit<Imported, "success">>
  /** Those of the older map become records as all others; answers how many. */
  readonly migrate: Done<number>
  /** `detach`: what is assigned to it goes direct, or by the next assignment. */
  readonly remove: (id: string, detach: boolean) => Done<Proxy>
  /** The id as assignments are stored, of a provider, connection, combo or key that exists; else why not. */
  readonly scopeIdOf: (scope: ProxyScope, given: string | null) => Done<string>
  /** `proxyId` null: removes the assignments. */
  readonly assign: (scope: ProxyScope, scopeIds: ReadonlyArray<string>, proxyId: string | null) => Done<ReadonlyArray<ProxyAssignment>>
}>()("gateway/proxies/Proxies") {}

const missing = Refusal.notFound("Proxy not found")

const ofList = (why: string): Refusal.Refusal => Refusal.conflict(`The proxy is one of a list, and ${why}: see GET /api/v1/management/proxy-subscriptions`, { code: "PROXY_OF_SUBSCRIPTION" })

const secretOf = (value: string | null): Redacted.Redacted<string> | null => value === null || value === "" ? null : Redacted.make(value)

/** What a change makes of a stored credential: absent and `[redacted]` keep it. */
const credential = (given: string | null | undefined, stored: Redacted.Redacted<string> | null): Redacted.Redacted<string> | null =>
  given === undefined || given === REDACTED ? stored : secretOf(given)

const hasSecret = ({ password, username }: Pick<Proxy, "password" | "username">): boolean => username !== null || password !== null

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const guard = yield* UrlGuard
  const keys = yield* KeyStore
  const random = yield* SecureRandom.SecureRandom
  const store = yield* ProxyStore

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const find = (id: string): Done<Proxy, never> => Effect.flatMap(store.list, (all) => {
    const found = all.find((proxy) => proxy.id === id)
    return found === undefined ? Effect.fail(missing) : Effect.succeed(found)
  })

  const check = (proxy: Proxy): Done<void, never> => Effect.gen(function*() {
    if (proxy.type === "socks5") {
      if (configuration.current().settings.get("enableSocks5Proxy") !== true) {
        return yield* Effect.fail(Refusal.invalidField("type", "SOCKS5 proxies are switched off: set enableSocks5Proxy with PATCH /api/settings"))
      }
      for (const field of ["username", "password"] as const) {
        const value = proxy[field]
        if (value !== null && Buffer.byteLength(Redacted.value(value)) > SOCKS_MAX) {
          return yield* Effect.fail(Refusal.invalidField(field, `SOCKS5 takes at most ${SOCKS_MAX} bytes`))
        }
      }
    }
    return yield* Effect.mapError(checkKept(guard, originOf(proxy), "proxy"), ({ message }) =>
      Refusal.badRequest(message, { code: "url_blocked", details: [{ field: "host", message }] }))
  })

  const hostOf = (given: string): Done<string, never> => {
    const host = Address.hostOf(given)
    return host === null ? Effect.fail(Refusal.invalidField("host", "Expected a host name or an IP address, without scheme, port and path")) : Effect.succeed(host)
  }

  const draft: Proxies["Service"]["draft"] = Effect.fnUntraced(function*(input, source) {
    const at = yield* now
    const proxy: Proxy = {
      id: yield* random.uuidV4(), name: input.name, type: input.type ?? "http", host: yield* hostOf(input.host), port: input.port,
      username: credential(input.username, null), password: credential(input.password, null),
      region: input.region ?? null, notes: input.notes ?? null, status: input.status ?? "active", source, subscriptionId: null, leftAt: null, family: input.family ?? "auto",
      createdAt: at, updatedAt: at
    }
    yield* check(proxy)
    return proxy
  })

  return Proxies.of({
    draft,
    create: Effect.fn("Proxies.create")(function*(input, source) {
      const proxy = yield* draft(input, source)
      yield* configuration.commit(store.insert(proxy))
      return proxy
    }),
    importAll: Effect.fn("Proxies.importAll")(function*(inputs) {
      const failed: Array<Imported["failed"][number]> = []
      // The guard asks the network, which must not hold up other changes.
      const drafts = yield* Effect.forEach(inputs, (input, index) => draft(input, "manual").pipe(Effect.catch((problem) =>
        problem._tag === "StoreError" ? Effect.fail(problem) : Effect.sync(() => {
          failed.push({ index, reason: problem.error.details?.[0]?.message ?? problem.error.message })
          return null
        }))), { concurrency: IMPORTED_AT_ONCE })
      const wanted = drafts.filter((proxy) => proxy !== null)
      const created = yield* configuration.commit(Effect.gen(function*() {
        const known = [...yield* store.list]
        const before = known.length
        for (const proxy of wanted) {
          if (known.some((one) => isSame(one, proxy))) continue
          yield* store.insert(proxy)
          known.push(proxy)
        }
        return known.length - before
      }))
      return { requested: inputs.length, created, skipped: wanted.length - created, failed: failed.toSorted((a, b) => a.index - b.index) }
    }),
    migrate: configuration.commit(Effect.gen(function*() {
      const made = (yield* store.list).filter(({ source }) => source === "settings")
      for (const proxy of made) yield* store.replace({ ...proxy, source: "manual" })
      return made.length
    })),
    update: Effect.fn("Proxies.update")(function*({ id, password, username, ...fields }) {
      const host = fields.host === undefined ? undefined : yield* hostOf(fields.host)
      const changed = (before: Proxy, at: string): Proxy => ({
        ...before, ...fields, ...(host === undefined ? {} : { host }),
        username: credential(username, before.username), password: credential(password, before.password),
        updatedAt: later(at, before.updatedAt)
      })
      const at = yield* now
      // The guard asks the network, which must not hold up other changes.
      yield* check(changed(yield* find(id), at))
      return yield* configuration.commit(Effect.gen(function*() {
        const before = yield* find(id)
        const after = changed(before, at)
        if (before.subscriptionId !== null && !isSame(before, after)) return yield* Effect.fail(ofList("where it is and its credentials come from there"))
        const keeps = (username === undefined || username === REDACTED) && before.username !== null || (password === undefined || password === REDACTED) && before.password !== null
        if (keeps && hasSecret(before)) yield* StoredCredentials.refuseMove({ field: "host", from: originOf(before), to: originOf(after) })
        yield* store.replace(after)
        return after
      }))
    }),
    remove: Effect.fn("Proxies.remove")(function*(id, detach) {
      return yield* configuration.commit(Effect.gen(function*() {
        const proxy = yield* find(id)
        if (proxy.subscriptionId !== null && proxy.leftAt === null) return yield* Effect.fail(ofList("it would come back with the next reading, so make it inactive"))
        const assigned = (yield* store.assignments).filter(({ proxyId }) => proxyId === id).length
        if (assigned > 0 && !detach) {
          return yield* Effect.fail(Refusal.conflict(`${assigned} ${assigned === 1 ? "assignment leaves" : "assignments leave"} by this proxy: see ?id=${id}&where_used=1, or repeat with force=1`, { code: "PROXY_IN_USE" }))
        }
        yield* store.remove(id)
        return proxy
      }))
    }),
    scopeIdOf: Effect.fnUntraced(function*(scope, given) {
      if (scope === "global") return ""
      if (given === null) return yield* Effect.fail(Refusal.invalidField("scopeId", `Required for scope ${scope}`))
      const snapshot = configuration.current()
      const unknown = (message: string) => Effect.fail(Refusal.invalidField("scopeId", message))
      switch (scope) {
        case "provider":
          return knownProvider(snapshot, given) ?? (yield* unknown(unknownProvider(given)))
        case "account":
          return snapshot.connectionById.has(given) ? given : yield* unknown("No connection has this id: see GET /api/providers")
        case "combo":
          return snapshot.combos.find(({ id, name }) => id === given || name === given)?.id ?? (yield* unknown("No combo has this id or name: see GET /api/combos"))
        case "key":
          return (yield* keys.get(given)) === null ? yield* unknown("No API key has this id: see GET /api/keys") : given
      }
    }),
    assign: Effect.fn("Proxies.assign")(function*(scope, scopeIds, proxyId) {
      return yield* configuration.commit(Effect.gen(function*() {
        const assignedAt = yield* now
        if (proxyId === null) {
          for (const scopeId of scopeIds) yield* store.unassign(scope, scopeId)
          return []
        }
        if (!(yield* store.list).some(({ id }) => id === proxyId)) return yield* Effect.fail(Refusal.invalidField("proxyId", "No proxy has this id: see GET /api/v1/management/proxies"))
        const assignments = scopeIds.map((scopeId): ProxyAssignment => ({ scope, scopeId, proxyId, assignedAt }))
        for (const assignment of assignments) yield* store.assign(assignment)
        return assignments
      }))
    })
  })
})

export const layer = Layer.effect(Proxies, make)
