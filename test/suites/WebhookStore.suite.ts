import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { WebhookQueue } from "#actors/webhook/ports/WebhookQueue.ts"
import { WebhookStore } from "#actors/webhook/ports/WebhookStore.ts"
import type { Webhook, WebhookDelivery } from "#schemas/records/Webhook.ts"
import { at, time } from "./records.ts"

const webhook = (id: string, fields: Partial<Webhook> = {}): Webhook => ({
  id, url: Redacted.make(`https://hooks.test/${id}?t=secret`), events: [id], secret: Redacted.make("whsec_1"), enabled: true, description: null,
  kind: "custom", metadata: null, failureCount: 0, lastTriggeredAt: null, lastStatus: null, createdAt: time, updatedAt: time, enabledAt: time, ...fields
})

const delivery = (webhookId: string, fields: Partial<WebhookDelivery> = {}): WebhookDelivery => ({
  id: "d", webhookId, eventType: "request.completed", status: "success", httpStatus: 200, latencyMs: 1.5, error: null, payloadSnapshot: "{}",
  createdAt: at(1), ...fields
})

const revealed = (one: Webhook | null) => one === null ? null : {
  ...one, url: Redacted.value(one.url), secret: Redacted.value(one.secret), metadata: one.metadata === null ? null : Redacted.value(one.metadata)
}
const HOLD = 60_000

export const suite = (name: string, layer: Layer.Layer<WebhookStore | WebhookQueue>): void => {
  withLayer(layer, { excludeTestServices: true })(`WebhookStore on ${name}`, (it) => {
    it.effect("a webhook comes back as it was put, changes field by field, and goes", () => Effect.gen(function*() {
      const store = yield* WebhookStore
      const given = webhook("w-crud", { kind: "telegram", metadata: Redacted.make(`{"botToken":"t"}`), description: "x" })
      yield* store.insert(given)
      assert.deepStrictEqual(revealed(yield* store.get("w-crud")), revealed(given))
      const changed = yield* store.change("w-crud", { url: Redacted.make("https://other.test/"), enabled: false, metadata: null }, at(2))
      assert.deepStrictEqual(revealed(changed), revealed({ ...given, url: Redacted.make("https://other.test/"), enabled: false, metadata: null, updatedAt: at(2) }))
      // Hears from when it was switched on, not from when it was changed otherwise.
      assert.strictEqual((yield* store.change("w-crud", { enabled: true, description: "y" }, at(3)))?.enabledAt, at(3))
      assert.strictEqual((yield* store.change("w-crud", { enabled: true }, at(4)))?.enabledAt, at(3))
      assert.strictEqual((yield* store.change("w-crud", { description: "z" }, at(5)))?.enabledAt, at(3))
      assert.include((yield* store.list).map(({ id }) => id), "w-crud")
      assert.isNull(yield* store.change("nobody", { enabled: true }, at(2)))
      assert.isTrue(yield* store.remove("w-crud"))
      assert.isFalse(yield* store.remove("w-crud"))
      assert.isNull(yield* store.get("w-crud"))
    }))

    it.effect("attempts are kept newest first and mark the webhook; the tenth failed delivery allows it to be switched off, a success starts anew", () => Effect.gen(function*() {
      const store = yield* WebhookStore
      yield* store.insert(webhook("w-note"))
      const failed = delivery("w-note", { status: "failed", httpStatus: null, error: "no answer" })
      assert.deepStrictEqual(yield* store.note(failed, "attempt"), { failureCount: 0, enabled: true })
      for (let n = 1; n <= 9; n++) assert.strictEqual((yield* store.note({ ...failed, id: `f${n}` }, "failed"))?.failureCount, n)
      assert.isFalse(yield* store.disableFailed("w-note", at(3)))
      assert.strictEqual((yield* store.note(failed, "failed"))?.failureCount, 10)
      assert.strictEqual((yield* store.get("w-note"))?.lastStatus, 0)
      assert.isTrue(yield* store.disableFailed("w-note", at(4)))
      assert.isFalse(yield* store.disableFailed("w-note", at(4)))
      assert.deepStrictEqual(yield* store.note(delivery("w-note", { id: "last", createdAt: at(9) }), "delivered"), { failureCount: 0, enabled: false })
      const seen = yield* store.deliveries("w-note", 3)
      assert.deepStrictEqual(seen[0], delivery("w-note", { id: "last", createdAt: at(9) }))
      assert.lengthOf(seen, 3)
      assert.deepStrictEqual(yield* store.delivery("w-note", "last"), delivery("w-note", { id: "last", createdAt: at(9) }))
      assert.isNull(yield* store.delivery("w-crud", "last"))
      assert.strictEqual((yield* store.get("w-note"))?.lastTriggeredAt, at(9))
      assert.isNull(yield* store.note(delivery("gone"), "failed"))
    }))

    it.effect("webhooks leave each other alone", () => Effect.gen(function*() {
      const store = yield* WebhookStore
      for (const id of ["w-one", "w-two"]) yield* store.insert(webhook(id))
      yield* store.note(delivery("w-two", { id: "old" }), "failed")
      for (let n = 0; n < 10; n++) for (const id of ["w-one", "w-two"]) yield* store.note(delivery(id, { id: `${id} ${n}` }), "failed")
      assert.isTrue(yield* store.disableFailed("w-one", at(2)))
      yield* store.change("w-one", { description: "changed" }, at(3))
      const read = Effect.map(Effect.all([store.get("w-one"), store.get("w-two")]), (both) => both.map((one) => one === null ? null : [one.id, one.enabled, one.description, one.failureCount]))
      assert.deepStrictEqual(yield* read, [["w-one", false, "changed", 10], ["w-two", true, null, 11]])
      assert.lengthOf(yield* store.deliveries("w-one", 100), 10)
      assert.isNull(yield* store.delivery("w-one", "w-two 1"))
      assert.isNull(yield* store.delivery("w-one", "none"))
      // Each keeps its own newest ones.
      for (let n = 0; n < 5; n++) yield* store.note(delivery("w-one", { id: `new ${n}` }), "delivered")
      yield* store.prune(at(0), at(0), 11)
      assert.deepStrictEqual([(yield* store.deliveries("w-one", 100)).length, (yield* store.deliveries("w-two", 100)).at(-1)?.id], [11, "old"])
      assert.isTrue(yield* store.remove("w-one"))
      assert.deepStrictEqual(yield* read, [null, ["w-two", true, null, 11]])
    }))

    it.effect("the jobs of one webhook are its own: done, trimmed, told and kept apart from those of others", () => Effect.gen(function*() {
      const [queue, store] = [yield* WebhookQueue, yield* WebhookStore]
      for (const id of ["w-left", "w-right"]) yield* store.insert(webhook(id, { events: ["pair", id] }))
      const told = (type: string, ...ids: ReadonlyArray<string>) => queue.append(ids.map((id) => ({ id, type, at: time, body: "{}" })), time)
      const ids = (webhookId: string, holdMs = -1, limit = 20) => Effect.map(queue.claim(webhookId, "me", limit, holdMs), (jobs) => jobs.map(({ id }) => id))
      const waiting = Effect.map(queue.states, (all) => ["w-left", "w-right"].map((id) => all.find((one) => one.id === id)?.waiting))
      yield* told("pair", "p1", "p2", "p3")
      yield* queue.done("w-left", "p1")
      assert.deepStrictEqual([yield* ids("w-left"), yield* ids("w-right")], [["p2", "p3"], ["p1", "p2", "p3"]])
      yield* told("w-right", "r1", "r2", "r3")
      assert.strictEqual(yield* queue.trim("w-left", 1), 1)
      assert.deepStrictEqual([yield* ids("w-left"), yield* ids("w-right")], [["p3"], ["p1", "p2", "p3", "r1", "r2", "r3"]])
      // What somebody works on is not taken away.
      assert.deepStrictEqual(yield* ids("w-right", HOLD, 2), ["p1", "p2"])
      assert.strictEqual(yield* queue.trim("w-right", 1), 3)
      yield* queue.release("me")
      assert.deepStrictEqual(yield* ids("w-right"), ["p1", "p2", "r3"])
      yield* queue.done("w-left", "p3")
      assert.deepStrictEqual(yield* waiting, [false, true])
      yield* store.change("w-right", { enabled: false }, at(2))
      assert.deepStrictEqual(yield* ids("w-right"), [])
    }))

    it.effect("an event becomes one job for each enabled webhook that wants it, however often it is told", () => Effect.gen(function*() {
      const [queue, store] = [yield* WebhookQueue, yield* WebhookStore]
      yield* store.insert(webhook("w-a", { events: ["a.only"] }))
      yield* store.insert(webhook("w-ab", { events: ["no.such.event", "a.only", "b.only"] }))
      yield* store.insert(webhook("w-off", { events: ["a.only"], enabled: false }))
      const told = (id: string, type: string) => ({ id, type, at: time, body: `{"id":"${id}","text":"\\u0000 and '"}` })
      const job = (webhookId: string, id: string, type: string) => {
        const { body } = told(id, type)
        return { webhookId, id, type, body }
      }
      assert.deepStrictEqual([...yield* queue.append([told("e1", "a.only"), told("e2", "b.only"), told("e1", "a.only"), told("e3", "c")], time)].sort(), ["w-a", "w-ab"])
      assert.deepStrictEqual(yield* queue.append([told("e1", "a.only"), told("e2", "b.only")], time), [])
      assert.deepStrictEqual(yield* queue.append([], time), [])
      assert.deepStrictEqual(yield* queue.claim("w-ab", "me", 10, HOLD), [
        job("w-ab", "e1", "a.only"), job("w-ab", "e2", "b.only")
      ])
      assert.lengthOf(yield* queue.claim("w-a", "me", 10, HOLD), 1)
      assert.lengthOf(yield* queue.claim("w-off", "me", 10, HOLD), 0)
    }))

    it.effect("a webhook hears no event from before it was made, or from while it was off, however late it comes to the queue", () => Effect.gen(function*() {
      const [queue, store] = [yield* WebhookQueue, yield* WebhookStore]
      yield* store.insert(webhook("w-old", { events: ["late"] }))
      yield* store.insert(webhook("w-new", { events: ["late"], createdAt: at(10), enabledAt: at(10) }))
      const told = (n: number) => ({ id: `late${n}`, type: "late", at: at(n), body: "{}" })
      const ids = (webhookId: string) => Effect.map(queue.claim(webhookId, "me", 10, -1), (jobs) => jobs.map(({ id }) => id))
      yield* queue.append([told(9), told(10), told(11)], at(12))
      assert.deepStrictEqual([yield* ids("w-old"), yield* ids("w-new")], [["late9", "late10", "late11"], ["late10", "late11"]])
      yield* store.change("w-new", { enabled: false }, at(20))
      yield* store.change("w-new", { enabled: true }, at(30))
      yield* queue.append([told(25), told(31), told(11)], at(32))
      // What waited when it was switched off is still there.
      assert.deepStrictEqual(yield* ids("w-new"), ["late10", "late11", "late31"])
    }))

    it.effect("many claim side by side and nobody gets the same; what is given back, or not kept, is taken again, and what is done is gone", () => Effect.gen(function*() {
      const [queue, store] = [yield* WebhookQueue, yield* WebhookStore]
      yield* store.insert(webhook("w-many", { events: ["many"] }))
      yield* queue.append(Array.from({ length: 40 }, (_, n) => ({ id: `m${n}`, type: "many", at: time, body: "{}" })), time)
      const claims = yield* Effect.forEach(Array.from({ length: 8 }, (_, n) => `owner-${n}`), (owner) => queue.claim("w-many", owner, 5, HOLD), { concurrency: "unbounded" })
      assert.strictEqual(new Set(claims.flat().map(({ id }) => id)).size, 40)
      assert.lengthOf(yield* queue.claim("w-many", "late", 5, HOLD), 0)
      assert.isFalse((yield* queue.states).find(({ id }) => id === "w-many")?.waiting)
      yield* queue.release("owner-3")
      assert.isTrue((yield* queue.states).find(({ id }) => id === "w-many")?.waiting)
      const again = yield* queue.claim("w-many", "late", 10, -1)
      assert.deepStrictEqual(again.map(({ id }) => id), claims[3]?.map(({ id }) => id))
      assert.lengthOf(yield* queue.claim("w-many", "later", 10, HOLD), 5)
      for (const job of claims.flat()) yield* queue.done("w-many", job.id)
      assert.isFalse((yield* queue.states).find(({ id }) => id === "w-many")?.waiting)
    }))

    it.effect("above its bound a webhook loses its oldest waiting jobs; old deliveries and events go", () => Effect.gen(function*() {
      const [queue, store] = [yield* WebhookQueue, yield* WebhookStore]
      yield* store.insert(webhook("w-trim", { events: ["trim"] }))
      yield* queue.append(Array.from({ length: 12 }, (_, n) => ({ id: `t${n}`, type: "trim", at: time, body: "{}" })), at(50))
      assert.strictEqual(yield* queue.trim("w-trim", 5), 7)
      assert.strictEqual(yield* queue.trim("w-trim", 5), 0)
      assert.deepStrictEqual((yield* queue.claim("w-trim", "me", 9, -1)).map(({ id }) => id), ["t7", "t8", "t9", "t10", "t11"])
      for (let n = 0; n < 6; n++) yield* store.note(delivery("w-trim", { id: `d${n}`, createdAt: at(40 + n) }), "delivered")
      yield* store.prune(at(42), at(49), 3)
      assert.deepStrictEqual((yield* store.deliveries("w-trim", 10)).map(({ id }) => id), ["d5", "d4", "d3"])
      assert.lengthOf(yield* queue.claim("w-trim", "me", 9, -1), 5)
      yield* store.prune(at(42), at(51), 3)
      assert.lengthOf(yield* queue.claim("w-trim", "me", 9, -1), 0)
    }))
  })
}
