/** What a key may cost per day, week and month. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { money } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button } from "../../parts/Button.tsx"

type BudgetRow = Extract<Answer<"GET /api/usage/budget">, { readonly budgets: unknown }>["budgets"][number]

const textOf = (limit: number | undefined): string => limit === undefined || limit === 0 ? "" : String(limit)

export const Budget = ({ budget, keyId, name, onClose }: { readonly keyId: string; readonly name: string; readonly budget: BudgetRow | null; readonly onClose: () => void }) => {
  const [daily, setDaily] = useState(textOf(budget?.dailyLimitUsd))
  const [weekly, setWeekly] = useState(textOf(budget?.weeklyLimitUsd))
  const [monthly, setMonthly] = useState(textOf(budget?.monthlyLimitUsd))
  const before = budget !== null && budget.activeLimitUsd > 0 ? budget : null
  const back = () => before === null
    ? () => call("DELETE /api/usage/budget", { query: { apiKeyId: keyId } })
    : () => call("POST /api/usage/budget", {
        body: {
          apiKeyId: keyId, dailyLimitUsd: before.dailyLimitUsd, weeklyLimitUsd: before.weeklyLimitUsd, monthlyLimitUsd: before.monthlyLimitUsd, warningThreshold: before.warningThreshold,
          resetInterval: before.resetInterval, resetTime: before.resetTime
        }
      })
  const save = useChange("POST /api/usage/budget", ["GET /api/usage/budget"], onClose, { said: "The budget is set.", undo: back })
  const remove = useChange("DELETE /api/usage/budget", ["GET /api/usage/budget"], onClose, { said: "The budget is taken away.", undo: back })
  const limits = { dailyLimitUsd: Number(daily), weeklyLimitUsd: Number(weekly), monthlyLimitUsd: Number(monthly) }
  return (
    <Dialog title={`Budget of ${name}`} onClose={onClose} onSubmit={() => save.mutate({ body: { apiKeyId: keyId, ...limits } })}>
      {budget === null || budget.activeLimitUsd === 0 ? <p className="muted">Each limit holds over its own period. An empty field sets none.</p> : (
        <dl className="pairs">
          <dt>Spent today</dt><dd className="number">{money(budget.totalCostToday)}</dd>
          <dt>Spent this month</dt><dd className="number">{money(budget.totalCostMonth)}</dd>
          <dt>Held by running requests</dt><dd className="number">{money(budget.budgetCheck.reservedUsd)}</dd>
          <dt>Starts anew in</dt><dd><Countdown until={budget.nextResetAt} /></dd>
        </dl>
      )}
      <div className="grid-fields">
        <TextField label="Dollars a day" type="number" value={daily} onChange={setDaily} placeholder="no limit" autoFocus wrong={wrongWith(save.error, "dailyLimitUsd")} />
        <TextField label="Dollars a week" type="number" value={weekly} onChange={setWeekly} placeholder="no limit" wrong={wrongWith(save.error, "weeklyLimitUsd")} />
        <TextField label="Dollars a month" type="number" value={monthly} onChange={setMonthly} placeholder="no limit" wrong={wrongWith(save.error, "monthlyLimitUsd")} />
      </div>
      <Submit failed="The budget was not changed" of={[save, remove]} isOff={Object.values(limits).every((limit) => limit === 0 || Number.isNaN(limit))} extra={budget === null ? null : <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate({ query: { apiKeyId: keyId } })}>Take the budget away</Button>} />
    </Dialog>
  )
}
