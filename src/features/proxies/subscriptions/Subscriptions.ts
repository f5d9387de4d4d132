/** Lists of outbound proxies: what operators say of them, and reading one. One change of the registry at a time over all nodes. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import { checkKept, UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { Proxies } from "#src/features/proxies/Proxies.ts"
import { identityOf } from "#src/features/proxies/sameProxy.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"
import type { NewSubscription, SubscriptionChange } from "./api.ts"
import * as List from "./list.ts"
import type { ProxySubscription } from "./ProxySubscription.ts"
import { ProxySubscriptionStore } from "./ProxySubscriptionStore.ts"
import { reconcile } from "./reconcile.ts"
import { shownUrl } from "./views.ts"

/** Bytes of a list. */
const LIST_MAX = 1_048_576
/** Characters of a failure that are kept. */
const SAID_MAX = 300
/** New proxies of a list that are checked at once. */
const CHECKED_AT_ONCE = 8
const NAME_MAX = 120
const DEFAULT_INTERVAL_SECONDS = 3_600
const timeouts = { connect: 5_000, headers: 15_000, firstEvent: 0, idle: 10_000, total: 30_000 }
const headers = ["accept", "text/plain, application/json", "accept-encoding", "identity", "user-agent", "gateway"]

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError>

export interface Refreshed {
  readonly subscription: ProxySubscription
  readonly added: number
  readonly removed: number
}

export class Subscriptions extends Context.Service<Subscriptions, {
  readonly list: Done<ReadonlyArray<ProxySubscription>>
  readonly create: (input: NewSubscription) => Done<ProxySubscription>
  readonly update: (input: SubscriptionChange) => Done<ProxySubscription>
  /** Its proxies go with it. `detach`: what is assigned to them goes direct, or by the next assignment. */
  readonly remove: (id: string, detach: boolean) => Done<ProxySubscription>
  /** Reads the list now. A list that cannot be read, or names no proxy, changes no proxy: `error` of the record says why. */
  readonly refresh: (id: string) => Done<Refreshed>
  /** Opened by each change of this process, so that what is due is read at once. */
  readonly changed: Latch.Latch
}>()("gateway/proxies/Subscriptions") {}

const missing = Refusal.notFound("Proxy subscription not found")

const make = Effect.gen(function*() {
  const calls = yield* ControlCalls.make
  const configuration = yield* Configuration
  const guard = yield* UrlGuard
  const proxies = yield* Proxies
  const proxyStore = yield* ProxyStore
  const random = yield* SecureRandom.SecureRandom
  const store = yield* ProxySubscriptionStore

  const changed = Latch.makeUnsafe(false)

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const find = (id: string): Done<ProxySubscription> => Effect.flatMap(store.list, (all) => {
    const found = all.find((one) => one.id === id)
    return found === undefined ? Effect.fail(missing) : Effect.succeed(found)
  })

  const urlOf = Effect.fnUntraced(function*(given: string) {
    const url = URL.parse(given)
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return yield* Effect.fail(Refusal.invalidField("url", "Expected an http(s) URL"))
    if (url.username !== "" || url.password !== "") return yield* Effect.fail(Refusal.invalidField("url", "Expected a URL without credentials before its host"))
    url.hash = ""
    // A name that cannot be resolved now is asked for again when the list is read.
    yield* Effect.mapError(checkKept(guard, url.href, "provider"), ({ message }) => Refusal.badRequest(message, { code: "url_blocked", details: [{ field: "url", message }] }))
    return Redacted.make(url.href)
  })

  /** The text of the list; a failure is a clause that names the host, never the whole URL, which may hold a token. */
  const fetched = (url: URL): Effect.Effect<string, string> => Effect.gen(function*() {
    yield* Effect.mapError(guard.check(url.href, "provider"), ({ reason }) => `${url.host} may not be called (${reason})`)
    // It serves no provider: only the proxy of everything is asked.
    const { body, status } = yield* SmallAnswer.read(
      LIST_MAX, (handler) => calls.dispatch({ connection: null, provider: "" }, { origin: url.origin, path: url.pathname + url.search, method: "GET", headers, body: null, timeouts }, handler),
      { failed: ({ message, reason }) => `${url.host} cannot be reached (${reason}): ${message}`, tooLarge: () => `the list of ${url.host} is larger than ${LIST_MAX} bytes` }
    )
    if (!StatusReason.isOk(status)) return yield* Effect.fail(`${url.host} answered with status ${status}${StatusReason.of(status) === "redirect" ? "; redirects are not followed" : ""}`)
    return body
  })

  /** Records of new entries; those that may not be used are null. */
  const draft = (subscription: ProxySubscription, entry: List.Entry) => proxies.draft({ ...entry, name: `${subscription.name} ${entry.host}:${entry.port}`.slice(0, NAME_MAX) }, "subscription").pipe(
    Effect.map((proxy) => ({ ...proxy, subscriptionId: subscription.id })),
    Effect.catch((problem) => problem._tag === "StoreError" ? Effect.fail(problem) : Effect.succeed(null))
  )

  const present = Effect.gen(function*() {
    return { proxies: yield* proxyStore.list, assigned: new Set((yield* proxyStore.assignments).map(({ proxyId }) => proxyId)) }
  })

  const taken = Effect.fnUntraced(function*(subscription: ProxySubscription, text: string) {
    const { entries, skipped } = List.read(text, subscription.type)
    if (entries.length === 0) return "the list names no proxy"
    const secret = (value: string | null) => value === null ? null : Redacted.make(value)
    const named = entries.map((entry) => ({ entry, identity: identityOf({ ...entry, username: secret(entry.username), password: secret(entry.password) }) }))
    const known = new Set((yield* proxyStore.list).map(identityOf))
    // The guard asks the network, which must not hold up other changes.
    const drafts = yield* Effect.forEach(named.filter(({ identity }) => !known.has(identity)), ({ entry }) => draft(subscription, entry), { concurrency: CHECKED_AT_ONCE })
    const usable = drafts.filter((proxy) => proxy !== null)
    const listed = new Set(named.map(({ identity }) => identity))
    const at = yield* now
    const changesOf = Effect.map(present, (found) => reconcile(subscription.id, found, listed, usable, at))
    const planned = yield* changesOf
    const counts = { entryCount: entries.length, skippedCount: skipped + drafts.length - usable.length }
    if (planned.insert.length + planned.replace.length + planned.remove.length === 0) return { ...counts, added: 0, removed: 0 }
    return yield* configuration.commit(Effect.gen(function*() {
      // It was removed meanwhile: its proxies must not come after it.
      yield* find(subscription.id)
      const { insert, remove, replace } = yield* changesOf
      for (const id of remove) yield* proxyStore.remove(id)
      for (const proxy of replace) yield* proxyStore.replace(proxy)
      for (const proxy of insert) yield* proxyStore.insert(proxy)
      return { ...counts, added: insert.length, removed: remove.length }
    }))
  })

  return Subscriptions.of({
    changed,
    list: store.list,
    create: Effect.fn("Subscriptions.create")(function*(input) {
      const at = yield* now
      const subscription: ProxySubscription = {
        id: yield* random.uuidV4(), name: input.name, url: yield* urlOf(input.url), type: input.type ?? "http", enabled: input.enabled ?? true,
        intervalSeconds: input.intervalSeconds ?? DEFAULT_INTERVAL_SECONDS, entryCount: 0, skippedCount: 0, triedAt: null, refreshedAt: null, error: null,
        createdAt: at, updatedAt: at
      }
      yield* store.insert(subscription)
      changed.openUnsafe()
      return subscription
    }),
    update: Effect.fn("Subscriptions.update")(function*({ id, url: given, ...fields }) {
      const before = yield* find(id)
      const url = given === undefined || given === shownUrl(before) ? before.url : yield* urlOf(given)
      const after = { ...before, ...fields, url, updatedAt: yield* now }
      if (!(yield* store.change(after))) return yield* Effect.fail(missing)
      changed.openUnsafe()
      return after
    }),
    remove: Effect.fn("Subscriptions.remove")(function*(id, detach) {
      return yield* configuration.commit(Effect.gen(function*() {
        const subscription = yield* find(id)
        const { assigned, proxies: all } = yield* present
        const own = all.filter(({ subscriptionId }) => subscriptionId === id)
        const used = own.filter((proxy) => assigned.has(proxy.id))
        if (used.length > 0 && !detach) {
          return yield* Effect.fail(Refusal.conflict(`Something is assigned to ${used.length} of its proxies, ${used[0]?.name ?? ""} first: assign another one, or repeat with force=1`, { code: "PROXY_IN_USE" }))
        }
        for (const proxy of own) yield* proxyStore.remove(proxy.id)
        yield* store.remove(id)
        return subscription
      }))
    }),
    refresh: Effect.fn("Subscriptions.refresh")(function*(id) {
      const subscription = yield* find(id)
      const read = yield* Effect.match(fetched(new URL(Redacted.value(subscription.url))), { onFailure: (why) => ({ why }), onSuccess: (text) => ({ text }) })
      const outcome = "why" in read ? read.why : yield* taken(subscription, read.text)
      const triedAt = yield* now
      if (typeof outcome === "string") {
        const tried = { triedAt, error: outcome.slice(0, SAID_MAX) }
        yield* store.tried(id, tried)
        return { subscription: { ...subscription, ...tried }, added: 0, removed: 0 }
      }
      const { added, removed, ...counts } = outcome
      const tried = { ...counts, triedAt, refreshedAt: triedAt, error: null }
      yield* store.tried(id, tried)
      return { subscription: { ...subscription, ...tried }, added, removed }
    })
  })
})

export const layer = Layer.effect(Subscriptions, make)
