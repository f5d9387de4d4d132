/** The error when no target of a model is free: the reason, and when to retry. Pure. */
import * as Errors from "#schemas/errors.ts"
import { type ErrorCode, PublicError } from "#schemas/errors.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { Order, Skipped } from "#src/routing/models/candidate.ts"
import { isAutomatic } from "#src/routing/auto/combo.ts"
import type { RefusedStep } from "#src/routing/combos/expand.ts"
import * as Wording from "#src/wire/contextWindow/wording.ts"

/** What a plan without a free target was made of. */
export interface EmptyPool {
  readonly skipped: ReadonlyArray<Skipped>
  /** Steps of the combo that gave no target. */
  readonly refused: ReadonlyArray<RefusedStep>
  /** Null for a single model. */
  readonly combo: Combo | null
  /** What the key may not use, for operators. */
  readonly forbidden?: ReadonlyArray<Skipped>
}

/** No target may be called at this moment; some of them may be waited for. */
export class Blocked extends PublicError {
  readonly pool: EmptyPool
  constructor({ code, extra, message, retryAfterSeconds, status, type }: PublicError, pool: EmptyPool) {
    super(code, status, type, message, retryAfterSeconds, extra)
    this.pool = pool
  }

  get skipped(): ReadonlyArray<Skipped> {
    return this.pool.skipped
  }

  /** The targets are those of a combo. */
  get combo(): boolean {
    return this.pool.combo !== null
  }
}

const forbiddenCode: ErrorCode = "insufficient_permissions"
const blockedCode: ErrorCode = "provider_blocked"
/** Targets that diagnostics name. */
const maxExcluded = 64
/** Retry-After when the end is unknown, s. */
const unknownWait = 1

/** Seconds until the first of them may be called again, at least 1; null when unknown. */
const secondsUntil = (skipped: ReadonlyArray<Skipped>, now: number): number | null => {
  let earliest: number | null = null
  for (const { unavailable: { until } } of skipped) if (until !== null && (earliest === null || until < earliest)) earliest = until
  return earliest === null ? null : Math.max(1, Math.ceil((earliest - now) / 1000))
}

/** Every target is busy, or cools down beside a busy one. */
const isBusy = (skipped: ReadonlyArray<Skipped>): boolean =>
  all(skipped, "connection-busy", "model-busy", "connection-cooldown", "model-cooldown", "model-lockout", "breaker-open", "breaker-probing", "quota-exhausted") &&
  skipped.some(({ unavailable: { reason } }) => reason === "connection-busy" || reason === "model-busy")

/** Targets that are too small for the prompt whenever they are free. */
const isOverflow = ({ unavailable }: Skipped): boolean => "overflow" in unavailable && unavailable.overflow !== undefined

/** The largest window, when the prompt fits none of those that could be asked; null while some other target is left. */
export const tooLong = (face: CallFormat, pool: EmptyPool): Blocked | null => {
  const left = pool.skipped.filter(({ unavailable: { reason } }) => reason !== "not-allowed")
  if (left.length === 0 || !left.every(isOverflow)) return null
  let [tokens, window] = [0, 0]
  for (const { unavailable } of left) {
    if (!("overflow" in unavailable) || unavailable.overflow === undefined || unavailable.overflow.window < window) continue
    tokens = unavailable.overflow.tokens
    window = unavailable.overflow.window
  }
  return new Blocked(Wording.refusal(face, tokens, window, pool.combo === null ? {} : { diagnostics: diagnosticsOf(pool) }), pool)
}

/** Targets whose model lacks what the request cannot do without, whenever they are free. */
const isIncapable = ({ unavailable }: Skipped): boolean => "missing" in unavailable && unavailable.missing !== undefined

const isUnfit = (one: Skipped): boolean => isOverflow(one) || isIncapable(one)

/** What the targets lack, when none of those that could be asked will ever serve the request; null while some other target is left. */
export const incapable = (pool: EmptyPool): Blocked | null => {
  const left = pool.skipped.filter(({ unavailable: { reason } }) => reason !== "not-allowed")
  if (!left.some(isIncapable) || !left.every(isUnfit)) return null
  const found = new Set(left.flatMap(({ unavailable }) => "missing" in unavailable && unavailable.missing !== undefined ? [...unavailable.missing] : ["context_window"]))
  const missing = ["vision", "tools", "structured_output", "audio", "context_window"].filter((name) => found.has(name))
  const of = pool.combo === null ? `Model '${left[0]?.candidate.target.publicModel ?? ""}' cannot` : `No target of combo '${pool.combo.name}' can`
  return new Blocked(Errors.make("capability_unsupported", `${of} serve this request: it lacks ${missing.join(", ")} (flag CAPABILITY_FILTER_ENABLED).`, {
    extra: { missing: missing[0], allMissing: missing, ...(pool.combo === null ? {} : { diagnostics: diagnosticsOf(pool) }) }
  }), pool)
}

const all = (skipped: ReadonlyArray<Skipped>, ...reasons: ReadonlyArray<string>): boolean =>
  skipped.length > 0 && skipped.every(({ unavailable }) => reasons.includes(unavailable.reason))

/**
 * What diagnostics say of steps that gave no target: a combo that is asked for by reference is its own provider. A client does
 * not see what its key may not use.
 */
export const withoutTarget = (refused: ReadonlyArray<RefusedStep>) => refused.filter(({ error }) => error.code !== forbiddenCode).map(({ asked, error }) => ({
  provider: asked.includes("/") ? asked.slice(0, asked.indexOf("/")) : "combo",
  model: asked,
  reason: error.code === "ALL_ACCOUNTS_INACTIVE" ? "inactive" : error.code
}))

/** Nothing is left that the key may use. */
export const forbidden = (refusal: PublicError, pool: Omit<EmptyPool, "skipped">): Blocked => new Blocked(refusal, { ...pool, skipped: [] })

/** What diagnostics say of a pool of which no target was asked. */
export const diagnosticsOf = ({ refused, skipped }: Pick<EmptyPool, "skipped" | "refused">) => ({
  poolSize: skipped.length + refused.length,
  attempted: 0,
  excluded: [
    ...skipped.map(({ candidate: { target }, unavailable }) => ({
      provider: target.providerAlias,
      model: target.publicModel,
      reason: unavailable.reason,
      until: unavailable.until === null ? null : new Date(unavailable.until).toISOString()
    })),
    ...withoutTarget(refused).map((step) => ({ ...step, until: null }))
  ].slice(0, maxExcluded),
  attemptOrder: [],
  terminalReason: "no_target_available"
})

/** For a single model: every connection of one provider is left out. */
export const errorOf = (model: string, skipped: ReadonlyArray<Skipped>, now: number): Blocked =>
  new Blocked(singleError(model, skipped, now), { skipped, refused: [], combo: null })

const singleError = (model: string, skipped: ReadonlyArray<Skipped>, now: number): PublicError => {
  const seconds = secondsUntil(skipped, now)
  const retryAfterSeconds = seconds ?? unknownWait
  const provider = skipped[0]?.candidate.target.providerAlias ?? ""
  if (all(skipped, "breaker-open", "breaker-probing")) {
    return Errors.make("provider_circuit_open", `Provider ${provider} failed too often and rests; it is tried again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds, extra: { provider, retry_after: retryAfterSeconds }
    })
  }
  if (all(skipped, "connection-cooldown", "model-cooldown", "model-lockout", "breaker-open", "breaker-probing", "quota-exhausted")) {
    return cooling(model, skipped, retryAfterSeconds)
  }
  if (isBusy(skipped)) {
    return Errors.make("rate_limit_exceeded", `Every connection that serves '${model.slice(0, 200)}' is at its limit of calls.`, { retryAfterSeconds })
  }
  return inactive(`No connection that serves '${model.slice(0, 200)}' may be used now.`, { skipped, refused: [] }, seconds)
}

const cooling = (model: string, skipped: ReadonlyArray<Skipped>, retryAfterSeconds: number): PublicError => {
  const name = model.slice(0, 200)
  const why = all(skipped, "quota-exhausted") ? "has used up its quota" : "is cooling down"
  return Errors.make("model_cooldown", `Every connection that serves '${name}' ${why}; the first is back in ${retryAfterSeconds} s.`, {
    retryAfterSeconds, extra: { model: name, reset_seconds: retryAfterSeconds, retry_after: retryAfterSeconds, credentials_cooling: skipped.length }
  })
}

const inactive = (message: string, pool: Pick<EmptyPool, "skipped" | "refused">, seconds: number | null): PublicError =>
  Errors.make("ALL_ACCOUNTS_INACTIVE", message, {
    ...(seconds === null ? {} : { retryAfterSeconds: seconds }),
    extra: {
      diagnostics: diagnosticsOf(pool),
      recovery_hint: seconds === null
        ? { action: "switch-combo", retry_after_seconds: null, next_step: "Ask for another model, or look at GET /api/combos and GET /api/resilience." }
        : { action: "wait", retry_after_seconds: Math.min(3_600, seconds), next_step: `Repeat the request in ${seconds} s.` }
    }
  })

type ComboPool = EmptyPool & { readonly combo: Combo }

/** For a combo. */
export const errorOfCombo = (pool: ComboPool, now: number): Blocked => forbiddenCombo(pool) ?? blockedCombo(pool) ?? new Blocked(comboError(pool, now), pool)

/** Waiting does not help where every step names a provider that the operator blocked; null for all other pools. */
const blockedCombo = (pool: ComboPool): Blocked | null => {
  const { combo, refused, skipped } = pool
  const [first] = refused
  if (first === undefined || skipped.length > 0 || refused.some(({ error }) => error.code !== blockedCode)) return null
  return new Blocked(Errors.make(blockedCode, isAutomatic(combo) ? first.error.message : inactiveText(combo, skipped, refused)), pool)
}

/** Null while something is left that may be waited for, or nothing was taken away. */
export const forbiddenCombo = (pool: ComboPool): Blocked | null =>
  pool.forbidden !== undefined && pool.forbidden.length > 0 && pool.skipped.every(({ unavailable: { reason } }) => reason === "not-allowed")
    ? forbidden(Errors.make(forbiddenCode, `This API key may not use any model of the combo '${pool.combo.name}'.`), pool)
    : null

const comboError = ({ combo, refused, skipped }: EmptyPool & { readonly combo: Combo }, now: number): PublicError => {
  const { name } = combo
  const able = skipped.some(isUnfit) ? skipped.filter((one) => !isUnfit(one)) : skipped
  if (isBusy(able)) {
    return Errors.make("rate_limit_exceeded", `Every target of combo '${name}' is at its limit of calls.`, { retryAfterSeconds: secondsUntil(skipped, now) ?? unknownWait })
  }
  // The quota of every target is used up: that is a rate limit, whose end is known.
  if (all(able, "quota-exhausted")) return cooling(name, able, secondsUntil(skipped, now) ?? unknownWait)
  return inactive(inactiveText(combo, skipped, refused), { skipped, refused }, secondsUntil(skipped, now))
}

/** Names what would give the combo a target, where it has none. */
const inactiveText = (combo: Combo, skipped: ReadonlyArray<Skipped>, refused: ReadonlyArray<RefusedStep>): string => {
  const [first] = refused
  if (skipped.length > 0) return `Every target of combo '${combo.name}' is inactive or excluded.`
  if (first !== undefined) return `Combo '${combo.name}' has no usable target: ${first.error.message}`
  return isAutomatic(combo)
    ? `Automatic routing '${combo.name}' has no target: it asks active connections whose model is known; activate one, or set its defaultModel (PUT /api/providers/{id}).`
    : `Combo '${combo.name}' has no steps: add one to its models (PUT /api/combos/{id}).`
}

/** A strict budget that no target meets. */
export const overBudget = (name: string): PublicError =>
  Errors.make("payment_required", `Every target of '${name}' costs more than the request's budget.`)

/** When every target is blocked and some by our own guess only, those are asked: a guess must not refuse a whole model. */
export const lastResort = <Of extends object>(order: Order, of: Of) => {
  const soft = order.skipped.filter(isSoft).map(({ candidate }) => candidate)
  return soft.length === 0
    ? null
    : { ...of, lastResort: true, order: { ...order, order: soft, skipped: order.skipped.filter((one) => !isSoft(one)) }, targets: soft.map(({ target }) => target) }
}

const isSoft = ({ unavailable }: Skipped): boolean => "soft" in unavailable && unavailable.soft === true
