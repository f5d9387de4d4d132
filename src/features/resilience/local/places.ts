/** What is remembered of providers, connections and models: plain mutable records, one per noun, bounded by configuration. */
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import * as Pace from "#actors/resilience/Pace.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import * as SoftLockout from "#actors/resilience/SoftLockout.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import { Figures } from "#src/features/resilience/Figures.ts"
import type { Lines } from "./lines.ts"
import { type TargetRules, unbounded } from "./rules.ts"

/** A record that says nearly this says this: two nodes have written it, each by its own clock, ms. */
const NEAR_MS = 1_000

/** Models remembered per connection: their names may come from clients. */
const rememberedModels = 512

/** A smaller step of the clock prolongs nothing by more than itself, ms. */
const STEP_MS = 60_000

/**
 * A clock that is set back must not prolong what rests. The ends of cooldowns, lockouts and open breakers are moments, because they are
 * stored and shown as such: they move with the clock (`setBack` of each place).
 */
export class ClockSteps {
  /** The latest time that was seen, ms since the epoch. */
  #latest = 0

  /** Something began. */
  note(now: number): void {
    if (now > this.#latest) this.#latest = now
  }

  /** How far the clock was set back since it was seen last, ms; 0 = it goes on. */
  stepOf(now: number): number {
    const step = this.#latest - now
    if (step > 0 && step < STEP_MS) return 0
    this.#latest = now
    return Math.max(0, step)
  }
}

export class ModelPlace {
  /** The queue before it. */
  readonly line: string
  cooldown: ConnectionCooldown.State = ConnectionCooldown.idle
  lockout: ModelLockout.State | null = null
  /** Null unless a request waits for the end of its cooldown. */
  recovery: CooldownRecovery | null = null
  readonly figures = new Figures()

  constructor(line: string) {
    this.line = line
  }

  setBack(ms: number): void {
    this.cooldown = ConnectionCooldown.earlier(this.cooldown, ms)
    if (this.lockout !== null) this.lockout = ModelLockout.earlier(this.lockout, ms)
  }

  /** It rests or is locked. */
  isHeldBack(now: number): boolean {
    return now < this.cooldown.until || (this.lockout !== null && now < this.lockout.until)
  }

  /** Others wait for the end of its cooldown, or one of them tries whether it is over. `admitting`: one of them asks. */
  behind(lines: Pick<Lines, "sizeOf">, admitting: boolean, now: number): Unavailable | null {
    const { recovery } = this
    if (recovery === null) return null
    const waiting = lines.sizeOf(this.line)
    if (waiting === 0) {
      this.recovery = null
      return null
    }
    if (!admitting) return { reason: "model-cooldown", until: now, detail: `The model comes back from a cooldown, and ${waiting} calls wait for it.` }
    return recovery.undecided < recovery.allowed ? null : { reason: "model-cooldown", until: null, detail: "The model's first calls after a cooldown are not answered yet." }
  }
}

export class ProviderPlace {
  readonly id: string
  breaker: ProviderBreaker.State = ProviderBreaker.fresh
  profile: ProfileName = "apikey"
  /** Always a guess, and idle unless the setting providerCooldown is enabled. */
  cooldown: ConnectionCooldown.State = ConnectionCooldown.idle
  inFlight = 0
  /** Calls at once; 0 = no cap. */
  max = 0

  constructor(id: string) {
    this.id = id
  }

  setBack(ms: number): void {
    this.cooldown = ConnectionCooldown.earlier(this.cooldown, ms)
    this.breaker = ProviderBreaker.earlier(this.breaker, ms)
  }
}

/**
 * Recovery of a connection, or of a model on it, after a cooldown while calls wait for it: one call is admitted, and every answer
 * allows one more at once, so that the waiting calls do not all arrive together.
 */
export interface CooldownRecovery {
  /** Calls that may be undecided at once. */
  allowed: number
  undecided: number
}

/** `until` and `level` are what the record will say; `cooldown` is what it means here, with its reason. */
export interface AnnouncedCooldown {
  readonly until: number
  readonly level: number
  readonly cooldown: ConnectionCooldown.State
  /** A record that was written before it has come after it, and ended it here. */
  overruled: boolean
}

export class ConnectionPlace {
  /** Null for the calls of a provider without credentials. */
  readonly id: string | null
  readonly provider: string
  /** The queue before it. */
  readonly line: string
  cooldown: ConnectionCooldown.State = ConnectionCooldown.idle
  /** After unclear refusals of the credential, while flag AMBIGUOUS_401_SOFT_LOCKOUT is on. */
  softLockouts: SoftLockout.State = SoftLockout.none
  /** What the record says, as far as this node knows. */
  written: { readonly until: number; readonly level: number } = { until: 0, level: 0 }
  /** A cooldown that another node has announced and will write there; null = nothing. */
  announced: AnnouncedCooldown | null = null
  /** What `cooldown` says began or ended here, and is not written yet: newer than the record. */
  unwritten = false
  inFlight = 0
  pace: Pace.State = Pace.idle
  /** Null unless a request waits for the end of a cooldown. */
  recovery: CooldownRecovery | null = null
  readonly models = new Map<string, ModelPlace>()
  private origin = ""
  private profile: ProfileName = "apikey"
  private ruledFor: Connection | null = null
  private ruledAt = -1
  private rules = unbounded

  constructor(id: string | null, provider: string) {
    this.id = id
    this.provider = provider
    this.line = id === null ? `provider ${provider}` : `connection ${id}`
  }

  setBack(ms: number): void {
    this.cooldown = ConnectionCooldown.earlier(this.cooldown, ms)
    for (const model of this.models.values()) model.setBack(ms)
  }

  /** `profileOf` once per origin: it reads a URL. */
  profileFor(target: Target, read: (target: Target) => ProfileName): ProfileName {
    if (this.origin !== target.origin) {
      this.origin = target.origin
      this.profile = read(target)
    }
    return this.profile
  }

  /** The record says something new: it is believed, unless this node knows better. */
  told(stored: { readonly until: number; readonly level: number }, rules: ConnectionCooldown.CooldownRules): void {
    if (stored.until === this.written.until && stored.level === this.written.level) return
    const { announced: heard, cooldown } = this
    // It began after this record was written, and the record will say it soon.
    if (this.unwritten && stored.until < cooldown.until) return
    this.written = stored
    // Known already, with its reason, which the record does not hold.
    if (heard !== null && stored.until === heard.until && stored.level === heard.level) {
      if (heard.overruled) this.cooldown = heard.cooldown
      heard.overruled = false
      return
    }
    if (stored.until !== 0 && stored.level === cooldown.level && Math.abs(stored.until - cooldown.until) <= NEAR_MS) return
    if (heard !== null) heard.overruled = cooldown === heard.cooldown
    this.cooldown = ConnectionCooldown.step(cooldown, { _tag: "Told", ...stored }, rules, 0)[1]
  }

  /** The rules once per record and settings version. */
  rulesFor(connection: Connection, version: number, read: (connection: Connection) => TargetRules): TargetRules {
    if (this.ruledFor !== connection || this.ruledAt !== version) {
      this.ruledFor = connection
      this.ruledAt = version
      this.rules = read(connection)
    }
    return this.rules
  }

  model(name: string, now: number): ModelPlace {
    const known = this.models.get(name)
    if (known !== undefined) return known
    if (this.models.size >= rememberedModels) this.forgetOne(now)
    const place = new ModelPlace(`${this.line} ${name}`)
    this.models.set(name, place)
    return place
  }

  /** How many wait for it or for one of its models. */
  waiting(lines: Pick<Lines, "sizeOf">): number {
    let count = lines.sizeOf(this.line)
    for (const { line } of this.models.values()) count += lines.sizeOf(line)
    return count
  }

  /** Forgets rests and lockouts of one model, or of all (null); answers how many ran. */
  clear(model: string | null, now: number): number {
    let count = 0
    for (const [name, place] of this.models) {
      if (model !== null && name !== model) continue
      if (place.isHeldBack(now)) count++
      place.cooldown = ConnectionCooldown.idle
      place.lockout = null
    }
    return count
  }

  /** The oldest that is not held back; when all are, the oldest. */
  private forgetOne(now: number): void {
    for (const [name, place] of this.models) {
      if (place.isHeldBack(now)) continue
      this.models.delete(name)
      return
    }
    this.models.delete(this.models.keys().next().value as string)
  }
}

/** What a record says about its cooldown; unreadable times read as none. */
export const storedCooldown = (connection: Connection): { readonly until: number; readonly level: number } => {
  const at = connection.rateLimitedUntil === null ? 0 : Date.parse(connection.rateLimitedUntil)
  return { until: Number.isNaN(at) ? 0 : at, level: Math.max(0, connection.backoffLevel) }
}
