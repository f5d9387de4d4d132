/** The error for a request over a limit: which limit, how much of it is used, and when to retry. Pure. */
import { type AmountRule, type RateRule, unitsPerUsd } from "#actors/limits/rules.ts"
import { secondsUntil } from "#actors/limits/window.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"

const shown = (rule: AmountRule, amount: number): string =>
  rule.kind === "tokens" ? `${amount} tokens` : `${(amount / unitsPerUsd).toFixed(6)} USD`

const nameOf = (rule: AmountRule): string => {
  switch (rule.quota) {
    case "budget":
      return `${rule.window.interval} budget`
    case "daily_usd":
    case "weekly_usd":
      return `${rule.window.interval} USD limit`
    case "token_limit":
    case "rate_limit":
      return `${rule.window.interval} token limit (${rule.scope})`
  }
}

/** `short`: the rest is held by calls in flight or a silent node, so the next second may bring it back. */
export const ofAmount = (rule: AmountRule, reason: "exhausted" | "short", used: number, end: number, now: number): PublicError => {
  const code = rule.kind === "tokens" ? "token_limit_exceeded" : "budget_exceeded"
  const extra = { scope: rule.scope, limit: rule.kind === "tokens" ? rule.limit : rule.limit / unitsPerUsd, resets_at: new Date(end).toISOString() }
  const which = `The ${nameOf(rule)} of this API key`
  return reason === "exhausted"
    ? Errors.make(code, `${which} is used up: ${shown(rule, used)} of ${shown(rule, rule.limit)}. It begins anew at ${extra.resets_at}.`, {
      retryAfterSeconds: secondsUntil(end, now), extra
    })
    : Errors.make(code, `What is left of the ${nameOf(rule)} of this API key (${shown(rule, used)} of ${shown(rule, rule.limit)} used) is reserved by calls in flight, or held by a node that fell silent. Try again when they have ended.`, {
      retryAfterSeconds: 1, extra
    })
}

/** The refusal of a request above the key's rate. */
export const ofRate = (rule: RateRule, waitMs: number): PublicError =>
  Errors.make("rate_limit_exceeded", `This API key may make ${rule.limit} requests in ${rule.windowMs / 1_000} seconds.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000))
  })

/** The refusal of a session above the key's number of sessions. */
export const ofSessions = (limit: number, idleMs: number): PublicError =>
  Errors.make("rate_limit_exceeded", `This API key may have ${limit} sessions at once; a session is over when it made no request for ${idleMs / 1_000} seconds.`, {
    retryAfterSeconds: Math.ceil(idleMs / 1_000)
  })

/** The limits of a key cannot be read: its requests are refused, because limits fail closed. */
export const unavailable = (): PublicError =>
  Errors.make("service_unavailable", "The limits of this API key cannot be checked at the moment.", { retryAfterSeconds: 1 })
