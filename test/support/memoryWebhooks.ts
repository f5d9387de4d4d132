/** Webhooks in memory: records, queue and deliveries without durability, for tests that look at the lanes or the management surface. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import { type WebhookJob, WebhookQueue } from "#actors/webhook/ports/WebhookQueue.ts"
import { WebhookStore } from "#actors/webhook/ports/WebhookStore.ts"
import { DISABLE_AFTER, type Webhook, type WebhookDelivery } from "#schemas/records/Webhook.ts"

interface Job extends WebhookJob {
  claimedBy: string | null
}

export const make = () => {
  const records = new Map<string, Webhook>()
  const deliveries: Array<WebhookDelivery> = []
  const events = new Set<string>()
  let jobs: Array<Job> = []
  const state = { dropped: 0 }

  const store = WebhookStore.of({
    list: Effect.sync(() => [...records.values()]),
    get: (id) => Effect.sync(() => records.get(id) ?? null),
    insert: (webhook) => Effect.sync(() => void records.set(webhook.id, webhook)),
    change: (id, change, updatedAt) => Effect.sync(() => {
      const before = records.get(id)
      if (before === undefined) return null
      const next = { ...before, ...change, updatedAt, enabledAt: change.enabled === true && !before.enabled ? updatedAt : before.enabledAt }
      records.set(id, next)
      return next
    }),
    remove: (id) => Effect.sync(() => {
      jobs = jobs.filter((job) => job.webhookId !== id)
      return records.delete(id)
    }),
    deliveries: (id, limit) => Effect.sync(() => deliveries.filter(({ webhookId }) => webhookId === id).reverse().slice(0, limit)),
    delivery: (webhookId, id) => Effect.sync(() => deliveries.find((each) => each.webhookId === webhookId && each.id === id) ?? null),
    note: (delivery, counts) => Effect.sync(() => {
      const before = records.get(delivery.webhookId)
      if (before === undefined) return null
      deliveries.push(delivery)
      const failureCount = counts === "attempt" ? before.failureCount : counts === "failed" ? before.failureCount + 1 : 0
      records.set(before.id, { ...before, failureCount, lastTriggeredAt: delivery.createdAt, lastStatus: delivery.httpStatus ?? 0 })
      return { failureCount, enabled: before.enabled }
    }),
    disableFailed: (id, updatedAt) => Effect.sync(() => {
      const before = records.get(id)
      if (before === undefined || !before.enabled || before.failureCount < DISABLE_AFTER) return false
      records.set(id, { ...before, enabled: false, updatedAt })
      return true
    }),
    prune: () => Effect.succeed(0)
  })

  const queue = WebhookQueue.of({
    append: (told) => Effect.sync(() => {
      const woken = new Set<string>()
      for (const event of told) {
        if (events.has(event.id)) continue
        for (const webhook of records.values()) {
          if (!webhook.enabled || webhook.enabledAt > event.at || !(webhook.events.includes("*") || webhook.events.includes(event.type))) continue
          events.add(event.id)
          woken.add(webhook.id)
          jobs.push({ webhookId: webhook.id, ...event, claimedBy: null })
        }
      }
      return [...woken]
    }),
    claim: (webhookId, owner, limit) => Effect.sync(() => {
      if (records.get(webhookId)?.enabled !== true) return []
      const taken = jobs.filter((job) => job.webhookId === webhookId && job.claimedBy === null).slice(0, limit)
      for (const job of taken) job.claimedBy = owner
      return taken
    }),
    done: (webhookId, eventId) => Effect.sync(() => {
      jobs = jobs.filter((job) => job.webhookId !== webhookId || job.id !== eventId)
    }),
    release: (owner) => Effect.sync(() => {
      for (const job of jobs) if (job.claimedBy === owner) job.claimedBy = null
    }),
    trim: (webhookId, keep) => Effect.sync(() => {
      const waiting = jobs.filter((job) => job.webhookId === webhookId)
      const old = new Set(waiting.slice(0, Math.max(0, waiting.length - keep)).filter(({ claimedBy }) => claimedBy === null))
      jobs = jobs.filter((job) => !old.has(job))
      state.dropped += old.size
      return old.size
    }),
    states: Effect.sync(() => [...records.values()].map(({ enabled, id, updatedAt }) => ({
      id, updatedAt, enabled, waiting: jobs.some((job) => job.webhookId === id && job.claimedBy === null)
    })))
  })

  return { store, queue, records, deliveries, state, jobs: () => jobs }
}

export type MemoryWebhooks = ReturnType<typeof make>

export const layerOf = ({ queue, store }: MemoryWebhooks): Layer.Layer<WebhookStore | WebhookQueue> =>
  Layer.mergeAll(Layer.succeed(WebhookStore, store), Layer.succeed(WebhookQueue, queue))

/** For the management surface: records, and a receiver that takes everything. */
export const surface: Layer.Layer<WebhookStore | WebhookQueue | Webhooks> = Layer.suspend(() => Layer.mergeAll(
  layerOf(make()),
  Layer.succeed(Webhooks, {
    wants: () => false, append: () => Effect.void, refresh: Effect.void,
    test: () => Effect.succeed({ status: 200, error: null, blocked: false }),
    replay: () => Effect.succeed({ status: 200, error: null, blocked: false })
  })
))
