import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { StoreError } from "#actors/ports/StoreError.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import { WebhookSender } from "#actors/webhook/ports/WebhookSender.ts"
import { LANE_WIDTH } from "#actors/webhook/WebhookLane.ts"
import * as NodeWebhooks from "#actors/webhook/NodeWebhooks.ts"
import type { Webhook, WebhookKind } from "#schemas/records/Webhook.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as HttpSender from "#src/features/webhooks/HttpSender.ts"
import { make as guardOf } from "#src/platform/upstream/AddressGuard.ts"
import * as MemoryWebhooks from "#test/support/memoryWebhooks.ts"
import { type Answer, type Sink, startSink } from "#test/support/sink.ts"

const webhook = (id: string, url: string, kind: WebhookKind = "custom", more: Partial<Webhook> = {}): Webhook => ({
  id, url: Redacted.make(kind === "telegram" ? "-1" : url), events: ["*"], secret: Redacted.make("canary_whsec"), enabled: true, description: null, kind,
  metadata: kind === "telegram" ? Redacted.make(JSON.stringify({ botToken: "1:canary_token", apiUrl: url })) : null,
  failureCount: 0, lastTriggeredAt: null, lastStatus: null, createdAt: "", updatedAt: "1", enabledAt: "", ...more
})

const event = (id: string, pad = 0) => ({
  id, type: "request.completed", at: "2026-01-01T00:00:00.000Z", body: JSON.stringify({ event: "request.completed", timestamp: "2026-01-01T00:00:00.000Z", data: { event_id: id, pad: "x".repeat(pad) } })
})

const guard = Layer.succeed(UrlGuard, guardOf({ policy: () => ({ local: false, private: false, guard: false }) }))

/** The lanes over memory, and real sockets unless a sender is given; the clock stands still until it is moved. */
const start = (memory: MemoryWebhooks.MemoryWebhooks, sender: Layer.Layer<WebhookSender> = HttpSender.layer().pipe(Layer.provide(guard)), owner = "me") =>
  Effect.map(Layer.build(NodeWebhooks.layer({ owner, pollMs: 1_000 }).pipe(
    Layer.provide(Layer.mergeAll(MemoryWebhooks.layerOf(memory), sender, LocalPlacement.layer))
  )), (context) => Effect.provideContext(Effect.gen(function*() {
    return yield* Webhooks
  }), context)).pipe(Effect.flatten)

const sink = (answer: Answer) => Effect.acquireRelease(Effect.promise(() => startSink(answer)), (one: Sink) => Effect.promise(one.close))

/** What is ready runs. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Sockets of this process get their turns until the look is true. */
const until = (look: () => boolean) => Effect.promise(async () => {
  const deadline = Date.now() + 10_000
  while (!look()) {
    if (Date.now() > deadline) throw new Error(`not within 10 s: ${String(look)}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
})

/** What the receiver sees, and what is written down: attempts, HTTP status, whether it counts as a failure. */
const matrix: ReadonlyArray<readonly [answer: Answer, status: number | null, attempts: number, good: boolean]> = [
  [200, 200, 1, true], [204, 204, 1, true], ["huge", 200, 1, true], [301, 301, 1, false], [400, 400, 1, false], [404, 404, 1, false], [429, 429, 1, false],
  [500, 500, 4, false], [503, 503, 4, false], ["slow", null, 4, false], ["reset", null, 4, false]
]

describe("deliveries", () => {
  for (const kind of ["custom", "slack", "discord", "telegram"] as const) {
    for (const [answer, status, most, good] of matrix) {
      const attempts = kind === "custom" ? most : 1
      it.effect(`${kind}, ${answer}: ${attempts} attempt(s), ${good ? "delivered" : "one failure"}`, () => Effect.gen(function*() {
        const receiver = yield* sink(answer)
        const memory = MemoryWebhooks.make()
        memory.records.set("w", webhook("w", receiver.url, kind))
        const webhooks = yield* start(memory)
        yield* webhooks.append([event("e", 5_000)])
        for (let attempt = 1; attempt <= attempts; attempt++) {
          yield* Effect.promise(() => receiver.arrived(attempt))
          if (answer === "slow") {
            yield* TestClock.adjust(9_999)
            assert.lengthOf(memory.deliveries, attempt - 1)
            yield* TestClock.adjust(1)
          }
          yield* until(() => memory.deliveries.length === attempt)
          if (attempt === attempts) break
          yield* TestClock.adjust((1_000 << (attempt - 1)) - 1)
          yield* turn
          assert.lengthOf(receiver.received, attempt)
          yield* TestClock.adjust(1)
        }
        yield* until(() => memory.jobs().length === 0)
        yield* TestClock.adjust(60_000)
        assert.lengthOf(receiver.received, attempts)
        assert.lengthOf(memory.deliveries, attempts)
        assert.deepInclude(memory.records.get("w"), { failureCount: good ? 0 : 1, lastStatus: status ?? 0, enabled: true })
        for (const delivery of memory.deliveries) {
          assert.deepInclude(delivery, { status: good ? "success" : "failed", httpStatus: status, eventType: "request.completed" })
          assert.strictEqual(delivery.error === null, good)
          assert.strictEqual(delivery.payloadSnapshot?.length, kind === "custom" ? 2_000 : undefined)
          assert.notInclude(JSON.stringify(delivery), "canary")
        }
        assert.strictEqual(new Set(receiver.received.map(({ body }) => body)).size, 1)
      }))
    }
  }

  it.effect("an address that the guard forbids is a failure without a call and without another try", () => Effect.gen(function*() {
    const receiver = yield* sink(200)
    const memory = MemoryWebhooks.make()
    memory.records.set("w", webhook("w", receiver.url))
    const shut = Layer.succeed(UrlGuard, guardOf({ policy: () => ({ local: true, private: true, guard: true }) }))
    const webhooks = yield* start(memory, HttpSender.layer().pipe(Layer.provide(shut)))
    yield* webhooks.append([event("e")])
    yield* until(() => memory.jobs().length === 0)
    yield* TestClock.adjust(60_000)
    assert.lengthOf(receiver.received, 0)
    assert.lengthOf(memory.deliveries, 1)
    assert.strictEqual(memory.records.get("w")?.failureCount, 1)
  }))

  it.effect("a name that resolves to this machine only when it is dialled is refused, too", () => Effect.gen(function*() {
    const receiver = yield* sink(200)
    const memory = MemoryWebhooks.make()
    memory.records.set("w", webhook("w", receiver.url.replace("127.0.0.1", "rebinding.test")))
    const first = guardOf({ policy: () => ({ local: false, private: false, guard: true }), resolve: (_host, done) => done(null, ["93.184.216.34"]) })
    const webhooks = yield* start(memory, HttpSender.layer({ resolve: (_host, done) => done(null, ["127.0.0.1"]) }).pipe(Layer.provide(Layer.succeed(UrlGuard, first))))
    yield* webhooks.append([event("e")])
    yield* until(() => memory.deliveries.length === 1)
    assert.lengthOf(receiver.received, 0)
    assert.include(memory.deliveries[0]?.error ?? "", "refused")
  }))
})

describe("a store that is away", () => {
  /** Its first writes of an attempt fail for that reason. */
  const failing = (times: number, reason: StoreError["reason"]) => {
    const memory = MemoryWebhooks.make()
    let left = times
    const note: typeof memory.store.note = (delivery, counts) => Effect.suspend(() =>
      left-- > 0 ? Effect.fail(new StoreError({ store: "webhooks", operation: "note", reason, message: "away" })) : memory.store.note(delivery, counts))
    return { ...memory, store: { ...memory.store, note } }
  }
  const counted = (sent: Array<string>) => Layer.succeed(WebhookSender, {
    send: (_, { body }) => Effect.sync(() => {
      sent.push(body)
      return { status: 200, error: null, blocked: false }
    })
  })

  it.effect("is told of an attempt once a second until it has it, and nothing is sent again", () => Effect.gen(function*() {
    const [memory, sent] = [failing(19, "unavailable"), [] as Array<string>]
    memory.records.set("w", webhook("w", "http://x.test"))
    const webhooks = yield* start(memory, counted(sent))
    yield* webhooks.append([event("e")])
    yield* turn
    yield* TestClock.adjust(18_999)
    assert.deepStrictEqual([sent.length, memory.deliveries.length, memory.jobs().length], [1, 0, 1])
    yield* TestClock.adjust(1)
    assert.deepStrictEqual([sent.length, memory.deliveries.length, memory.jobs().length], [1, 1, 0])
  }))

  it.effect("keeps the job after twenty tries, and at once where it refuses the record", () => Effect.gen(function*() {
    for (const [memory, waitMs] of [[failing(20, "unavailable"), 19_000], [failing(1, "corrupt"), 0]] as const) {
      const sent: Array<string> = []
      memory.records.set("w", webhook("w", "http://x.test"))
      const webhooks = yield* start(memory, counted(sent))
      yield* webhooks.append([event("e")])
      yield* turn
      yield* TestClock.adjust(waitMs)
      yield* turn
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual([sent.length, memory.deliveries.length, memory.jobs().length], [1, 0, 1])
    }
  }))
})

describe("lanes", () => {
  const silent = (sent: Array<string>) => Layer.succeed(WebhookSender, {
    send: (to, { body }) => Effect.suspend(() => {
      sent.push(`${to.id} ${(JSON.parse(body) as { data: { event_id: string } }).data.event_id}`)
      return to.id === "quick" ? Effect.succeed({ status: 200, error: null, blocked: false }) : Effect.never
    })
  })

  it.effect("a receiver that never answers holds its own eight places and nobody else's", () => Effect.gen(function*() {
    const [memory, sent] = [MemoryWebhooks.make(), [] as Array<string>]
    for (const id of ["stuck", "quick"]) memory.records.set(id, webhook(id, "http://x.test"))
    const webhooks = yield* start(memory, silent(sent))
    yield* webhooks.append(Array.from({ length: 30 }, (_, n) => event(`e${n}`)))
    yield* until(() => sent.filter((one) => one.startsWith("quick")).length === 30)
    assert.lengthOf(sent.filter((one) => one.startsWith("stuck")), LANE_WIDTH)
  }))

  it.effect("above ten thousand waiting events the oldest are dropped", () => Effect.gen(function*() {
    const [memory, sent] = [MemoryWebhooks.make(), [] as Array<string>]
    memory.records.set("stuck", webhook("stuck", "http://x.test"))
    const webhooks = yield* start(memory, silent(sent))
    yield* webhooks.append(Array.from({ length: NodeWebhooks.BACKLOG + 100 }, (_, n) => event(`e${n}`)))
    yield* TestClock.adjust(10_000)
    yield* until(() => memory.state.dropped > 0)
    // Those that a delivery holds are not waiting.
    assert.strictEqual(memory.jobs().length, NodeWebhooks.BACKLOG + LANE_WIDTH)
    assert.strictEqual(memory.jobs().at(-1)?.id, `e${NodeWebhooks.BACKLOG + 99}`)
  }))

  it.effect("two nodes share a queue without sending twice, and what a closed node held is sent by the other", () => Effect.gen(function*() {
    const memory = MemoryWebhooks.make()
    const [first, second] = [[] as Array<string>, [] as Array<string>]
    memory.records.set("stuck", webhook("stuck", "http://x.test"))
    const other = yield* start(memory, silent(second), "second")
    yield* turn
    yield* Effect.scoped(Effect.gen(function*() {
      const webhooks = yield* start(memory, silent(first), "first")
      yield* webhooks.append(Array.from({ length: LANE_WIDTH }, (_, n) => event(`e${n}`)))
      yield* until(() => first.length === LANE_WIDTH)
      yield* TestClock.adjust(2_000)
      assert.lengthOf(second, 0)
    }))
    yield* TestClock.adjust(1_000)
    yield* until(() => second.length === LANE_WIDTH)
    assert.deepStrictEqual([...second].sort(), [...first].sort())
    assert.isTrue(other.wants("anything"))
  }))

  it.effect("what another node changed is seen at the next look: a new webhook is served, one that is off is not wanted", () => Effect.gen(function*() {
    const [memory, sent] = [MemoryWebhooks.make(), [] as Array<string>]
    const webhooks = yield* start(memory, silent(sent))
    assert.isFalse(webhooks.wants("request.completed"))
    memory.records.set("quick", webhook("quick", "http://x.test", "custom", { events: ["request.completed", "no.such.event"] }))
    yield* TestClock.adjust(1_000)
    assert.deepStrictEqual(["request.completed", "request.failed"].map(webhooks.wants), [true, false])
    yield* webhooks.append([event("e")])
    yield* until(() => sent.length === 1)
    memory.records.set("quick", webhook("quick", "http://x.test", "custom", { enabled: false, updatedAt: "2" }))
    yield* TestClock.adjust(1_000)
    assert.isFalse(webhooks.wants("request.completed"))
  }))
})
