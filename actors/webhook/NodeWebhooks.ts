/**
 * The webhooks of this node: one lane per enabled webhook over the shared queue. A slow or failing receiver fills only its own
 * lane; above `BACKLOG` waiting events it loses its oldest ones.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { firstInARow } from "#actors/firstInARow.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { Placement } from "#actors/ports/Placement.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Webhooks } from "./ports/Webhooks.ts"
import { WebhookQueue } from "./ports/WebhookQueue.ts"
import { WebhookSender } from "./ports/WebhookSender.ts"
import { WebhookStore } from "./ports/WebhookStore.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { attempt, Lane, type WebhookLaneOptions } from "./WebhookLane.ts"
import * as Payloads from "./payloads.ts"
import type { Webhook } from "#schemas/records/Webhook.ts"

/** Events that wait for one webhook; also kept while it is switched off, for a day. */
export const BACKLOG = 10_000
const TRIM_MS = 10_000
/** Deliveries kept per webhook, and how long; how long an event is known. */
const DELIVERIES_KEPT = 1_000
const DELIVERIES_MS = 30 * 86_400_000
const EVENTS_MS = 86_400_000
const RELEASE_MS = 1_000

export interface Options {
  /** Names this process in claims; the same after a restart. */
  readonly owner: string
  /** How often the records and the queue are looked at for what other nodes changed, ms. */
  readonly pollMs: number
}

interface Member {
  readonly lane: Lane
  readonly fiber: Fiber.Fiber<void>
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const store = yield* WebhookStore
  const queue = yield* WebhookQueue
  const sender = yield* WebhookSender
  const placement = yield* Placement
  const makeId = () => SecureRandom.uuidV4Unsafe()

  const members = new Map<string, Member>()
  /** Null until the records were read: then anything may be wanted. */
  let wanted: ReadonlySet<string> | null = null
  const reading = Semaphore.makeUnsafe(1)

  // Added first, so that it runs last: what no delivery holds any more is free for others at once.
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(Effect.interruptible(queue.release(options.owner)), RELEASE_MS)))
  // They belong to this scope, whichever call starts them.
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const forkLane = yield* FiberSet.makeRuntime<never, void, never>()

  const laneOptions: WebhookLaneOptions = {
    store, queue, sender, makeId, fork,
    owner: options.owner,
    onDisabled: (webhook) => Effect.logWarning(
      `webhook ${webhook.id} failed too often and was switched off; what waits for it is kept for a day: PUT /api/webhooks/${webhook.id} {"enabled":true}`
    ).pipe(Effect.andThen(Effect.ignore(refresh)))
  }

  const apply = (records: ReadonlyArray<Webhook>) => Effect.sync(() => {
    const enabled = records.filter((webhook) => webhook.enabled)
    wanted = new Set(enabled.flatMap((webhook) => webhook.events))
    const ids = new Set(enabled.map(({ id }) => id))
    for (const [id, { fiber }] of members) {
      if (ids.has(id)) continue
      members.delete(id)
      fiber.interruptUnsafe()
    }
    for (const webhook of enabled) {
      const member = members.get(webhook.id)
      if (member !== undefined) {
        member.lane.webhook = webhook
        continue
      }
      const lane = new Lane(webhook, laneOptions)
      const fiber = forkLane(lane.run)
      members.set(webhook.id, { lane, fiber })
      // A lane that is over is no member: the next look at the queue opens another one.
      fiber.addObserver(() => {
        if (members.get(webhook.id)?.fiber === fiber) members.delete(webhook.id)
      })
    }
  })

  const refresh: Effect.Effect<void, StoreError> = Semaphore.withPermits(reading, 1)(Effect.flatMap(store.list, apply))

  const look = Effect.gen(function*() {
    const states = yield* queue.states
    const enabled = states.filter((state) => state.enabled)
    const same = wanted !== null && enabled.length === members.size
      && enabled.every(({ id, updatedAt }) => members.get(id)?.lane.webhook.updatedAt === updatedAt)
    if (!same) yield* refresh
    for (const { id, waiting } of enabled) if (waiting) members.get(id)?.lane.wake.openUnsafe()
  })

  const trim = Effect.suspend(() => Effect.forEach([...members.keys()], (id) => Effect.flatMap(queue.trim(id, BACKLOG), (dropped) =>
    dropped === 0 ? Effect.void : Effect.logWarning(`webhook ${id} is too slow: its ${dropped} oldest waiting events were dropped (more than ${BACKLOG} waited)`)
  ), { discard: true }))

  const every = (loop: "webhook queue" | "webhook backlog", name: string, ms: number, turn: Effect.Effect<void, StoreError>) =>
    Supervisor.loop(loop, Effect.andThen(
      firstInARow(turn, (error) => Effect.logWarning(`webhooks: ${name} failed and is tried again until it succeeds`, error)),
      Effect.sleep(ms)
    ))

  // What the process before this one held is not lost until its claims end.
  yield* Effect.ignore(Effect.andThen(queue.release(options.owner), refresh))
  yield* every("webhook queue", "the look at the queue", options.pollMs, look)
  yield* every("webhook backlog", "the bound of the backlog", TRIM_MS, trim)
  yield* placement.place("sweep/webhooks", Sweeps.loop({
    loop: "sweep/webhooks",
    name: "webhook deliveries",
    everyMs: 3_600_000,
    run: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      store.prune(new Date(now - DELIVERIES_MS).toISOString(), new Date(now - EVENTS_MS).toISOString(), DELIVERIES_KEPT))
  }, 60_000))

  const wants = (type: string): boolean => wanted === null || wanted.has("*") || wanted.has(type)

  return Webhooks.of({
    wants,
    append: Effect.fnUntraced(function*(events) {
      const asked = events.filter(({ type }) => wants(type))
      if (asked.length === 0) return
      const ids = yield* queue.append(asked, new Date(yield* Clock.currentTimeMillis).toISOString())
      if (ids.some((id) => !members.has(id))) yield* refresh
      for (const id of ids) members.get(id)?.lane.wake.openUnsafe()
    }),
    refresh,
    test: Effect.fnUntraced(function*(webhook) {
      const at = yield* Clock.currentTimeMillis
      const event = Payloads.queued({ type: "test.ping", at, data: { message: "This is a test of the webhook.", webhookId: webhook.id } }, `evt_${makeId()}`)
      // As the last of its attempts: a test is not repeated.
      const { answered } = yield* attempt(laneOptions, webhook, event, Number.POSITIVE_INFINITY)
      return answered
    }),
    replay: Effect.fnUntraced(function*(webhook, event) {
      const sentAt = new Date(yield* Clock.currentTimeMillis).toISOString()
      const { answered } = yield* attempt(laneOptions, webhook, { ...event, sentAt }, Number.POSITIVE_INFINITY)
      return answered
    })
  })
})

export const layer = (options: Options) => Layer.effect(Webhooks, make(options))
