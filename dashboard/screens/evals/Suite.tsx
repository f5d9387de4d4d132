/** A suite: its cases, each with a question, what is expected of the answer, and the model that is asked when a run names none. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Theirs, useTheirs } from "../../parts/edit/Theirs.tsx"
import { Button } from "../../parts/Button.tsx"
import type { EvalSuite } from "./Evals.tsx"

type Case = EvalSuite["cases"][number]

interface Draft {
  readonly key: number
  readonly name: string
  readonly question: string
  readonly strategy: Case["expected"]["strategy"]
  readonly value: string
  readonly model: string
  /** What the form does not show: id, tags, earlier messages, tokens. */
  readonly kept: Case | null
}

const strategies = [{ value: "contains", word: "has the text" }, { value: "exact", word: "is the text" }, { value: "regex", word: "fits the pattern" }] as const

let keys = 0
const draftOf = (one: Case | null): Draft => ({
  key: ++keys, name: one?.name ?? "", question: one?.input.messages.at(-1)?.content ?? "", strategy: one?.expected.strategy ?? "contains", value: one?.expected.value ?? "", model: one?.model ?? "", kept: one
})

const caseOf = ({ kept, model, name, question, strategy, value }: Draft) => {
  const last = kept?.input.messages.at(-1)
  return {
    ...(kept === null ? {} : { id: kept.id, tags: kept.tags }), name, model: model === "" ? null : model, expected: { strategy, value },
    input: { ...kept?.input, messages: [...(kept?.input.messages.slice(0, -1) ?? []), { role: last?.role ?? "user", content: question }] }
  }
}

export const Suite = ({ onClose, suite }: { readonly suite: EvalSuite | null; readonly onClose: () => void }) => {
  const isFixed = suite?.builtIn === true
  const [name, setName] = useState(suite?.name ?? "")
  const [description, setDescription] = useState(suite?.description ?? "")
  const [cases, setCases] = useState<ReadonlyArray<Draft>>(() => suite === null ? [draftOf(null)] : suite.cases.map(draftOf))
  const create = useChange("POST /api/evals/suites", ["GET /api/evals"], onClose, { said: "The suite is stored." })
  const update = useChange("PUT /api/evals/suites/:id", ["GET /api/evals"], onClose, {
    said: "The suite is changed.",
    undo: () => suite === null ? null : () => call("PUT /api/evals/suites/:id", { params: { id: suite.id }, body: { name: suite.name, description: suite.description, cases: suite.cases } })
  })
  const theirs = useTheirs(async () => suite === null ? {} : { ...(await call("GET /api/evals/suites/:id", { params: { id: suite.id } })).suite }, { ...suite })
  const error = create.error ?? update.error
  const change = (key: number, part: Partial<Draft>): void => setCases(cases.map((one) => one.key === key ? { ...one, ...part } : one))
  const save = (): void => {
    const body = { name, description: description === "" ? null : description, cases: cases.map(caseOf) }
    if (suite === null) create.mutate({ body })
    else void theirs.save(body, () => update.mutate({ params: { id: suite.id }, body }))
  }
  return (
    <Dialog title={suite === null ? "New suite" : isFixed ? suite.name : `Edit ${suite.name}`} wide onClose={onClose} {...(isFixed ? {} : { onSubmit: save })}>
      {isFixed ? <p className="muted">It is built in and cannot be changed.</p> : (
        <div className="grid-fields">
          <TextField label="Name" value={name} onChange={setName} required wrong={wrongWith(error, "name")} />
          <TextField label="Description" value={description} onChange={setDescription} wrong={wrongWith(error, "description")} />
        </div>
      )}
      <ol className="stack">
        {cases.map((one, index) => (
          <li key={one.key} className="well stack-tight">
            <div className="row-wide">
              <strong>Case {index + 1}</strong>
              {isFixed ? null : <Button kind="small quiet" disabled={cases.length === 1} onClick={() => setCases(cases.filter(({ key }) => key !== one.key))} aria-label={`Remove case ${index + 1}`}>Remove</Button>}
            </div>
            {isFixed ? <p className="wrap">{one.name}: “{one.question}” The answer {strategies.find(({ value }) => value === one.strategy)?.word} <code>{one.value}</code></p> : (
              <>
                <div className="grid-fields">
                  <TextField label={`Name of case ${index + 1}`} value={one.name} onChange={(value) => change(one.key, { name: value })} required wrong={wrongWith(error, `cases.${index}.name`)} />
                  <TextField label={`Model of case ${index + 1}`} value={one.model} onChange={(value) => change(one.key, { model: value })} hint="Asked when a run names no target" wrong={wrongWith(error, `cases.${index}.model`)} />
                </div>
                <AreaField label={`Question of case ${index + 1}`} rows={2} value={one.question} onChange={(value) => change(one.key, { question: value })} wrong={wrongWith(error, `cases.${index}.input`)} />
                <div className="grid-fields">
                  <SelectField label={`Its answer is right when it, case ${index + 1}`} value={one.strategy} choices={strategies} onChange={(value) => change(one.key, { strategy: strategies.find((each) => each.value === value)?.value ?? "contains" })} />
                  <TextField label={`Expected in case ${index + 1}`} value={one.value} onChange={(value) => change(one.key, { value })} required wrong={wrongWith(error, `cases.${index}.expected`)} />
                </div>
              </>
            )}
          </li>
        ))}
      </ol>
      {isFixed ? null : <div className="row"><Button kind="small" onClick={() => setCases([...cases, draftOf(null)])}><Icon name="plus" size={16} />Add a case</Button></div>}
      <Theirs clashes={theirs.clashes} />
      <Failure what="The suite was not stored" error={error} />
      {isFixed ? null : (
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={create.isPending || update.isPending || theirs.isBusy || name === ""}>{theirs.clashes.length > 0 ? "Save mine" : "Save"}</Button>
        </div>
      )}
    </Dialog>
  )
}
