/** Builds a combo: its steps in order, its strategy, and beside it whom the router would ask. */
import { useId, useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { strategies } from "./strategies.ts"

export type Combo = Answer<"GET /api/combos">["combos"][number]
type Step = Combo["models"][number]

/** A step as the form holds it; `kept` are the fields that the form does not show. */
interface Draft {
  readonly key: number
  readonly name: string
  readonly weight: string
  readonly kept: Step | null
}

const nameOf = (step: Step): string => step.kind === "combo-ref" ? step.comboName : step.provider === null || step.model.startsWith(`${step.provider}/`) ? step.model : `${step.provider}/${step.model}`

const stepOf = ({ kept, name, weight }: Draft, combos: ReadonlySet<string>) => {
  // A step whose name was not changed keeps what the form does not show: connection, prompt, label, tags.
  if (kept !== null && nameOf(kept) === name) return { ...kept, weight: Number(weight) }
  if (combos.has(name)) return { kind: "combo-ref" as const, comboName: name, weight: Number(weight) }
  return { kind: "model" as const, model: name, weight: Number(weight) }
}

let keys = 0
const draftOf = (step: Step | null): Draft => ({ key: ++keys, name: step === null ? "" : nameOf(step), weight: String(step?.weight ?? 1), kept: step })

export const Editor = ({ combo, onClose }: { readonly combo: Combo | null; readonly onClose: () => void }) => {
  const options = useRead("GET /api/combos/builder/options")
  const [name, setName] = useState(combo?.name ?? "")
  const [description, setDescription] = useState(combo?.description ?? "")
  const [strategy, setStrategy] = useState<string>(combo?.strategy ?? "priority")
  const [steps, setSteps] = useState<ReadonlyArray<Draft>>(() => combo === null ? [draftOf(null)] : combo.models.map(draftOf))
  const [said, setSaid] = useState("")
  const list = useId()
  const create = useChange("POST /api/combos", ["GET /api/combos"], onClose)
  const update = useChange("PUT /api/combos/:id", ["GET /api/combos"], onClose)
  const error = create.error ?? update.error
  const known = options.data?.strategies ?? ["priority"]
  const combos = new Set((options.data?.combos ?? []).map((other) => other.name).filter((other) => other !== combo?.name))
  const models = (options.data?.providers ?? []).flatMap((provider) => provider.models.map((model) => `${provider.id}/${model.id}`))
  const change = (index: number, part: Partial<Draft>): void => setSteps(steps.map((step, at) => at === index ? { ...step, ...part } : step))
  const move = (index: number, by: -1 | 1): void => {
    const step = steps[index]
    const other = steps[index + by]
    if (step === undefined || other === undefined) return
    setSteps(steps.map((each, at) => at === index ? other : at === index + by ? step : each))
    setSaid(`${step.name} is now step ${index + by + 1}`)
  }
  const save = (): void => {
    const chosen = known.find((each) => each === strategy) ?? "priority"
    const body = { name, description, strategy: chosen, models: steps.filter((step) => step.name !== "").map((step) => stepOf(step, combos)) }
    if (combo === null) create.mutate({ body })
    else update.mutate({ params: { id: combo.id }, body })
  }
  return (
    <Dialog title={combo === null ? "New combo" : `Edit ${combo.name}`} wide onClose={onClose} onSubmit={save}>
      <div className="grid-fields">
        <TextField label="Name" value={name} onChange={setName} required hint="Clients ask for it as a model" wrong={wrongWith(error, "name")} />
        <TextField label="Description" value={description} onChange={setDescription} wrong={wrongWith(error, "description")} />
      </div>
      <SelectField label="Strategy" value={strategy} choices={known.map((value) => ({ value, word: value }))} onChange={setStrategy} hint={strategies[strategy] ?? ""} wrong={wrongWith(error, "strategy")} />
      <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
        <legend className="label">Steps</legend>
        <ol className="stack-tight">
          {steps.map((step, index) => (
            // Alt and an arrow key move the step whose field has the focus.
            <li key={step.key} className="row" style={{ flexWrap: "nowrap" }}>
              <input
                className="input" aria-label={`Step ${index + 1}`} value={step.name} list={list} placeholder="provider/model, or a combo" autoComplete="off" spellCheck={false} onChange={(event) => change(index, { name: event.currentTarget.value })}
                onKeyDown={(event) => {
                  if (!event.altKey || event.key !== "ArrowUp" && event.key !== "ArrowDown") return
                  event.preventDefault()
                  move(index, event.key === "ArrowUp" ? -1 : 1)
                }}
              />
              {strategy === "weighted" ? <input className="input" style={{ width: "5rem" }} type="number" min={0} max={100} aria-label={`Weight of step ${index + 1}`} value={step.weight} onChange={(event) => change(index, { weight: event.currentTarget.value })} /> : null}
              <button type="button" className="button button-icon button-quiet" aria-label={`Move step ${index + 1} up`} disabled={index === 0} onClick={() => move(index, -1)}><Icon name="up" size={16} /></button>
              <button type="button" className="button button-icon button-quiet" aria-label={`Move step ${index + 1} down`} disabled={index === steps.length - 1} onClick={() => move(index, 1)}><Icon name="down" size={16} /></button>
              <button type="button" className="button button-icon button-quiet" aria-label={`Remove step ${index + 1}`} onClick={() => setSteps(steps.filter((each) => each.key !== step.key))}><Icon name="close" size={16} /></button>
            </li>
          ))}
        </ol>
        <datalist id={list}>{[...combos, ...models].map((id) => <option key={id} value={id}>{id}</option>)}</datalist>
        <p className="hidden-text" aria-live="polite">{said}</p>
        <div className="row"><button type="button" className="button button-small" onClick={() => setSteps([...steps, draftOf(null)])}><Icon name="plus" size={16} />Add a step</button><span className="small muted">Alt ↑ and Alt ↓ move a step</span></div>
      </fieldset>
      {error === null ? null : <Failure what="The combo was not saved" error={error} />}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>Cancel</button>
        <button type="submit" className="button button-primary" disabled={create.isPending || update.isPending || name === "" || steps.every((step) => step.name === "")}>Save</button>
      </div>
    </Dialog>
  )
}
