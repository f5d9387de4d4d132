/** How many requests may be in flight at once: in all, per provider and per connection; as operators read and change it. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownKeys, shownModel } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ConcurrencyLimits } from "#schemas/records/ResilienceSettings.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import type { ConcurrencyChange, ConcurrencyView } from "./api.ts"

/** Null = no cap. */
export interface Caps {
  readonly global: number | null
  /** By the names of providers. */
  readonly perProvider: Readonly<Record<string, number>>
}

export class ConcurrencyCaps extends Context.Service<ConcurrencyCaps, {
  readonly current: () => Caps
  /** The caps, and what is in flight and waits at this moment. */
  readonly view: Effect.Effect<ConcurrencyView>
  readonly change: (change: ConcurrencyChange) => Effect.Effect<Caps, Refusal.Refusal | StoreError, ManagementCall>
  /** Forgets who is in flight. */
  readonly reset: Effect.Effect<void, never, ManagementCall>
}>()("gateway/http/ConcurrencyCaps") {}

const KIND = "setting"

/** A cap of 0, and none, is null. */
export const capOrNull = (max: number | undefined): number | null => max === undefined || max === 0 ? null : max

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* ConnectionStore
  const control = yield* ResilienceControl
  const documents = yield* DocumentStore

  const current = (): Caps => {
    const stored = ResilienceSettings.limitsOf(configuration.current())
    return { global: capOrNull(stored.global), perProvider: shownKeys(configuration.current(), stored.perProvider ?? {}) }
  }

  /** `<combo> <provider>/<model>`. */
  const gateName = (id: string): string => {
    const space = id.indexOf(" ") + 1
    return id.slice(0, space) + shownModel(configuration.current(), id.slice(space))
  }
  const inFlight = () => {
    const { perProvider, total } = control.inFlight()
    return { total, perProvider: shownKeys(configuration.current(), perProvider) }
  }

  const view = Effect.map(Clock.currentTimeMillis, (now): ConcurrencyView => ({
    timestamp: new Date(now).toISOString(),
    ...current(),
    rateLimits: { requestQueue: control.settings().requestQueue },
    semaphores: Object.fromEntries([
      ...control.places().map(({ connectionId, max, running, waiting }) => [connectionId, { running, queued: waiting, max: capOrNull(max) }] as const),
      ...control.models().map(({ id, max, running, waiting }) => [gateName(id), { running, queued: waiting, max }] as const)
    ]),
    inFlight: inFlight()
  }))

  /** Caps of one body in one form: the list says the same as the members. */
  const capsOf = (change: ConcurrencyChange) => {
    const perProvider: Record<string, number> = {}
    const perConnection = new Map<string, number>()
    const issues: Array<Refusal.FieldIssue> = []
    let global = change.global
    const { perProvider: stored = {} } = ResilienceSettings.limitsOf(configuration.current())
    const cap = (name: string, max: number, field: string): void => {
      // The cap of a provider that is gone can be taken away.
      const provider = knownProvider(configuration.current(), name) ?? (Object.hasOwn(stored, name) && max === 0 ? name : null)
      if (provider === null) issues.push({ field, message: unknownProvider(name) })
      else perProvider[provider] = max
    }
    for (const [provider, max] of Object.entries(change.perProvider ?? {})) cap(provider, max, `perProvider.${provider}`)
    for (const [index, { id, max, scope }] of (change.limits ?? []).entries()) {
      if (scope === "global") global = max
      else if (id === undefined) issues.push({ field: `limits.${index}.id`, message: "Expected the id of what is limited" })
      else if (scope === "provider") cap(id, max, `limits.${index}.id`)
      else if (configuration.current().connectionById.has(id)) perConnection.set(id, max)
      else issues.push({ field: `limits.${index}.id`, message: "No such connection" })
    }
    return { global, perProvider, perConnection, issues }
  }

  const reset = Effect.suspend(() => {
    control.resetPlaces()
    return audit.note({ action: "concurrency.reset", resourceType: "resilience" })
  })

  const change = Effect.fn("ConcurrencyCaps.change")(function*(asked: ConcurrencyChange) {
    const { global, issues, perConnection, perProvider } = capsOf(asked)
    if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
    for (const id of perConnection.keys()) yield* refuseOwned(configuration.current(), "connection", id)
    yield* configuration.commit(Effect.gen(function*() {
      const stored = ResilienceSettings.limitsOf(configuration.current())
      const caps = Object.entries({ ...stored.perProvider, ...perProvider }).filter(([, max]) => max > 0)
      const next: ConcurrencyLimits = { global: global ?? stored.global ?? 0, perProvider: Object.fromEntries(caps) }
      yield* documents.put(KIND, ResilienceSettings.limitsKey, next)
      yield* Effect.forEach(perConnection, ([id, max]) => connections.patch(id, { maxConcurrent: max === 0 ? null : max }), { discard: true })
    }))
    yield* audit.note({
      action: "concurrency.updated", resourceType: "resilience",
      details: { global: global ?? null, perProvider: shownKeys(configuration.current(), perProvider), connections: Object.fromEntries(perConnection) }
    })
    return current()
  })

  return ConcurrencyCaps.of({ current, view, change, reset })
})

export const layer = Layer.effect(ConcurrencyCaps, make)
