/** A plan: whom the router would ask, in which order, and who is left out until when. */
import type { Answer } from "../../api/contract.ts"
import { Status } from "../../parts/Status.tsx"
import { Countdown } from "../../parts/Time.tsx"

type Target = Answer<"POST /api/routing/explain">["targets"][number]

/** A target's model may carry its provider already. */
const nameOf = ({ model, provider }: Target): string => model.startsWith(`${provider}/`) ? model : `${provider}/${model}`

export const Targets = ({ plan }: { readonly plan: Answer<"POST /api/routing/explain"> }) => (
  <div className="stack">
    {plan.error === null ? null : <p className="failure wrap">Nobody would be asked: {plan.error.message}</p>}
    <p className="small muted">Strategy {plan.strategy}{plan.combo === null ? "" : `, combo ${plan.combo}`}{plan.lastResort ? "; every target is blocked, and would be tried as a last resort" : ""}</p>
    <ol className="stack-tight" aria-label="Targets">
      {plan.targets.map((target) => (
        <li key={`${target.target}${target.position ?? ""}`} className="row wrap">
          {target.skipped === null ? <Status tone="ok" shape={String(target.position ?? "")} word={nameOf(target)} /> : (
            <>
              <Status tone="skip" word={nameOf(target)} />
              <span className="small">{target.skipped.detail === "" ? target.skipped.reason : target.skipped.detail}</span>
              {target.skipped.until === null ? null : <span className="small muted">for <Countdown until={target.skipped.until} /></span>}
            </>
          )}
        </li>
      ))}
    </ol>
  </div>
)
