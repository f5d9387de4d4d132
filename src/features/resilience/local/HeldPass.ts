/** One place in use: given back once, whatever happens. */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import type * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import type { Pass, Verdict } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import type { ConnectionPlace, ModelPlace, ProviderPlace, CooldownRecovery } from "./places.ts"

/** Where places are counted. */
export interface Keeper {
  readonly answered: (pass: HeldPass, now: number) => void
  readonly released: (pass: HeldPass, verdict: Verdict | null, now: number, ownFailures: OwnFailures | null) => void
}

export class HeldPass implements Pass {
  readonly target: Target
  readonly provider: ProviderPlace
  readonly connection: ConnectionPlace
  readonly model: ModelPlace
  readonly profile: ProfileName
  readonly ticket: ProviderBreaker.Ticket
  readonly slotEra: number
  readonly executionMs: number
  /** The cooldowns of its provider, connection and model when it was let in. */
  readonly providerRest: ConnectionCooldown.State
  readonly connectionRest: ConnectionCooldown.State
  readonly modelRest: ConnectionCooldown.State
  /** The recovery of its connection or model that it is a probe of; null once it is decided, and usually. */
  recovery: CooldownRecovery | null
  private readonly keeper: Keeper
  private held = true

  constructor(
    keeper: Keeper, target: Target, provider: ProviderPlace, connection: ConnectionPlace, model: ModelPlace, profile: ProfileName,
    ticket: ProviderBreaker.Ticket, slotEra: number, executionMs: number, recovery: CooldownRecovery | null
  ) {
    this.keeper = keeper
    this.target = target
    this.provider = provider
    this.connection = connection
    this.model = model
    this.profile = profile
    this.ticket = ticket
    this.slotEra = slotEra
    this.executionMs = executionMs
    this.recovery = recovery
    this.providerRest = provider.cooldown
    this.connectionRest = connection.cooldown
    this.modelRest = model.cooldown
  }

  answered(now: number): void {
    if (this.held) this.keeper.answered(this, now)
  }

  release(verdict: Verdict | null, now: number, ownFailures: OwnFailures | null = null): void {
    if (!this.held) return
    this.held = false
    this.keeper.released(this, verdict, now, ownFailures)
  }
}
