/** The gateway as the tools of one MCP session see it: their calls are counted for the session, within the bound that it set. */
import * as Deferred from "effect/Deferred"
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

/** Longest wait for the end of a request whose caller has its answer, or had left. */
const endsWithin = "5 seconds"

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
  /** The call is paid: what cannot be counted does not take its answer away. */
  const count = (cost: number) => Effect.andThen(cost === 0 ? Effect.void : sessions.spend(session, cost), note).pipe(
    Effect.catch((error) => Effect.logWarning("the cost of an MCP session's call was not counted", error))
  )
  const infer: Inner["infer"] = (path, body, headers) => Effect.gen(function*() {
    const plan = BudgetGuard.planOf(yield* read, path, body)
    if (plan._tag === "Refuse") return yield* new ToolFailure({ code: "budget_exceeded", message: plan.message })
    const bill = yield* Deferred.make<number>()
    const failed = Effect.flatMap(
      Effect.timeoutOrElse(Deferred.await(bill), { duration: endsWithin, orElse: () => Effect.as(Effect.logWarning("an MCP session's failed call did not end"), 0) }), count
    )
    const said = yield* inner.infer(path, plan.body, { ...headers, ...plan.headers }, (costUsd) => Deferred.doneUnsafe(bill, Effect.succeed(costUsd))).pipe(
      // A call that failed, or was given up, may have cost something, too.
      Effect.onError(() => Effect.interruptible(failed))
    )
    yield* count(costOf(said.header("x-gateway-response-cost")))
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
