/** What a draft would do: the router's answer after each change, and past requests on demand. */
import type { UseQueryResult } from "@tanstack/react-query"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { count, duration, money } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { Failure, Skeleton } from "../../parts/Feedback.tsx"
import { Head } from "../../parts/Table.tsx"
import { Button } from "../../parts/Button.tsx"
import { Targets } from "./Targets.tsx"

export type DraftBody = Body<"POST /api/combos/explain">["combo"]
type Plan = Answer<"POST /api/routing/explain">
type Tested = Answer<"POST /api/combos/simulate">

export const DryRun = ({ plan }: { readonly plan: UseQueryResult<Plan> }) => (
  <section aria-label="Dry run" className="stack-tight">
    <h3>Dry run</h3>
    {plan.error === null ? plan.data === undefined ? <p className="small muted">A name and a step are all it needs. Nothing is sent.</p> : <div className={plan.isPlaceholderData ? "stale" : undefined}><Targets plan={plan.data} /></div> : <Failure what="This draft would be refused" error={plan.error} />}
  </section>
)

const Sums = ({ tested: { actual, draft, from, requests, targets, to } }: { readonly tested: Tested }) => (
  <div className="stack-tight">
    <p className="small muted">{requests === 0 ? "Nobody asked for this name in the last seven days." : `The last ${count(requests)} requests, ${exact(from)} to ${exact(to)}. No provider was asked.`}</p>
    {requests === 0 ? null : (
      <>
        <table className="table" aria-label="Back test">
          <Head of={["\u00a0", ">As it was", ">Under this draft"]} />
          <tbody>
            <tr><th scope="row">Answered</th><td className="end">{count(actual.answered)}</td><td className="end">{count(draft.answered)}</td></tr>
            <tr><th scope="row">Cost</th><td className="end">{money(actual.costUsd)}</td><td className="end">{draft.assumed + draft.unmeasured > 0 ? "≈ " : ""}{money(draft.costUsd)}</td></tr>
            <tr><th scope="row">p50</th><td className="end">{duration(actual.p50Ms)}</td><td className="end">{draft.assumed > 0 ? "≈ " : ""}{duration(draft.p50Ms)}</td></tr>
            <tr><th scope="row">p95</th><td className="end">{duration(actual.p95Ms)}</td><td className="end">{draft.assumed > 0 ? "≈ " : ""}{duration(draft.p95Ms)}</td></tr>
            {targets.map((target) => <tr key={`${target.provider} ${target.model}`}><th scope="row" className="cut">{target.provider}/{target.model}</th><td className="end">{count(target.actual)}</td><td className="end">{count(target.draft)}</td></tr>)}
          </tbody>
        </table>
        <p className="small muted">
          {`${count(draft.measured)} answers were measured`}
          {draft.assumed === 0 ? "" : `, ${count(draft.assumed)} are assumed from other answers of the same model`}
          {draft.unmeasured === 0 ? "" : `, ${count(draft.unmeasured)} are by models that never answered here`}
          {draft.refused === 0 ? "" : `, ${count(draft.refused)} requests would go nowhere`}
          {draft.unpriced === 0 ? "." : `; ${count(draft.unpriced)} have no price and count as free.`}
        </p>
      </>
    )}
  </div>
)

export const BackTest = ({ body }: { readonly body: DraftBody | null }) => {
  const test = useChange("POST /api/combos/simulate", [])
  return (
    <section aria-label="Back test" className="stack-tight">
      <div className="row-wide">
        <h3>Back test</h3>
        <Button kind="small" disabled={body === null || test.isPending} onClick={() => body === null ? undefined : test.mutate({ body: { combo: body } })}>{test.isPending ? "Testing" : "Test on past requests"}</Button>
      </div>
      <Failure what="The past requests were not tested" error={test.error} />
      {test.data === undefined ? test.isPending ? <Skeleton rows={3} /> : <p className="small muted">The last 1,000 requests of this name under this draft.</p> : <Sums tested={test.data} />}
    </section>
  )
}
