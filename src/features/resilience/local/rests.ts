/** What a call leaves in the cooldowns of its model and connection. */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import * as DailyReset from "#actors/resilience/DailyReset.ts"
import * as SoftLockout from "#actors/resilience/SoftLockout.ts"
import type { Unavailable, Verdict } from "#actors/request/ports/Resilience.ts"
import type { HeldPass } from "./HeldPass.ts"
import type { ConnectionPlace, ProviderPlace } from "./places.ts"
import type { Saved } from "./saved.ts"
import { statusText } from "#src/features/resilience/views.ts"

type Hears = Pick<Saved, "connection" | "expired" | "provider" | "rest">

export const succeeded = (pass: HeldPass, settings: ConnectionCooldown.CooldownRules, saved: Hears, now: number): void => {
  const { connection, model, provider } = pass
  if (provider.cooldown !== ConnectionCooldown.idle) {
    toProvider(provider, { _tag: "Succeeded", letIn: provider.cooldown === pass.providerRest }, settings, saved, now)
  }
  if (model.cooldown !== ConnectionCooldown.idle) ofModel(pass, { _tag: "Succeeded", letIn: model.cooldown === pass.modelRest }, settings, saved, now)
  if (connection.cooldown !== ConnectionCooldown.idle) {
    ofConnection(pass, { _tag: "Succeeded", letIn: connection.cooldown === pass.connectionRest }, settings, saved, now)
    if (connection.cooldown === ConnectionCooldown.idle) connection.softLockouts = SoftLockout.none
  }
}

/** A failure rests its model; the connection as a whole when it says so, or when another request failed with another of its models. */
export const failed = (pass: HeldPass, verdict: Verdict, settings: ConnectionCooldown.CooldownRules, saved: Hears, now: number, ownFailures: OwnFailures | null, dailyReset?: DailyReset.DailyReset): void => {
  const rule = resetRule(pass, verdict, dailyReset, now) ?? ConnectionCooldown.ruleOf(verdict)
  if (rule === null) return
  const event: ConnectionCooldown.CooldownEvent = { _tag: "Failed", rule, hintMs: verdict.retryAfterMs, status: verdict.status }
  if (!ConnectionCooldown.isWide(rule, verdict)) {
    const begun = ofModel(pass, event, settings, saved, now)
    if (!begun || !anotherRests(pass, now, ownFailures)) return
  }
  if (ofConnection(pass, event, settings, saved, now)) ownFailures?.began(pass.connection.cooldown)
}

/** The day's quota is spent, and the node says when the next one begins. */
const resetRule = ({ target }: HeldPass, verdict: Verdict, dailyReset: DailyReset.DailyReset | undefined, now: number): ConnectionCooldown.CooldownRule | null =>
  dailyReset !== undefined && DailyReset.isSpent(verdict, target.model)
    ? { reason: "quota_exhausted", pause: "fixed", ms: DailyReset.nextAfter(dailyReset, now) - now, exact: true }
    : null

/** A failure of the provider itself rests all of it, as its setting says. */
export const ofProvider = ({ provider }: HeldPass, status: number, rules: ConnectionCooldown.CooldownRules, saved: Hears, now: number): void =>
  toProvider(provider, { _tag: "Failed", rule: breakdown, hintMs: null, status }, rules, saved, now)

const breakdown: ConnectionCooldown.CooldownRule = { reason: "server_error", pause: "transient" }

const toProvider = (provider: ProviderPlace, event: ConnectionCooldown.CooldownEvent, rules: ConnectionCooldown.CooldownRules, saved: Hears, now: number): void => {
  const [, state, intents] = ConnectionCooldown.step(provider.cooldown, event, rules, now)
  provider.cooldown = state
  if (intents.length > 0) saved.provider(provider.id, state, now)
}

/** Another node has said it of the provider. */
export const heardOf = (
  provider: ProviderPlace, forMs: number, told: Pick<ConnectionCooldown.State, "level" | "reason" | "status" | "guessed">, rules: ConnectionCooldown.CooldownRules, now: number
): void => {
  provider.cooldown = announced(provider.cooldown, forMs, told, rules, now)
}

/** The upstream refused the credential and did not say why: the connection rests, or it did so too often. What fails during a rest says nothing new. */
export const unclear = (pass: HeldPass, { message, status }: Verdict, settings: ConnectionCooldown.CooldownRules, saved: Hears, now: number, ownFailures: OwnFailures | null): void => {
  const { connection } = pass
  if (connection.id === null || now < connection.cooldown.until) return
  const ms = SoftLockout.pauseOf(connection.softLockouts, now)
  if (ms === null) return saved.expired(connection.id, message, now)
  const rule = { reason: "auth_error", pause: "fixed", ms, guessed: true } as const
  if (!ofConnection(pass, { _tag: "Failed", rule, hintMs: null, status }, settings, saved, now)) return
  connection.softLockouts = SoftLockout.begun(connection.softLockouts, now)
  ownFailures?.began(connection.cooldown)
}

/** Another node has begun or ended a rest of the connection. */
export const overheard = (connection: ConnectionPlace, forMs: number, { guessed, reason }: Pick<ConnectionCooldown.State, "guessed" | "reason">, now: number): void => {
  if (forMs === 0) connection.softLockouts = SoftLockout.none
  else if (guessed && reason === "auth_error" && now >= connection.cooldown.until) connection.softLockouts = SoftLockout.begun(connection.softLockouts, now)
}

/** Another model of the connection rests, and not because this request failed with it. */
const anotherRests = ({ connection, model, target }: HeldPass, now: number, ownFailures: OwnFailures | null): boolean => {
  for (const [name, other] of connection.models) {
    if (other !== model && now < other.cooldown.until && ownFailures?.has(target, name) !== true) return true
  }
  return false
}

/** Answers whether the event began a rest, or made it longer. */
const ofModel = ({ connection, model, target }: HeldPass, event: ConnectionCooldown.CooldownEvent, settings: ConnectionCooldown.CooldownRules, saved: Hears, now: number): boolean => {
  const [pauseMs, state, intents] = ConnectionCooldown.step(model.cooldown, event, settings, now)
  model.cooldown = state
  // It was not well yet: afterwards one goes first again.
  if (pauseMs > 0 && model.recovery !== null) model.recovery.allowed = 1
  if (intents.length > 0) saved.rest(connection, target.model, state, now)
  return pauseMs > 0
}

const ofConnection = ({ connection }: HeldPass, event: ConnectionCooldown.CooldownEvent, settings: ConnectionCooldown.CooldownRules, saved: Hears, now: number): boolean => {
  const [pauseMs, state, intents] = ConnectionCooldown.step(connection.cooldown, event, settings, now)
  connection.cooldown = state
  if (pauseMs > 0 && connection.recovery !== null) connection.recovery.allowed = 1
  if (intents.length > 0 && connection.id !== null) saved.connection(connection.id, state, now)
  return pauseMs > 0
}

/** After an announcement of another node; `forMs` 0 = it has recovered. */
export const announced = (
  state: ConnectionCooldown.State, forMs: number, told: Pick<ConnectionCooldown.State, "level" | "reason" | "status" | "guessed">, settings: ConnectionCooldown.CooldownRules, now: number
): ConnectionCooldown.State => ConnectionCooldown.step(state, forMs === 0 ? { _tag: "HeardWell" } : { _tag: "Heard", until: now + forMs, ...told }, settings, now)[1]

export const providerBlockOf = ({ reason: why, status, until }: ConnectionCooldown.State): Unavailable =>
  ({ reason: "connection-cooldown", until, detail: `The provider rests: ${why} (${statusText(status)})`, soft: true })

export const blockOf = (reason: "connection-cooldown" | "model-cooldown", { guessed: soft, reason: why, status, until }: ConnectionCooldown.State): Unavailable =>
  ({ reason, until, detail: `${why} (${statusText(status)})`, soft })
