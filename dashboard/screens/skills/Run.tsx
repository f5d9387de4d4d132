/** Runs a skill in its sandbox, in the name of a key, and shows what came out. */
import { useState } from "react"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange } from "../../api/query.ts"
import { duration } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, choicesOf, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { Button } from "../../parts/Button.tsx"
import { type Execution, fullName, jsonOf, type Skill, states } from "./words.ts"

export const Outcome = ({ execution }: { readonly execution: Execution }) => (
  <section className="stack-tight" aria-label="Outcome">
    <p role="status"><Status {...states[execution.status]} /> <span className="small muted number">{duration(execution.durationMs)}</span></p>
    {execution.errorMessage === null ? null : <p className="wrap">{execution.errorMessage}</p>}
    {execution.status === "success" ? <pre className="well well-scroll" tabIndex={0} aria-label="Output">{JSON.stringify(execution.output, null, 2)}</pre> : null}
  </section>
)

export const Run = ({ onClose, skill }: { readonly skill: Skill; readonly onClose: () => void }) => {
  const keys = useEveryKey().data ?? []
  const [chosen, setKey] = useState(skill.apiKeyId ?? "")
  const [input, setInput] = useState("{}")
  const [session, setSession] = useState("")
  const run = useChange("POST /api/skills/executions", ["GET /api/skills/executions"])
  const value = jsonOf(input)
  const key = chosen === "" ? keys[0]?.id ?? "" : chosen
  const go = (): void => {
    if (value !== undefined) run.mutate({ body: { skillName: fullName(skill), apiKeyId: key, input: value, ...(session === "" ? {} : { sessionId: session }) } })
  }
  return (
    <Dialog title={`Run ${fullName(skill)}`} onClose={onClose} onSubmit={go}>
      <div className="grid-fields">
        {keys.length === 0 ? <p className="small muted">It runs in the name of a key: make one first.</p> : <SelectField label="In the name of" value={key} choices={choicesOf(keys)} onChange={setKey} wrong={wrongWith(run.error, "apiKeyId")} />}
        <TextField label="Session" value={session} onChange={setSession} hint="Empty: none" wrong={wrongWith(run.error, "sessionId")} />
      </div>
      <AreaField label="Input, JSON" value={input} onChange={setInput} wrong={value === undefined ? "This is no JSON" : wrongWith(run.error, "input")} />
      <Failure what="It did not run" error={run.error} />
      {run.data === undefined || run.error !== null ? null : <Outcome execution={run.data.execution} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" kind="primary" disabled={run.isPending || value === undefined || key === ""}>{run.isPending ? "Running" : "Run it"}</Button>
      </div>
    </Dialog>
  )
}
