/**
 * The `Resilience` of one node as plain memory: every answer is a few look-ups, and nothing here waits. What must outlive the
 * process is passed to `saved`, which the service writes off the hot path.
 */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import type { Cooled, Locked } from "#src/features/resilience/ports/CooldownFeed.ts"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { type Pass, stricter, type TargetHealth, type Unavailable, type Verdict } from "#actors/request/ports/Resilience.ts"
import type { BreakerView, CooldownView, LockoutView, ModelPlaceView, PlaceView } from "#src/features/resilience/ports/ResilienceControl.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import * as Pace from "#actors/resilience/Pace.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import type { Block } from "#actors/resilience/WaitQueue.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import { Gates, lineOf as gateLine } from "./Gates.ts"
import { HeldPass, type Keeper } from "./HeldPass.ts"
import { isTerminal } from "#src/features/resilience/ports/marks.ts"
import type { Lines } from "./lines.ts"
import { ConnectionPlace, type ModelPlace, ProviderPlace, storedCooldown } from "./places.ts"
import { profileOf } from "#src/features/resilience/profile.ts"
import { type TargetRules, rulesOf, unbounded } from "./rules.ts"
import * as Rests from "./rests.ts"
import type { Saved } from "./saved.ts"
import * as Effective from "#src/features/resilience/ports/resilienceSettings.ts"
import * as Views from "#src/features/resilience/views.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** A record that says nearly this says this: two nodes have written it, each by its own clock, ms. */
const NEAR_MS = 1_000

/** What is read of a snapshot. */
export type View = Pick<Snapshot, "connections" | "connectionById" | "settings">

const { statusText } = Views

const noLines: Lines = { size: 0, sizeOf: () => 0, freed: () => {} }

export class Tables implements Keeper {
  effective: Effective.Effective
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
  private readonly gates = new Gates()
  private readonly outside: Effective.Outside
  private total = 0
  private slotEra = 0

  constructor(snapshot: View, saved: Saved, outside: Effective.Outside = Effective.nothingOutside) {
    this.saved = saved
    this.outside = outside
    this.snapshot = snapshot
    this.effective = Effective.of(snapshot, outside)
  }

  /** A new snapshot: settings apply at once, and a record that says something new about its cooldown is believed. */
  configured(snapshot: View): void {
    this.snapshot = snapshot
    this.effective = Effective.of(snapshot, this.outside)
    this.version++
    for (const place of this.providers.values()) place.max = this.providerMax(place.id)
    for (const [id, place] of this.connections) {
      const record = snapshot.connectionById.get(id)
      if (record === undefined) {
        this.connections.delete(id)
        continue
      }
      const stored = storedCooldown(record)
      if (stored.until === place.written.until && stored.level === place.written.level) continue
      place.written = stored
      // Known already, with its reason, which the record does not hold.
      const { cooldown, announced: heard } = place
      if (heard !== null && stored.until === heard.until && stored.level === heard.level) continue
      if (stored.until !== 0 && stored.level === cooldown.level && Math.abs(stored.until - cooldown.until) <= NEAR_MS) continue
      place.cooldown = ConnectionCooldown.step(place.cooldown, { _tag: "Told", ...stored }, this.effective.cooldown.apikey, 0)[1]
    }
    // A raised cap frees places without a release.
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
    return this.blocked(target, provider, connection, connection.models.get(target.model), now, false, ownFailures)
  }

  readonly enter = (target: Target, now: number, lastResort = false, ownFailures: OwnFailures | null = null): Pass | Unavailable => {
    const provider = this.provider(target.provider)
    const connection = this.connectionOf(target)
    const model = connection.model(target.model, now)
    const blocked = this.blocked(target, provider, connection, model, now, lastResort, ownFailures)
    if (blocked !== null) return blocked
    const profile = connection.profileFor(target, profileOf)
    provider.profile = profile
    const [reply, breaker] = ProviderBreaker.step(provider.breaker, { _tag: "Enter", model: target.model }, this.effective.breaker[profile], now)
    // What was not blocked and is refused has its excuse.
    const ticket = reply._tag === "Entered" ? reply.ticket : ProviderBreaker.ticketOf(provider.breaker, target.model)
    provider.breaker = breaker
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
    if (pass.ticket.probe) this.tellBreaker(pass, "ok", 200, now)
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
    if (verdict === null) this.tellBreaker(pass, "neutral", 0, now)
    else if (verdict.ok) {
      model.figures.ok(verdict.latencyMs, verdict.ttftMs)
      this.tellBreaker(pass, "ok", verdict.status, now)
      Rests.succeeded(pass, this.effective.cooldown[pass.profile], this.saved, now)
      if (model.lockout !== null) this.tellLockout(pass, { _tag: "Succeeded" }, now)
    } else {
      const { network, status } = verdict
      // The request's own fault is no failure of the target.
      if (StatusReason.isRequests(status)) model.figures.neutral()
      else model.figures.fail()
      const counts = ProviderBreaker.counts(status, network)
      const first = ownFailures === null || ownFailures.failed(pass.target, counts)
      // One request counts once; a probe decides for any sender.
      this.tellBreaker(pass, counts && (first || pass.ticket.probe) ? "failed" : "neutral", status, now)
      if (pass.target.connection?.providerSpecificData["disableCooling"] !== true) {
        Rests.failed(pass, verdict, this.effective.cooldown[pass.profile], this.saved, now, ownFailures)
      }
      this.tellLockout(pass, { _tag: "Failed", status }, now)
    }
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
    place.announced = forMs === 0 ? null : { until, level }
    place.cooldown = Rests.announced(place.cooldown, forMs, { level, reason, status, guessed }, this.effective.cooldown.apikey, now)
    if (forMs === 0) this.stir()
  }

  /** Another node has said it. */
  receiveLockout({ connectionId, failures, forMs, model, provider, rest, status }: Locked, now: number): void {
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
    return Views.lockouts([...this.connections.values(), ...this.bare.values()], now)
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
    let count = 0
    for (const places of [this.connections, this.bare]) {
      for (const place of places.values()) {
        if ((provider !== null && place.provider !== provider) || (connectionId !== null && place.id !== connectionId)) continue
        count += place.clear(model, now)
      }
    }
    this.stir()
    return count
  }

  resetPlaces(): void {
    this.slotEra++
    this.total = 0
    for (const place of this.providers.values()) place.inFlight = 0
    for (const places of [this.connections, this.bare]) for (const place of places.values()) place.inFlight = 0
    this.gates.clear()
    this.stir()
  }

  private tellBreaker(pass: HeldPass, result: "ok" | "failed" | "neutral", status: number, now: number): void {
    const { profile, provider, ticket } = pass
    // The usual case: a closed breaker without failures records a success.
    if (provider.breaker.failures === 0 && provider.breaker.openUntil === null && result !== "failed") return
    const [, state, intents] = ProviderBreaker.step(provider.breaker, { _tag: "Ended", ticket, result, status }, this.effective.breaker[profile], now)
    provider.breaker = state
    if (intents.length > 0) this.saved.breaker(provider.id)
  }

  private tellLockout({ connection, model, target }: HeldPass, event: ModelLockout.LockoutEvent, now: number): void {
    const [, state] = ModelLockout.step(model.lockout, event, this.effective.lockout, now)
    if (state === model.lockout) return
    model.lockout = state
    this.saved.lockout(connection, target.model, state, now)
  }

  /** All mechanisms are asked: what hides behind a guess, or ends later than another block, is what refuses in the end. */
  private blocked(
    target: Target, provider: ProviderPlace, connection: ConnectionPlace, model: ModelPlace | undefined, now: number, lastResort: boolean,
    ownFailures: OwnFailures | null
  ): Unavailable | null {
    const record = target.connection
    if (record !== null && (!record.isActive || isTerminal(record))) {
      return { reason: "inactive", until: null, detail: record.isActive ? `The connection is ${record.testStatus}.` : "The connection is switched off." }
    }
    let resting = provider.breaker.openUntil === null || ownFailures?.excusesBreaker(target) === true
      ? null
      : this.refused(provider, ProviderBreaker.refusalOf(provider.breaker, target.model, now))
    const { cooldown } = connection
    if (now < cooldown.until && !(lastResort && cooldown.guessed) && ownFailures?.excusesRest(target, cooldown) !== true) {
      resting = stricter(resting, Rests.blockOf("connection-cooldown", cooldown))
    }
    if (model !== undefined && now < model.cooldown.until && !(lastResort && model.cooldown.guessed)) {
      resting = stricter(resting, Rests.blockOf("model-cooldown", model.cooldown))
    }
    const lockout = model?.lockout ?? null
    // A lockout that the operator asked for stands; the one after a 404 is a guess.
    const soft = !this.effective.lockout.enabled
    if (lockout !== null && now < lockout.until && !(lastResort && soft)) {
      const detail = `Locked after ${statusText(lockout.status)}, failures: ${lockout.failures}.`
      resting = stricter(resting, { reason: "model-lockout", until: lockout.until, soft, detail })
    }
    if (resting !== null && resting.soft !== true) return resting
    return this.behind(target, connection, now) ?? model?.behind(this.lines, this.admitting, now) ?? this.full(target, provider, connection, now) ?? resting
  }

  /** Others wait for the same: there is no overtaking. */
  private behind(target: Target, connection: ConnectionPlace, now: number): Unavailable | null {
    const waiting = this.lines.size === 0 ? 0 : this.lines.sizeOf(connection.line)
    if (waiting === 0) {
      connection.recovery = null
      return null
    }
    const { recovery } = connection
    if (recovery !== null) {
      if (!this.admitting) return { reason: "connection-cooldown", until: now, detail: `It comes back from a cooldown, and ${waiting} calls wait for it.` }
      return recovery.undecided >= recovery.allowed ? busy("Its first calls after a cooldown are not answered yet.") : null
    }
    if (this.admitting) return null
    const { pace } = this.rulesFor(target, connection)
    const until = pace === null ? null : Pace.opensAt(connection.pace, pace, now) + Math.ceil(waiting * Pace.intervalOf(pace))
    return busy(`${waiting} calls wait for the connection.`, until)
  }

  /** Caps and pacing. */
  private full(target: Target, provider: ProviderPlace, connection: ConnectionPlace, now: number): Unavailable | null {
    const { max, pace } = this.rulesFor(target, connection)
    if (max > 0 && connection.inFlight >= max) return busy(`${max} calls at once are allowed on the connection.`)
    if (pace !== null) {
      const until = Pace.opensAt(connection.pace, pace, now)
      if (until > now) return busy(`${pace.perMinute > 0 ? `${pace.perMinute} calls a minute` : `A call every ${pace.gapMs} ms`} may begin on the connection.`, until)
    }
    if (provider.max > 0 && provider.inFlight >= provider.max) return busy(`${provider.max} calls at once are allowed at the provider.`)
    const { globalMax } = this.effective
    if (globalMax > 0 && this.total >= globalMax) return busy(`${globalMax} calls at once are allowed on this node.`)
    const { gate } = target
    if (gate === undefined || !this.gates.isFull(gate)) return null
    return { reason: "model-busy", until: null, detail: `${gate.max} calls at once are allowed on the model in this combo.` }
  }

  private refused(provider: ProviderPlace, reply: Extract<ProviderBreaker.BreakerReply, { readonly _tag: "Refused" }> | null): Unavailable | null {
    if (reply === null) return null
    const { failures, lastStatus } = provider.breaker
    return { reason: reply.reason, until: reply.until, detail: `Failures in a row: ${failures}, the last: ${statusText(lastStatus)}.` }
  }

  private readonly readRules = (record: Connection): TargetRules => rulesOf(record, this.effective)

  private providerMax(provider: string): number {
    const { nodes, perProvider, settings } = this.effective
    return Effective.leastCap(perProvider.get(provider), Effective.partOf(settings.providerQuotaOverrides[provider]?.providerConcurrency ?? 0, nodes))
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

const busy = (detail: string, until: number | null = null): Unavailable => ({ reason: "connection-busy", until, detail })
