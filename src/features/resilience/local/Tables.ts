/**
 * The `Resilience` of one node as plain memory: every answer is a few look-ups, and nothing here waits. What must outlive the
 * process is passed to `saved`, which the service writes off the hot path.
 */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import { allModels, type Cooled, type Locked } from "#src/features/resilience/ports/CooldownFeed.ts"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Pass, TargetHealth, Unavailable, Verdict } from "#actors/request/ports/Resilience.ts"
import type { BreakerView, CooldownView, LockoutView, ModelPlaceView, PlaceView } from "#src/features/resilience/ports/ResilienceControl.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import * as Pace from "#actors/resilience/Pace.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import type { Block } from "#actors/resilience/WaitQueue.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import * as Blocks from "./blocks.ts"
import { Gates, lineOf as gateLine } from "./Gates.ts"
import { HeldPass, type Keeper } from "./HeldPass.ts"
import type { Lines } from "./lines.ts"
import { ConnectionPlace, ProviderPlace, storedCooldown } from "./places.ts"
import { profileOf } from "#src/features/resilience/profile.ts"
import { type TargetRules, rulesOf, unbounded } from "./rules.ts"
import * as Outcomes from "./outcomes.ts"
import * as Rests from "./rests.ts"
import type { Saved } from "./saved.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import * as Views from "#src/features/resilience/views.ts"

/** What is read of a snapshot. */
export type View = Pick<Snapshot, "connections" | "connectionById" | "nodes" | "settings">

const noLines: Lines = { size: 0, sizeOf: () => 0, freed: () => {} }

export class Tables implements Keeper, Blocks.NodeState {
  effective: ResilienceSettings.Effective
  lines: Lines = noLines
  /** True while a waiter whose turn has come takes its place: the other waiters do not block it. */
  admitting = false
  private snapshot: View
  private version = 0
  private readonly saved: Saved
  private readonly providers = new Map<string, ProviderPlace>()
  private readonly connections = new Map<string, ConnectionPlace>()
  /** Calls of providers without credentials, by provider. */
  private readonly bare = new Map<string, ConnectionPlace>()
  readonly gates = new Gates()
  volumes: Blocks.NodeState["volumes"] = { fullOf: () => null }
  private readonly outside: ResilienceSettings.Outside
  /** Calls in flight on this node. */
  total = 0
  private slotEra = 0

  constructor(snapshot: View, saved: Saved, outside: ResilienceSettings.Outside = ResilienceSettings.nothingOutside) {
    this.saved = saved
    this.outside = outside
    this.snapshot = snapshot
    this.effective = ResilienceSettings.of(snapshot, outside)
  }

  /** A new snapshot: settings apply at once, and a record that says something new about its cooldown is believed. */
  configured(snapshot: View): void {
    this.snapshot = snapshot
    this.effective = ResilienceSettings.of(snapshot, this.outside)
    this.version++
    for (const place of this.providers.values()) {
      place.max = this.providerMax(place.id)
      if (this.effective.providerCooldown === null) place.cooldown = ConnectionCooldown.idle
    }
    for (const [id, place] of this.connections) {
      const record = snapshot.connectionById.get(id)
      if (record === undefined) {
        this.connections.delete(id)
        continue
      }
      place.told(storedCooldown(record), this.effective.cooldown.apikey)
    }
    // A raised cap frees places without a release.
    this.stir()
  }

  /** The write of what began or ended here is over. The snapshot is newer than a write that succeeded: its record is believed, also where it was changed since. */
  written(id: string, succeeded: boolean): void {
    const place = this.connections.get(id)
    if (place === undefined) return
    place.unwritten = false
    const record = this.snapshot.connectionById.get(id)
    if (succeeded && record !== undefined) place.told(storedCooldown(record), this.effective.cooldown.apikey)
    this.stir()
  }

  /** A breaker as it was stored; only at the start. */
  restore(provider: string, state: ProviderBreaker.State, profile: ProfileName): void {
    const place = this.provider(provider)
    place.breaker = state
    place.profile = profile
  }

  readonly check = (target: Target, now: number, ownFailures: OwnFailures | null = null): Unavailable | null => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    return Blocks.blocked(this, target, provider, connection, connection.models.get(target.model), now, false, ownFailures)
  }

  /** The clock was set back by `ms`, and is at `now`. */
  setBack(ms: number, now: number): void {
    for (const places of [this.providers, this.connections, this.bare]) for (const place of places.values()) place.setBack(ms)
    for (const [id, { breaker }] of this.providers) if (breaker.openUntil !== null) this.saved.breaker(id)
    for (const [id, { cooldown }] of this.connections) if (cooldown.until > 0) this.saved.connection(id, cooldown, now)
    this.stir()
  }

  readonly enter = (target: Target, now: number, passesGuesses = false, ownFailures: OwnFailures | null = null): Pass | Unavailable => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    const model = connection.model(target.model, now)
    const blocked = Blocks.blocked(this, target, provider, connection, model, now, passesGuesses, ownFailures)
    if (blocked !== null) return blocked
    const profile = connection.profileFor(target, profileOf)
    provider.profile = profile
    // The usual case: a closed breaker lets every call in, and stays as it is.
    const ticket = provider.breaker.openUntil === null ? ProviderBreaker.ticketOf(provider.breaker, target.model) : this.passBreaker(provider, profile, target.model, now)
    provider.inFlight++
    connection.inFlight++
    this.total++
    model.figures.lastUsedAt = now
    const { executionMs, pace } = this.rulesFor(target, connection)
    if (pace !== null) connection.pace = Pace.started(connection.pace, now)
    if (target.gate !== undefined) this.gates.enter(target.gate)
    const recovery = connection.recovery ?? model.recovery
    if (recovery !== null) recovery.undecided++
    return new HeldPass(this, target, provider, connection, model, profile, ticket, this.slotEra, executionMs, recovery)
  }

  /** What blocks a waiter whose turn it is, and the queue before that. */
  readonly look = (target: Target, now: number): Block | null => {
    const before = this.admitting
    this.admitting = true
    const unavailable = this.check(target, now)
    this.admitting = before
    return unavailable === null ? null : this.blockOf(target, unavailable)
  }

  blockOf(target: Target, { reason, until }: Unavailable): Block {
    const { line } = this.connectionOf(target)
    switch (reason) {
      case "model-busy":
        return { line: gateLine(target.gate?.id ?? ""), until }
      case "model-cooldown":
      case "model-lockout":
        return { line: `${line} ${target.model}`, until }
      // Requests do not wait for a breaker: its refusal carries a Retry-After.
      case "breaker-open":
      case "inactive":
        return { line, until: Number.POSITIVE_INFINITY }
      default:
        return { line, until }
    }
  }

  /** The next calls after this cooldown, of the target's connection or of its model there, are admitted one after another. */
  recovering(target: Target, reason: Unavailable["reason"], now: number): void {
    const connection = this.connectionOf(target)
    const place = reason === "model-cooldown" ? connection.model(target.model, now) : connection
    place.recovery ??= { allowed: 1, undecided: 0 }
  }

  rulesFor(target: Target, connection = this.connectionOf(target)): TargetRules {
    const record = target.connection
    return record === null ? unbounded : connection.rulesFor(record, this.version, this.readRules)
  }

  readonly health = (target: Target, now: number): TargetHealth => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    const figures = connection.models.get(target.model)?.figures
    const breaker = this.effective.breaker[connection.profileFor(target, profileOf)]
    return {
      breaker: ProviderBreaker.phaseFor(provider.breaker, target.model, breaker, now),
      failures: provider.breaker.failures,
      inFlight: connection.inFlight,
      uses: figures?.uses ?? 0,
      lastUsedAt: figures?.lastUsedAt ?? 0,
      latencyP95Ms: figures?.latencyP95() ?? null,
      ttftP50Ms: figures?.ttftP50() ?? null,
      errorRate: figures?.errorRate() ?? null
    }
  }

  /** A probe's first content decides it. */
  answered(pass: HeldPass, now: number): void {
    if (pass.ticket.probe) Outcomes.tellBreaker(pass, "ok", 200, this.effective, this.saved, now)
    if (pass.recovery === null) return
    this.decide(pass, true)
    this.lines.freed(pass.connection.line)
    this.lines.freed(pass.model.line)
  }

  /** The end of a call, exactly once per pass. */
  released(pass: HeldPass, verdict: Verdict | null, now: number, ownFailures: OwnFailures | null): void {
    const { connection, model, provider } = pass
    if (pass.slotEra === this.slotEra) {
      provider.inFlight--
      connection.inFlight--
      this.total--
      if (pass.target.gate !== undefined) this.gates.leave(pass.target.gate.id)
    }
    if (pass.recovery !== null) this.decide(pass, verdict !== null && verdict.ok)
    if (verdict === null) Outcomes.tellBreaker(pass, "neutral", 0, this.effective, this.saved, now)
    else if (verdict.ok) Outcomes.succeeded(pass, verdict, this.effective, this.saved, now)
    else Outcomes.failed(pass, verdict, this.effective, this.saved, now, ownFailures)
    if (this.lines.size === 0) return
    if (provider.max > 0 || this.effective.globalMax > 0) this.lines.freed(null)
    else {
      this.lines.freed(connection.line)
      this.lines.freed(model.line)
      if (pass.target.gate !== undefined) this.lines.freed(gateLine(pass.target.gate.id))
    }
  }

  /** Another node has said it. */
  receiveCooldown({ connectionId, forMs, guessed, level, reason, status, until }: Cooled, now: number): void {
    const record = this.snapshot.connectionById.get(connectionId)
    if (record === undefined) return
    const place = this.connection(connectionId, record, record.provider)
    Rests.overheard(place, forMs, { guessed, reason }, now)
    place.cooldown = Rests.announced(place.cooldown, forMs, { level, reason, status, guessed }, this.effective.cooldown.apikey, now)
    place.announced = forMs === 0 ? null : { until, level, cooldown: place.cooldown, overruled: false }
    if (forMs === 0) this.stir()
  }

  /** Another node has said it. */
  receiveLockout({ connectionId, failures, forMs, model, provider, rest, status, whole }: Locked, now: number): void {
    if (whole === true) {
      const rules = this.effective.providerCooldown
      if (rules !== null && rest !== undefined) Rests.heardOf(this.provider(provider), forMs, { status, ...rest }, rules, now)
      return
    }
    const place = connectionId === null ? this.bareOf(provider) : this.connection(connectionId, null, provider)
    const entry = place.model(model, now)
    if (rest !== undefined) {
      entry.cooldown = Rests.announced(entry.cooldown, forMs, { status, ...rest }, this.effective.cooldown.apikey, now)
      if (forMs === 0) this.stir()
      return
    }
    entry.lockout = ModelLockout.step(entry.lockout, { _tag: "Heard", until: now + forMs, failures, status }, this.effective.lockout, now)[1]
    if (failures === 0) this.stir()
  }

  private decide(pass: HeldPass, ok: boolean): void {
    const { recovery } = pass
    if (recovery === null) return
    pass.recovery = null
    recovery.undecided--
    if (ok) recovery.allowed++
  }

  /** For the writer: what the record of a connection should say. */
  place(connectionId: string): ConnectionPlace | undefined {
    return this.connections.get(connectionId)
  }

  providerPlace(provider: string): ProviderPlace | undefined {
    return this.providers.get(provider)
  }

  breakers(now: number): ReadonlyArray<BreakerView> {
    return Views.breakers(this.providers.values(), this.effective, now)
  }

  cooldowns(now: number): ReadonlyArray<CooldownView> {
    return Views.cooldowns(this.snapshot.connections.map((record) => [record.id, this.connection(record.id, record, record.provider)] as const), now)
  }

  lockouts(now: number): ReadonlyArray<LockoutView> {
    return Views.lockouts(this.providers.values(), [...this.connections.values(), ...this.bare.values()], now)
  }

  places(): ReadonlyArray<PlaceView> {
    return this.snapshot.connections.map((record) => {
      const place = this.connections.get(record.id)
      return Views.placeOf(record.id, place, this.readRules(record).max, place === undefined ? 0 : place.waiting(this.lines))
    })
  }

  /** Models of combos with a cap that are in use. */
  models(): ReadonlyArray<ModelPlaceView> {
    return this.gates.used().map((gate) => ({ ...gate, waiting: this.lines.sizeOf(gateLine(gate.id)) }))
  }

  inFlight(): { readonly total: number; readonly perProvider: Readonly<Record<string, number>> } {
    return Views.inFlight(this.providers.values(), this.total)
  }

  resetBreakers(provider: string | null, now: number): number {
    let count = 0
    for (const place of this.providers.values()) {
      if (provider !== null && place.id !== provider) continue
      place.cooldown = ConnectionCooldown.idle
      const settings = this.effective.breaker[place.profile]
      if (place.breaker.failures === 0 && place.breaker.openUntil === null) continue
      const stored = place.breaker.openUntil !== null
      place.breaker = ProviderBreaker.step(place.breaker, { _tag: "Reset" }, settings, now)[1]
      if (stored) this.saved.breaker(place.id)
      count++
    }
    this.stir()
    return count
  }

  clearLockouts(provider: string | null, model: string | null, connectionId: string | null, now: number): number {
    let count = connectionId === null && (model === null || model === allModels) ? this.clearRests(provider, now) : 0
    for (const place of [...this.connections.values(), ...this.bare.values()]) {
      if ((provider !== null && place.provider !== provider) || (connectionId !== null && place.id !== connectionId)) continue
      count += place.clear(model, now)
    }
    this.stir()
    return count
  }

  /** Ends the rest of one provider, or of all; answers how many ran. */
  private clearRests(provider: string | null, now: number): number {
    let count = 0
    for (const place of this.providers.values()) {
      if (provider !== null && place.id !== provider) continue
      if (now < place.cooldown.until) count++
      place.cooldown = ConnectionCooldown.idle
    }
    return count
  }

  resetPlaces(): void {
    this.slotEra++
    this.total = 0
    for (const places of [this.providers, this.connections, this.bare]) for (const place of places.values()) place.inFlight = 0
    this.gates.clear()
    this.stir()
  }

  private passBreaker(provider: ProviderPlace, profile: ProfileName, model: string, now: number): ProviderBreaker.Ticket {
    const [reply, breaker] = ProviderBreaker.step(provider.breaker, { _tag: "Enter", model }, this.effective.breaker[profile], now)
    provider.breaker = breaker
    // Not blocked, yet refused by the breaker: the request's own failures, or the last resort, let it pass.
    return reply._tag === "Entered" ? reply.ticket : ProviderBreaker.ticketOf(breaker, model)
  }

  private readonly readRules = (record: Connection): TargetRules => rulesOf(record, this.effective)

  private providerMax(provider: string): number {
    const { nodes, perProvider, settings } = this.effective
    return ResilienceSettings.leastCap(perProvider.get(provider), ResilienceSettings.partOf(settings.providerQuotaOverrides[provider]?.providerConcurrency ?? 0, nodes))
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
    return this.bareOf(provider)
  }

  private bareOf(provider: string): ConnectionPlace {
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
      place.cooldown = ConnectionCooldown.step(place.cooldown, { _tag: "Told", ...place.written }, this.effective.cooldown.apikey, 0)[1]
    }
    this.connections.set(id, place)
    return place
  }

  private stir(): void {
    if (this.lines.size > 0) this.lines.freed(null)
  }
}
