/** What is remembered of providers, connections and models: plain mutable records, one per noun, bounded by configuration. */
import type { Target } from "#actors/ports/Target.ts"
import * as Cooldown from "#actors/ConnectionCooldown.ts"
import type * as Lockout from "#actors/ModelLockout.ts"
import * as Pace from "#actors/Pace.ts"
import * as Breaker from "#actors/ProviderBreaker.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import { Figures } from "./Figures.ts"
import { type Rules, unbounded } from "./rules.ts"

/** Models remembered per connection: their names may come from clients. */
const rememberedModels = 512

export class ModelPlace {
  lockout: Lockout.State | null = null
  readonly figures = new Figures()
}

export class ProviderPlace {
  readonly id: string
  breaker: Breaker.State = Breaker.fresh
  profile: ProfileName = "apikey"
  inFlight = 0
  /** Calls at once; 0 = no cap. */
  max = 0

  constructor(id: string) {
    this.id = id
  }
}

/**
 * A connection that comes back from a cooldown while calls wait for it: one is let go, and every answer allows one more at once, so
 * that those who waited do not all arrive together.
 */
export interface Recovery {
  /** Calls that may be undecided at once. */
  allowed: number
  undecided: number
}

export class ConnectionPlace {
  /** Null for the calls of a provider without credentials. */
  readonly id: string | null
  readonly provider: string
  /** The line of those who wait for it. */
  readonly line: string
  cooldown: Cooldown.State = Cooldown.idle
  /** What the record says, as far as this node knows. */
  written: { readonly until: number; readonly level: number } = { until: 0, level: 0 }
  /** What another node will write there, and has told already; null = nothing. */
  heard: { readonly until: number; readonly level: number } | null = null
  inFlight = 0
  pace: Pace.State = Pace.idle
  /** Null unless somebody waits for the end of a cooldown. */
  recovery: Recovery | null = null
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

  /** `profileOf` once per origin: it reads a URL. */
  profileFor(target: Target, read: (target: Target) => ProfileName): ProfileName {
    if (this.origin !== target.origin) {
      this.origin = target.origin
      this.profile = read(target)
    }
    return this.profile
  }

  /** The rules once per record and settings version. */
  rulesFor(connection: Connection, version: number, read: (connection: Connection) => Rules): Rules {
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
    const place = new ModelPlace()
    this.models.set(name, place)
    return place
  }

  /** The oldest that is not locked; when all are, the oldest. */
  private forgetOne(now: number): void {
    for (const [name, place] of this.models) {
      if (place.lockout !== null && now < place.lockout.until) continue
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
