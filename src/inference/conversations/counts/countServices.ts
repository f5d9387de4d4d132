/** The services of the request actor of a token count: one call, and when that fails the client is given an estimate, not the error. */
import type { Verdict } from "#actors/request/ports/Resilience.ts"
import type { Services } from "#actors/request/services.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** A count that takes longer than this is estimated, ms. */
const withinMs = 10_000
const heard = (verdict: Verdict | null): Verdict | null => verdict !== null && isHeard(verdict.status) ? verdict : null

/** A server that has no counter says nothing about its models by it. */
const isHeard = (status: number): boolean => !StatusReason.isMissing(status)

/** Without turns: a count waits in no line. */
export const of = ({ turns: _turns, ...services }: Services): Services => {
  const { ledger, limits, report, resilience, telemetry } = services
  return {
    ...services,
    limits: { ...limits, maxAttempts: 1, timeouts: { connect: withinMs, headers: withinMs, firstEvent: 0, idle: withinMs, total: withinMs } },
    ledger: {
      open: (start, opening) => ledger.open(start, opening),
      settle: (row) => ledger.settle(row.outcome === "completed" ? row : { ...row, final: false }),
      journal: () => ledger.journal(),
      reconciliation: () => ledger.reconciliation(),
      flush: (timeout) => ledger.flush(timeout)
    },
    telemetry: {
      requestStarted: (endpoint, stream) => telemetry.requestStarted(endpoint, stream),
      attemptSettled: (row) => telemetry.attemptSettled(row.outcome === "completed" ? row : { ...row, final: false }),
      requestSettled: (summary) =>
        telemetry.requestSettled(summary.outcome === "client-abort" ? summary : { ...summary, status: 200, outcome: "completed", errorCode: null }),
      render: () => telemetry.render()
    },
    resilience: {
      check: (target, now) => resilience.check(target, now),
      spent: resilience.spent,
      enter: (target, now, lastResort) => {
        const place = resilience.enter(target, now, lastResort)
        return "release" in place ? { answered: (at) => place.answered(at), release: (verdict, at) => place.release(heard(verdict), at) } : place
      }
    },
    report: (target, end) => {
      if (isHeard(end.upstreamStatus)) report(target, end)
    }
  }
}
