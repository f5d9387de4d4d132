/** A bound on what the calls of one MCP session cost: how it stands, and what becomes of a call beyond it. Pure. */
import * as Schema from "effect/Schema"
import type { Json } from "#src/management/inner/Inner.ts"

const MAX_COST = 1_000_000

export const BudgetGuard = Schema.Struct({
  /** USD of all calls of the session that cost something. */
  maxCost: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(MAX_COST)),
  /** What becomes of a call once as much is spent. */
  action: Schema.Literals(["degrade", "block", "alert"]),
  /** Which models `degrade` asks; absent: cheap ones. */
  degradeToTier: Schema.optionalKey(Schema.Literals(["cheap", "free"]))
})
export interface BudgetGuard extends Schema.Schema.Type<typeof BudgetGuard> {}

export interface SessionBudget {
  /** Null until one is set. */
  readonly guard: BudgetGuard | null
  /** USD since the session began. */
  readonly spent: number
}

/** Share of the budget from which on its results say how it stands. */
const WARNING_SHARE = 0.8

export type Status = "active" | "warning" | "exceeded"

export const statusOf = ({ maxCost }: BudgetGuard, spent: number): Status =>
  spent >= maxCost ? "exceeded" : spent >= maxCost * WARNING_SHARE ? "warning" : "active"

/** As tools answer it; null without a guard. */
export const viewOf = (sessionId: string, { guard, spent }: SessionBudget): { readonly [name: string]: Json } | null => guard === null ? null : {
  sessionId, budgetTotal: guard.maxCost, budgetSpent: spent, budgetRemaining: Math.max(0, guard.maxCost - spent), action: guard.action, status: statusOf(guard, spent)
}

const CHAT = "/v1/chat/completions"

/** Where no model is free, automatic routing asks any other: a budget below every price forbids that. */
const nothing: Readonly<Record<string, string>> = { "x-gateway-budget": "0.000000000001", "x-gateway-budget-fallback": "strict" }

export type Plan =
  | { readonly _tag: "Pass"; readonly body: Json; readonly headers: Readonly<Record<string, string>> }
  | { readonly _tag: "Refuse"; readonly message: string }

/** What becomes of a call: only a chat can be asked of another model. */
export const planOf = ({ guard, spent }: SessionBudget, path: string, body: Json): Plan => {
  const pass: Plan = { _tag: "Pass", body, headers: {} }
  if (guard === null || guard.action === "alert" || statusOf(guard, spent) !== "exceeded") return pass
  if (guard.action === "block" || path !== CHAT) {
    return { _tag: "Refuse", message: `The session's budget of ${guard.maxCost} USD is spent (${spent.toFixed(6)} USD); gateway_set_budget_guard with a larger maxCost goes on` }
  }
  const tier = guard.degradeToTier ?? "cheap"
  return { _tag: "Pass", body: { ...body as { readonly [name: string]: Json }, model: `auto/chat:${tier}` }, headers: tier === "free" ? nothing : {} }
}
