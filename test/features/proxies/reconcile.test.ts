/** What a list that was read changes in the registry, and when it is read. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { Flags } from "#actors/ports/Flags.ts"
import { AuditStore } from "#actors/ports/Stores.ts"
import type { AuditEntry } from "#schemas/records/AuditEntry.ts"
import type { Proxy } from "#schemas/egress/Proxy.ts"
import { identityOf } from "#src/features/proxies/sameProxy.ts"
import { isDue, type ProxySubscription } from "#src/features/proxies/subscriptions/ProxySubscription.ts"
import { reconcile } from "#src/features/proxies/subscriptions/reconcile.ts"
import * as RefreshLoop from "#src/features/proxies/subscriptions/RefreshLoop.ts"
import { Subscriptions } from "#src/features/proxies/subscriptions/Subscriptions.ts"
import { at, time } from "#test/suites/records.ts"

const proxy = (host: string, fields: Partial<Proxy> = {}): Proxy => ({
  id: `id-${host}`, name: host, type: "http", host, port: 1, username: null, password: null, region: null, notes: null, status: "active", source: "subscription",
  subscriptionId: "list", leftAt: null, family: "auto", createdAt: time, updatedAt: time, ...fields
})
const namesOf = (proxies: ReadonlyArray<Proxy>) => proxies.map(({ host }) => host)

describe("a list that was read", () => {
  const read = (present: ReadonlyArray<Proxy>, assigned: ReadonlyArray<string>, listed: ReadonlyArray<string>) =>
    reconcile("list", { proxies: present, assigned: new Set(assigned.map((host) => `id-${host}`)) }, new Set(listed.map((host) => identityOf(proxy(host)))), listed.map((host) => proxy(host, { id: `new-${host}` })), at(5))

  it("adds what is new, and leaves alone what the registry has already, from wherever", () => {
    const { insert, remove, replace } = read([proxy("own"), proxy("manual", { source: "manual", subscriptionId: null }), proxy("other", { subscriptionId: "another" })], [], ["own", "manual", "other", "new"])
    assert.deepStrictEqual([namesOf(insert), remove, replace], [["new"], [], []])
  })

  it("removes what it does not name any more; what something is assigned to stays, says so, and comes back", () => {
    const left = read([proxy("gone"), proxy("used"), proxy("manual", { source: "manual", subscriptionId: null })], ["used"], [])
    assert.deepStrictEqual([left.remove, left.replace, left.insert], [["id-gone"], [proxy("used", { leftAt: at(5), updatedAt: at(5) })], []])
    const used = proxy("used", { leftAt: at(2), updatedAt: at(9) })
    assert.deepStrictEqual(read([used], ["used"], []), { insert: [], replace: [], remove: [] })
    assert.deepStrictEqual(read([used], [], []).remove, ["id-used"])
    const [back] = read([used], ["used"], ["used"]).replace
    assert.deepStrictEqual([back?.leftAt, (back?.updatedAt ?? "") > used.updatedAt], [null, true])
  })

  const hosts = Schema.Array(Schema.Literals(["a", "b", "c", "d", "e"]))
  it.prop("leaves exactly the proxies of the list in use, and asks for nothing a second time", [hosts, hosts, hosts, hosts], ([before, manual, assigned, listed]) => {
    const own = [...new Set(before)].filter((host) => !manual.includes(host)).map((host) => proxy(host))
    const present = [...own, ...[...new Set(manual)].map((host) => proxy(host, { id: `m-${host}`, source: "manual", subscriptionId: null }))]
    const apply = (proxies: ReadonlyArray<Proxy>): ReadonlyArray<Proxy> => {
      const { insert, remove, replace } = read(proxies, assigned, [...new Set(listed)])
      return [...proxies.filter(({ id }) => !remove.includes(id)).map((one) => replace.find(({ id }) => id === one.id) ?? one), ...insert]
    }
    const after = apply(present)
    assert.deepStrictEqual(new Set(namesOf(after.filter(({ leftAt }) => leftAt === null))), new Set([...listed, ...manual]))
    for (const { host, id, leftAt } of after) if (leftAt !== null) assert.isTrue(assigned.includes(host as "a") && !listed.includes(host as "a") && id === `id-${host}`)
    assert.deepStrictEqual(new Set(after.map(identityOf)).size, after.length)
    assert.deepStrictEqual(apply(after), after)
  })
})

const subscription = (fields: Partial<ProxySubscription> = {}): ProxySubscription => ({
  id: "s", name: "s", url: Redacted.make("https://lists.test/?token=t"), type: "http", enabled: true, intervalSeconds: 3_600, entryCount: 0, skippedCount: 0, triedAt: null, refreshedAt: null,
  error: null, createdAt: time, updatedAt: time, ...fields
})

describe("the schedule", () => {
  it("reads at once, after each interval, and after a failure soon", () => {
    const triedAt = "2024-01-01T00:00:00.000Z"
    const due = (fields: Partial<ProxySubscription>, seconds: number) => isDue(subscription({ triedAt, updatedAt: triedAt, ...fields }), Date.parse(triedAt) + seconds * 1_000)
    assert.isTrue(isDue(subscription(), 0))
    assert.deepStrictEqual([due({}, 3_599), due({}, 3_600), due({ enabled: false }, 9_999)], [false, true, false])
    assert.deepStrictEqual([due({ updatedAt: "2024-01-01T00:00:00.001Z" }, 1), due({ updatedAt: "2024-01-01T00:00:00.001Z", enabled: false }, 1)], [true, false])
    assert.deepStrictEqual([due({ error: "away" }, 299), due({ error: "away" }, 300), due({ error: "away", intervalSeconds: 300 }, 300)], [false, true, true])
  })

  it.effect("reads what is due and nothing else, tells of changes, and is off with the flag", () => Effect.gen(function*() {
    yield* TestClock.setTime(Date.parse(time))
    const noted: Array<AuditEntry> = []
    let isOff = false
    const asked: Array<string> = []
    const all = [subscription({ id: "due" }), subscription({ id: "fresh", triedAt: time }), subscription({ id: "off", enabled: false })]
    const work = yield* RefreshLoop.round.pipe(
      Effect.provideService(Flags, { isOn: () => isOff, value: () => "", source: () => "default" as const }),
      Effect.provideService(Subscriptions, {
        changed: Latch.makeUnsafe(false), list: Effect.succeed(all), create: () => Effect.die("no"), update: () => Effect.die("no"), remove: () => Effect.die("no"),
        refresh: (id) => Effect.sync(() => {
          asked.push(id)
          return { subscription: subscription({ id }), added: 2, removed: 1 }
        })
      }),
      Effect.provideService(AuditStore, { append: (entry) => Effect.sync(() => void noted.push(entry)), query: () => Effect.die("no"), removeBefore: () => Effect.die("no") })
    )
    yield* work
    assert.deepStrictEqual(asked, ["due"])
    assert.deepStrictEqual(noted.map(({ action, details }) => [action, details]), [["proxy.subscription_refreshed", { name: "s", url: "https://lists.test/[redacted]", added: 2, removed: 1 }]])
    yield* TestClock.adjust("1 hour")
    yield* work
    assert.deepStrictEqual(asked, ["due", "due", "fresh"])
    isOff = true
    yield* work
    assert.deepStrictEqual(asked.length, 3)
  }))
})
