/** The gateway as the tools of one MCP session see it: their calls are counted for the session, within the bound that it set. */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { type Inner, type Json, ToolFailure } from "#src/management/inner/Inner.ts"
import * as BudgetGuard from "./budgetGuard.ts"
import type { McpSessions } from "./ports/McpSessions.ts"
import type { ToolInner } from "./tools/Tool.ts"

export interface SessionInner extends ToolInner {
  /** How the bound stands, where calls of this tool cost something and not much is left; else null. */
  readonly told: () => Json
}

const unread = ({ message }: StoreError): ToolFailure => new ToolFailure({ code: "sessions_unavailable", message: `The session's budget cannot be read: ${message}` })
const noSession = new ToolFailure({ code: "no_session", message: "A budget guard belongs to a session: send initialize, and then the header Mcp-Session-Id" })

const costOf = (said: string | null): number => {
  const cost = Number(said ?? 0)
  return Number.isFinite(cost) && cost > 0 ? cost : 0
}

/** `session`: its id; undefined for calls of a protocol version without sessions. */
export const make = (sessions: McpSessions["Service"], inner: Inner, session: string | undefined): SessionInner => {
  if (session === undefined) {
    return { ...inner, told: () => null, budget: { state: Effect.succeed(null), set: () => Effect.fail(noSession) } }
  }
  let last: Json = null
  const read = Effect.mapError(sessions.budget(session), unread)
  const note = Effect.map(read, (budget) => {
    const { guard, spent } = budget
    last = guard === null || BudgetGuard.statusOf(guard, spent) === "active" ? null : BudgetGuard.viewOf(session, budget)
  })
  const infer: Inner["infer"] = (path, body, headers) => Effect.gen(function*() {
    const plan = BudgetGuard.planOf(yield* read, path, body)
    if (plan._tag === "Refuse") return yield* new ToolFailure({ code: "budget_exceeded", message: plan.message })
    const said = yield* inner.infer(path, plan.body, { ...headers, ...plan.headers })
    const cost = costOf(said.header("x-gateway-response-cost"))
    // The answer is there and paid: what cannot be counted does not take it away.
    yield* Effect.andThen(cost === 0 ? Effect.void : sessions.spend(session, cost), note).pipe(
      Effect.catch((error) => Effect.logWarning("the cost of an MCP session's call was not counted", error))
    )
    return said
  })
  return {
    ...inner, infer, told: () => last,
    budget: {
      state: Effect.map(read, (budget) => BudgetGuard.viewOf(session, budget)),
      set: (guard) => Effect.andThen(Effect.mapError(sessions.guard(session, guard), unread), Effect.map(read, (budget) => BudgetGuard.viewOf(session, { ...budget, guard })))
    }
  }
}
