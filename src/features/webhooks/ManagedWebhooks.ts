/** The receivers of webhooks: how they are made, changed, tried and removed. Each change is in the audit log. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { checkKept, UrlGuard } from "#actors/ports/UrlGuard.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import { WebhookStore } from "#actors/webhook/ports/WebhookStore.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { SNAPSHOT_CHARS, type Webhook, type WebhookKind } from "#schemas/records/Webhook.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import * as StoredCredentials from "#src/management/ownership/storedCredentials.ts"
import { keepRedacted, REDACTED } from "#src/management/redact.ts"
import type { NewWebhook, WebhookChange } from "./api.ts"
import * as WireForms from "./wireForms.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

/** What became of one delivery. */
export interface Delivered {
  readonly delivered: boolean
  /** Of the receiver's answer; 0 without one. */
  readonly status: number
  readonly error: string | null
}

export class ManagedWebhooks extends Context.Service<ManagedWebhooks, {
  readonly get: (id: string) => Effect.Effect<Webhook, Refusal.Refusal | StoreError>
  readonly create: (input: NewWebhook) => Done<Webhook>
  readonly change: (id: string, input: WebhookChange) => Done<Webhook>
  readonly remove: (id: string) => Done<void>
  /** Sends a test event now. */
  readonly test: (id: string) => Done<Delivered>
  /** Sends a past delivery once more. */
  readonly replay: (id: string, deliveryId: string) => Done<Delivered>
}>()("gateway/http/ManagedWebhooks") {}

const SECRET_BYTES = 24
/** Characters of a secret that lists show, and its part that they show at most. */
const SHOWN = { characters: 10, part: 1 / 3 } as const

/** A secret as lists show it. */
export const masked = (secret: string): string => `${secret.slice(0, Math.min(SHOWN.characters, Math.floor(secret.length * SHOWN.part)))}...`

const missing = Effect.fail(Refusal.notFound("Webhook not found"))

type Metadata = Readonly<Record<string, string>>

export const metadataOf = (webhook: Webhook): Metadata | null => webhook.metadata === null ? null : JSON.parse(Redacted.value(webhook.metadata)) as Metadata

const chatId = /^(-?\d{1,20}|@[A-Za-z0-9_]{1,64})$/
const botToken = /^[A-Za-z0-9:_-]{1,200}$/

/** A snapshot that is the body as it was sent; null when none was kept, or its end is missing. */
const wholeBody = (snapshot: string | null): string | null => {
  if (snapshot === null) return null
  try {
    JSON.parse(snapshot)
    return snapshot
  } catch {
    return null
  }
}

interface Address {
  readonly kind: WebhookKind
  readonly url: string
  readonly metadata: Metadata | null
}

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const guard = yield* UrlGuard
  const random = yield* SecureRandom.SecureRandom
  const store = yield* WebhookStore
  // A change keeps the parts of the metadata that others change at the same time.
  const locked = (yield* RecordLocks).of("webhooks")
  const webhooks = yield* Webhooks

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const find = (id: string) => Effect.flatMap(store.get(id), (webhook) => webhook === null ? missing : Effect.succeed(webhook))

  const checkUrl = (field: string, url: string) => Effect.mapError(checkKept(guard, url, "webhook"), ({ message }) => Refusal.invalidField(field, message))

  /** The address of its kind, before anything is stored. */
  const check = Effect.fnUntraced(function*({ kind, metadata, url }: Address) {
    if (kind !== "telegram") return void (yield* checkUrl("url", url))
    if (!chatId.test(url)) return yield* Effect.fail(Refusal.invalidField("url", "Expected the chat id: a number, or @name"))
    if (!botToken.test(metadata?.["botToken"] ?? "")) return yield* Effect.fail(Refusal.invalidField("metadata.botToken", "Expected the token of the bot"))
    const apiUrl = metadata?.["apiUrl"]
    if (apiUrl !== undefined) yield* checkUrl("metadata.apiUrl", apiUrl)
  })

  const sealed = (metadata: Metadata | null) => metadata === null ? null : Redacted.make(JSON.stringify(metadata))

  const note = (action: string, webhook: Webhook) =>
    audit.note({ action, target: webhook.id, resourceType: "webhook", details: { kind: webhook.kind, events: [...webhook.events], enabled: webhook.enabled } })

  const create = Effect.fn("Webhooks.create")(function*(input: NewWebhook) {
    const at = yield* now
    const metadata = input.metadata ?? null
    const kind = input.kind ?? "custom"
    yield* check({ kind, metadata, url: input.url })
    const bytes = yield* random.randomBytes(SECRET_BYTES)
    const webhook: Webhook = {
      id: yield* random.uuidV4(), url: Redacted.make(input.url), events: input.events ?? ["*"],
      secret: Redacted.make(input.secret ?? `whsec_${Buffer.from(bytes).toString("hex")}`),
      enabled: Boolean(input.active ?? input.enabled ?? true), description: input.description ?? null, kind, metadata: sealed(metadata),
      failureCount: 0, lastTriggeredAt: null, lastStatus: null, createdAt: at, updatedAt: at, enabledAt: at
    }
    yield* store.insert(webhook)
    yield* webhooks.refresh
    yield* note("webhook.created", webhook)
    return webhook
  })

  /** A stored token goes to the origin that it was stored for. */
  const stays = (standing: Webhook, { metadata }: WebhookChange) => {
    const stored = metadataOf(standing) ?? {}
    if (stored["botToken"] === undefined || metadata?.["botToken"] !== REDACTED) return Effect.void
    const originOf = (of: Metadata) => StoredCredentials.originOf(of["apiUrl"] ?? WireForms.TELEGRAM)
    return StoredCredentials.refuseMove({ field: "metadata.apiUrl", from: originOf(stored), to: originOf(metadata) })
  }

  const change = Effect.fn("Webhooks.change")(function*(id: string, input: WebhookChange) {
    yield* refuseOwned(configuration.current(), "webhook", id)
    const before = yield* find(id)
    const metadataAfter = (standing: Webhook) =>
      input.metadata === undefined ? metadataOf(standing) : input.metadata === null ? null : keepRedacted(input.metadata, metadataOf(standing) ?? {})
    const kind = input.kind ?? before.kind
    if (input.url !== undefined || input.metadata !== undefined || input.kind !== undefined) {
      // The URL guard asks the network, which must not hold up other changes.
      yield* check({ kind, metadata: metadataAfter(before), url: input.url ?? Redacted.value(before.url) })
    }
    const requested = input.enabled ?? input.active
    const enabled = requested === undefined ? undefined : Boolean(requested)
    const webhook = yield* locked(Effect.gen(function*() {
      const standing = yield* find(id)
      yield* stays(standing, input)
      return yield* store.change(id, {
        ...(input.url === undefined ? {} : { url: Redacted.make(input.url) }),
        ...(input.events === undefined ? {} : { events: input.events }),
        ...(input.secret === undefined || input.secret === masked(Redacted.value(standing.secret)) ? {} : { secret: Redacted.make(input.secret) }),
        ...(input.description === undefined ? {} : { description: input.description }),
        ...(input.kind === undefined ? {} : { kind }),
        ...(input.metadata === undefined ? {} : { metadata: sealed(metadataAfter(standing)) }),
        ...(enabled === undefined ? {} : { enabled }),
        // Switched on again after its receiver was mended: the next failure is the first.
        ...(enabled === true ? { failureCount: 0 } : {})
      }, yield* now)
    }))
    if (webhook === null) return yield* missing
    yield* webhooks.refresh
    yield* note("webhook.updated", webhook)
    return webhook
  })

  const remove = Effect.fn("Webhooks.remove")(function*(id: string) {
    yield* refuseOwned(configuration.current(), "webhook", id)
    const webhook = yield* find(id)
    if (!(yield* store.remove(id))) return yield* missing
    yield* webhooks.refresh
    yield* note("webhook.deleted", webhook)
  })

  const test = Effect.fn("Webhooks.test")(function*(id: string) {
    const webhook = yield* find(id)
    const { error, status } = yield* webhooks.test(webhook)
    yield* note("webhook.tested", webhook)
    return { delivered: error === null, status, error }
  })

  const replay = Effect.fn("Webhooks.replay")(function*(id: string, deliveryId: string) {
    const webhook = yield* find(id)
    const delivery = yield* store.delivery(id, deliveryId)
    if (delivery === null) return yield* Effect.fail(Refusal.notFound("Delivery not found"))
    if (!webhook.enabled) return yield* Effect.fail(Refusal.conflict(`The webhook ${id} is off: switch it on first`, { code: "WEBHOOK_OFF" }))
    const body = wholeBody(delivery.payloadSnapshot)
    if (body === null) {
      return yield* Effect.fail(Refusal.gone(`The body of the delivery ${deliveryId} is not kept: chat tools leave none, and of others ${SNAPSHOT_CHARS} characters stay`, { code: "BODY_NOT_KEPT" }))
    }
    const { error, status } = yield* webhooks.replay(webhook, { type: delivery.eventType, body })
    yield* audit.note({ action: "webhook.replayed", target: id, resourceType: "webhook", details: { delivery: deliveryId, event: delivery.eventType } })
    return { delivered: error === null, status, error }
  })

  return ManagedWebhooks.of({ get: find, create, change, remove, test, replay })
})

export const layer = Layer.effect(ManagedWebhooks, make)
