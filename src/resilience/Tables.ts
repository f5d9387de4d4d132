/**
 * The `Resilience` of one node as plain memory: every answer is a few look-ups, and nothing here waits. What must outlive the
 * process is told to `saved`, which the service writes off the hot path.
 */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Pass, TargetHealth, Unavailable, Verdict } from "#actors/ports/Resilience.ts"
import type { BreakerView, CooldownView, LockoutView, PlaceView } from "#actors/ports/ResilienceControl.ts"
import type { Target } from "#actors/ports/Target.ts"
import * as Cooldown from "#actors/ConnectionCooldown.ts"
import * as Lockout from "#actors/ModelLockout.ts"
import * as Breaker from "#actors/ProviderBreaker.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import { ConnectionPlace, type ModelPlace, ProviderPlace, storedCooldown } from "./places.ts"
import { profileOf } from "./profile.ts"
import * as Effective from "./settings.ts"

/** Terminal states: only a test, a re-login or an edit ends them (supplement 1.2). */
export const isTerminal = (connection: Connection): boolean =>
  connection.testStatus === "expired" || connection.testStatus === "banned" || connection.testStatus === "credits_exhausted"

/** Hears what the stores should know; must not throw. */
export interface Saved {
  readonly connection: (id: string) => void
  readonly breaker: (provider: string) => void
}

/** What is read of a snapshot. */
export type View = Pick<Snapshot, "connections" | "connectionById" | "settings">

const statusText = (status: number): string => status === 0 ? "no answer" : `HTTP ${status}`

export class Tables {
  effective: Effective.Effective
  private snapshot: View
  private version = 0
  private readonly saved: Saved
  private readonly providers = new Map<string, ProviderPlace>()
  private readonly connections = new Map<string, ConnectionPlace>()
  /** Calls of providers without credentials, by provider. */
  private readonly bare = new Map<string, ConnectionPlace>()
  private total = 0
  private slotEra = 0
  private listening = 0

  constructor(snapshot: View, saved: Saved) {
    this.saved = saved
    this.snapshot = snapshot
    this.effective = Effective.of(snapshot)
  }

  /** A new snapshot: settings apply at once, and a record that says something new about its cooldown is believed. */
  configured(snapshot: View): void {
    this.snapshot = snapshot
    this.effective = Effective.of(snapshot)
    this.version++
    for (const place of this.providers.values()) place.max = this.providerMax(place.id)
    for (const [id, place] of this.connections) {
      const record = snapshot.connectionById.get(id)
      if (record === undefined) {
        if (place.listeners.length === 0) this.connections.delete(id)
        continue
      }
      const stored = storedCooldown(record)
      if (stored.until === place.written.until && stored.level === place.written.level) continue
      place.written = stored
      place.cooldown = Cooldown.step(place.cooldown, { _tag: "Told", ...stored }, this.effective.cooldown.apikey, 0)[1]
    }
    // A raised cap is room that nobody releases.
    this.notifyAll()
  }

  /** A breaker as it was stored; only at the start. */
  restore(provider: string, state: Breaker.State, profile: ProfileName): void {
    const place = this.provider(provider)
    place.breaker = state
    place.profile = profile
  }

  readonly check = (target: Target, now: number): Unavailable | null => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    return this.blocked(target, provider, connection, connection.models.get(target.model), now, false) ??
      this.refused(provider, Breaker.refusalOf(provider.breaker, now))
  }

  readonly enter = (target: Target, now: number, lastResort = false): Pass | Unavailable => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    const model = connection.model(target.model, now)
    const blocked = this.blocked(target, provider, connection, model, now, lastResort)
    if (blocked !== null) return blocked
    const profile = connection.profileFor(target, profileOf)
    provider.profile = profile
    const [reply, breaker] = Breaker.step(provider.breaker, { _tag: "Enter" }, this.effective.breaker[profile], now)
    if (reply._tag !== "Entered") return this.refused(provider, reply._tag === "Refused" ? reply : null) as Unavailable
    provider.breaker = breaker
    provider.inFlight++
    connection.inFlight++
    this.total++
    model.figures.lastUsedAt = now
    return new HeldPass(this, target, provider, connection, model, profile, reply.ticket, this.slotEra)
  }

  readonly health = (target: Target, now: number): TargetHealth => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    const figures = connection.models.get(target.model)?.figures
    const breaker = this.effective.breaker[connection.profileFor(target, profileOf)]
    return {
      breaker: Breaker.phaseOf(provider.breaker, breaker, now),
      failures: provider.breaker.failures,
      inFlight: connection.inFlight,
      uses: figures?.uses ?? 0,
      lastUsedAt: figures?.lastUsedAt ?? 0,
      latencyP95Ms: figures?.latencyP95() ?? null,
      ttftP50Ms: figures?.ttftP50() ?? null,
      errorRate: figures?.errorRate() ?? null
    }
  }

  readonly onFree = (connectionId: string, listener: () => void): () => void => {
    const place = this.connection(connectionId, this.snapshot.connectionById.get(connectionId) ?? null, "")
    place.listeners = [...place.listeners, listener]
    this.listening++
    let heard = true
    return () => {
      if (!heard) return
      heard = false
      this.listening--
      place.listeners = place.listeners.filter((other) => other !== listener)
    }
  }

  /** A probe's first content decides it. */
  answered(pass: HeldPass, now: number): void {
    if (pass.ticket.probe) this.tellBreaker(pass, "ok", 200, now)
  }

  /** The end of a call, exactly once per pass. */
  released(pass: HeldPass, verdict: Verdict | null, now: number): void {
    const { connection, model, provider } = pass
    if (pass.slotEra === this.slotEra) {
      provider.inFlight--
      connection.inFlight--
      this.total--
    }
    if (verdict === null) this.tellBreaker(pass, "neutral", 0, now)
    else if (verdict.ok) {
      model.figures.ok(verdict.latencyMs, verdict.ttftMs)
      this.tellBreaker(pass, "ok", verdict.status, now)
      this.tellCooldown(pass, { _tag: "Succeeded" }, now)
      if (model.lockout !== null) model.lockout = Lockout.step(model.lockout, { _tag: "Succeeded" }, this.effective.lockout, now)[1]
    } else {
      const { network, status } = verdict
      // The request's own fault is no failure of the target.
      if (status === 400 || status === 413 || status === 422) model.figures.neutral()
      else model.figures.fail()
      this.tellBreaker(pass, Breaker.counts(status, network) ? "failed" : "neutral", status, now)
      const rule = Cooldown.ruleOf(verdict)
      if (rule !== null && pass.target.connection?.providerSpecificData["disableCooling"] !== true) {
        this.tellCooldown(pass, { _tag: "Failed", rule, hintMs: verdict.retryAfterMs, status }, now)
      }
      model.lockout = Lockout.step(model.lockout, { _tag: "Failed", status }, this.effective.lockout, now)[1]
    }
    if (this.listening === 0) return
    if (provider.max > 0 || this.effective.globalMax > 0) this.notifyAll()
    else for (const listener of connection.listeners) listener()
  }

  /** For the writer: what the record of a connection should say. */
  place(connectionId: string): ConnectionPlace | undefined {
    return this.connections.get(connectionId)
  }

  providerPlace(provider: string): ProviderPlace | undefined {
    return this.providers.get(provider)
  }

  breakers(now: number): ReadonlyArray<BreakerView> {
    return Array.from(this.providers.values(), ({ breaker, id, profile }) => ({
      provider: id,
      state: Breaker.phaseOf(breaker, this.effective.breaker[profile], now),
      failures: breaker.failures,
      lastFailureAt: breaker.lastFailureAt,
      retryAfterMs: breaker.openUntil === null ? 0 : Math.max(0, breaker.openUntil - now)
    }))
  }

  cooldowns(now: number): ReadonlyArray<CooldownView> {
    const views: Array<CooldownView> = []
    for (const record of this.snapshot.connections) {
      const { level, reason, until } = this.connection(record.id, record, record.provider).cooldown
      if (now < until) views.push({ connectionId: record.id, until, level, reason })
    }
    return views.sort((a, b) => a.until - b.until)
  }

  lockouts(now: number): ReadonlyArray<LockoutView> {
    const views: Array<LockoutView> = []
    for (const places of [this.connections, this.bare]) {
      for (const { id, models, provider } of places.values()) {
        for (const [model, { lockout }] of models) {
          if (lockout === null || now >= lockout.until) continue
          views.push({ provider, connectionId: id, model, reason: statusText(lockout.status), until: lockout.until, failureCount: lockout.failures })
        }
      }
    }
    return views.sort((a, b) => a.until - b.until)
  }

  places(): ReadonlyArray<PlaceView> {
    return this.snapshot.connections.map((record) => {
      const place = this.connections.get(record.id)
      return { connectionId: record.id, running: place?.inFlight ?? 0, max: this.connectionMax(record), waiting: place?.listeners.length ?? 0 }
    })
  }

  inFlight(): { readonly total: number; readonly perProvider: Readonly<Record<string, number>> } {
    const busy = Array.from(this.providers.values()).filter((place) => place.inFlight > 0)
    return { total: this.total, perProvider: Object.fromEntries(busy.map((place) => [place.id, place.inFlight])) }
  }

  resetBreakers(provider: string | null, now: number): number {
    let count = 0
    for (const place of this.providers.values()) {
      if (provider !== null && place.id !== provider) continue
      const settings = this.effective.breaker[place.profile]
      if (place.breaker.failures === 0 && place.breaker.openUntil === null) continue
      const stored = place.breaker.openUntil !== null
      place.breaker = Breaker.step(place.breaker, { _tag: "Reset" }, settings, now)[1]
      if (stored) this.saved.breaker(place.id)
      count++
    }
    this.notifyAll()
    return count
  }

  clearLockouts(provider: string | null, model: string | null, connectionId: string | null, now: number): number {
    let count = 0
    for (const places of [this.connections, this.bare]) {
      for (const place of places.values()) {
        if ((provider !== null && place.provider !== provider) || (connectionId !== null && place.id !== connectionId)) continue
        for (const [name, entry] of place.models) {
          if (entry.lockout === null || (model !== null && name !== model)) continue
          if (now < entry.lockout.until) count++
          entry.lockout = Lockout.step(entry.lockout, { _tag: "Cleared" }, this.effective.lockout, now)[1]
        }
      }
    }
    return count
  }

  resetPlaces(): void {
    this.slotEra++
    this.total = 0
    for (const place of this.providers.values()) place.inFlight = 0
    for (const places of [this.connections, this.bare]) for (const place of places.values()) place.inFlight = 0
    this.notifyAll()
  }

  private tellBreaker(pass: HeldPass, result: "ok" | "failed" | "neutral", status: number, now: number): void {
    const { profile, provider, ticket } = pass
    // The usual case: a closed breaker without failures hears of a success.
    if (provider.breaker.failures === 0 && provider.breaker.openUntil === null && result !== "failed") return
    const [, state, intents] = Breaker.step(provider.breaker, { _tag: "Ended", ticket, result, status }, this.effective.breaker[profile], now)
    provider.breaker = state
    if (intents.length > 0) this.saved.breaker(provider.id)
  }

  private tellCooldown(pass: HeldPass, event: Cooldown.Event, now: number): void {
    const { connection, profile } = pass
    if (event._tag === "Succeeded" && connection.cooldown === Cooldown.idle) return
    const [, state, intents] = Cooldown.step(connection.cooldown, event, this.effective.cooldown[profile], now)
    connection.cooldown = state
    if (intents.length > 0 && connection.id !== null) this.saved.connection(connection.id)
  }

  /** Everything but the breaker. */
  private blocked(
    target: Target, provider: ProviderPlace, connection: ConnectionPlace, model: ModelPlace | undefined, now: number, lastResort: boolean
  ): Unavailable | null {
    const record = target.connection
    if (record !== null && (!record.isActive || isTerminal(record))) {
      return { reason: "inactive", until: null, detail: record.isActive ? `The connection is ${record.testStatus}.` : "The connection is switched off." }
    }
    const { cooldown } = connection
    if (now < cooldown.until && !(lastResort && cooldown.guessed)) {
      return { reason: "connection-cooldown", until: cooldown.until, detail: `${cooldown.reason} (${statusText(cooldown.status)})`, soft: cooldown.guessed }
    }
    const lockout = model?.lockout ?? null
    // A lockout that the operator asked for stands; the one after a 404 is a guess.
    const soft = !this.effective.lockout.enabled
    if (lockout !== null && now < lockout.until && !(lastResort && soft)) {
      return {
        reason: "model-lockout", until: lockout.until, soft,
        detail: `Locked after ${statusText(lockout.status)}, failures: ${lockout.failures}.`
      }
    }
    const max = record === null ? 0 : connection.maxFor(record, this.version, this.connectionMax)
    if (max > 0 && connection.inFlight >= max) return busy(`${max} calls at once are allowed on the connection.`)
    if (provider.max > 0 && provider.inFlight >= provider.max) return busy(`${provider.max} calls at once are allowed at the provider.`)
    const { globalMax } = this.effective
    return globalMax > 0 && this.total >= globalMax ? busy(`${globalMax} calls at once are allowed on this node.`) : null
  }

  private refused(provider: ProviderPlace, reply: Extract<Breaker.Reply, { readonly _tag: "Refused" }> | null): Unavailable | null {
    if (reply === null) return null
    const { failures, lastStatus } = provider.breaker
    return { reason: reply.reason, until: reply.until, detail: `Failures in a row: ${failures}, the last: ${statusText(lastStatus)}.` }
  }

  private readonly connectionMax = (record: Connection): number => {
    const { settings } = this.effective
    return Effective.leastCap(
      record.maxConcurrent,
      record.rateLimitOverrides?.["maxConcurrent"] as number | undefined,
      settings.providerQuotaOverrides[record.provider]?.concurrency,
      record.rateLimitProtection ? settings.requestQueue.concurrentRequests : 0
    )
  }

  private providerMax(provider: string): number {
    const { perProvider, settings } = this.effective
    return Effective.leastCap(perProvider.get(provider), settings.providerQuotaOverrides[provider]?.providerConcurrency)
  }

  private provider(id: string): ProviderPlace {
    const known = this.providers.get(id)
    if (known !== undefined) return known
    const place = new ProviderPlace(id)
    place.max = this.providerMax(id)
    this.providers.set(id, place)
    return place
  }

  private connectionOf(target: Target): ConnectionPlace {
    const { connection, provider } = target
    if (connection !== null) return this.connections.get(connection.id) ?? this.connection(connection.id, connection, provider)
    const known = this.bare.get(provider)
    if (known !== undefined) return known
    const place = new ConnectionPlace(null, provider)
    this.bare.set(provider, place)
    return place
  }

  private connection(id: string, offered: Connection | null, provider: string): ConnectionPlace {
    const known = this.connections.get(id)
    if (known !== undefined) return known
    const record = this.snapshot.connectionById.get(id) ?? offered
    const place = new ConnectionPlace(id, record?.provider ?? provider)
    if (record !== null && record !== undefined) {
      place.written = storedCooldown(record)
      place.cooldown = Cooldown.step(place.cooldown, { _tag: "Told", ...place.written }, this.effective.cooldown.apikey, 0)[1]
    }
    this.connections.set(id, place)
    return place
  }

  private notifyAll(): void {
    if (this.listening === 0) return
    for (const place of this.connections.values()) for (const listener of place.listeners) listener()
  }
}

const busy = (detail: string): Unavailable => ({ reason: "connection-busy", until: null, detail })

/** One place in use. */
class HeldPass implements Pass {
  readonly target: Target
  readonly provider: ProviderPlace
  readonly connection: ConnectionPlace
  readonly model: ModelPlace
  readonly profile: ProfileName
  readonly ticket: Breaker.Ticket
  readonly slotEra: number
  private readonly tables: Tables
  private held = true

  constructor(
    tables: Tables, target: Target, provider: ProviderPlace, connection: ConnectionPlace, model: ModelPlace, profile: ProfileName,
    ticket: Breaker.Ticket, slotEra: number
  ) {
    this.tables = tables
    this.target = target
    this.provider = provider
    this.connection = connection
    this.model = model
    this.profile = profile
    this.ticket = ticket
    this.slotEra = slotEra
  }

  answered(now: number): void {
    if (this.held) this.tables.answered(this, now)
  }

  release(verdict: Verdict | null, now: number): void {
    if (!this.held) return
    this.held = false
    this.tables.released(this, verdict, now)
  }
}
