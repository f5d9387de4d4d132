/** The steps of a combo as lanes from top to bottom: dragged, moved by buttons or by Alt and an arrow key, drawn as their strategy asks them. */
import { useEffect, useRef, useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { percent } from "../../format/numbers.ts"
import { TextField, AreaField, SelectField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Status } from "../../parts/Status.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { type Combo, drawingOf, moved, nameOf, shareOf, type Step, stepOf } from "./draft.ts"

type Plan = Answer<"POST /api/routing/explain">
type Options = Answer<"GET /api/combos/builder/options">

/** Between two lanes. */
const between = { arrows: "↓ if it fails", shares: "", ring: "↓ next request", columns: "+ at the same time", chain: "↓ its answer goes on", scored: "" } as const

/** What the router says of a step now: its place, or what blocks it. */
const Now = ({ name, plan }: { readonly name: string; readonly plan: Plan | undefined }) => {
  const target = plan?.targets.find(({ model, provider }) => model === name || `${provider}/${model}` === name)
  if (target === undefined) return null
  return target.skipped === null ? <Status tone="ok" shape={String(target.position ?? "")} word="is asked" /> : (
    <span className="row"><Status tone="skip" word={target.skipped.reason} title={target.skipped.detail} />{target.skipped.until === null ? null : <Countdown until={target.skipped.until} />}</span>
  )
}

/** Steps of a combo inside another one, which are edited there. */
const Nested = ({ combos, depth = 1, name }: { readonly name: string; readonly combos: ReadonlyArray<Combo>; readonly depth?: number }) => {
  const combo = combos.find((one) => one.name === name)
  if (combo === undefined || depth > 4) return null
  return (
    <ol className="nested" aria-label={`Steps of ${name}`}>
      <li className="small muted">{combo.strategy}, {combo.config.nestedComboMode === "execute" ? "runs as its own route" : "its steps stand in this place"}</li>
      {combo.models.map((step) => (
        <li key={step.id}>{nameOf(step)}{step.kind === "combo-ref" ? <Nested name={step.comboName} combos={combos} depth={depth + 1} /> : null}</li>
      ))}
    </ol>
  )
}

const Details = ({ change, options, step }: { readonly step: Step; readonly options: Options | undefined; readonly change: (part: Partial<Step>) => void }) => {
  const provider = options?.providers.find(({ id }) => step.name.startsWith(`${id}/`))
  const connections = [{ value: "", word: "Any of the provider's" }, ...(provider?.connections ?? []).map(({ id, name }) => ({ value: id, word: name }))]
  const known = connections.some(({ value }) => value === step.connectionId) ? connections : [...connections, { value: step.connectionId, word: step.connectionId }]
  return (
    <details className="step-details">
      <summary className="small">More</summary>
      <div className="stack-tight">
        <SelectField label="Connection" value={step.connectionId} choices={known} onChange={(connectionId) => change({ connectionId })} />
        <TextField label="Label" value={step.label} onChange={(label) => change({ label })} />
        <AreaField label="Prompt of this step" rows={2} value={step.prompt} onChange={(prompt) => change({ prompt })} hint="Used by a pipeline" />
      </div>
    </details>
  )
}

export const Lanes = ({ combos, list, onChange, options, plan, steps, strategy }: {
  readonly steps: ReadonlyArray<Step>
  readonly strategy: string
  /** Id of the list of names. */
  readonly list: string
  readonly combos: ReadonlyArray<Combo>
  readonly options: Options | undefined
  readonly plan: Plan | undefined
  readonly onChange: (steps: ReadonlyArray<Step>) => void
}) => {
  const [said, setSaid] = useState("")
  const [dragged, setDragged] = useState<number | null>(null)
  const box = useRef<HTMLOListElement>(null)
  const drawing = drawingOf(strategy)
  const change = (index: number, part: Partial<Step>): void => onChange(steps.map((step, at) => at === index ? { ...step, ...part } : step))
  const move = (from: number, to: number): void => {
    const next = moved(steps, from, to)
    if (next === steps) return
    onChange(next)
    setSaid(`${steps[from]?.name ?? ""} is now step ${to + 1}`)
  }
  const remove = (index: number): void => {
    onChange(steps.filter((_, at) => at !== index))
    setSaid(`${steps[index]?.name ?? ""} is taken away`)
  }
  // A list is no control: what is dropped on it is heard where it bubbles to, and the same moves are buttons.
  useEffect(() => {
    const element = box.current
    if (element === null || dragged === null) return
    const over = (event: DragEvent): void => event.preventDefault()
    const drop = (event: DragEvent): void => {
      event.preventDefault()
      const at = event.target instanceof Element ? Number(event.target.closest<HTMLElement>("[data-step]")?.dataset["step"] ?? Number.NaN) : Number.NaN
      if (!Number.isNaN(at)) move(dragged, at)
      setDragged(null)
    }
    element.addEventListener("dragover", over)
    element.addEventListener("drop", drop)
    return () => {
      element.removeEventListener("dragover", over)
      element.removeEventListener("drop", drop)
    }
  })
  return (
    <fieldset className={`lanes lanes-${drawing}`}>
      <legend className="label">Steps</legend>
      <ol ref={box}>
        {steps.map((step, index) => (
          <li key={step.key} className={dragged === index ? "lane-step dragged" : "lane-step"} data-step={index}>
            <div className="row lane-line">
              <span
                className="handle" draggable aria-hidden="true" title="Drag to move" data-handle={index + 1}
                onDragStart={(event) => {
                  event.dataTransfer.setData("text/plain", step.name)
                  event.dataTransfer.effectAllowed = "move"
                  setDragged(index)
                }}
                onDragEnd={() => setDragged(null)}
              >⠿</span>
              <input
                className="input" aria-label={`Step ${index + 1}`} value={step.name} list={list} placeholder="provider/model, or a combo" autoComplete="off" spellCheck={false}
                onChange={(event) => change(index, { name: event.currentTarget.value })}
                onKeyDown={(event) => {
                  if (!event.altKey || event.key !== "ArrowUp" && event.key !== "ArrowDown") return
                  event.preventDefault()
                  move(index, index + (event.key === "ArrowUp" ? -1 : 1))
                }}
              />
              {drawing === "shares" ? (
                <>
                  <input className="input weight" type="number" min={0} max={100} aria-label={`Weight of step ${index + 1}`} value={step.weight} onChange={(event) => change(index, { weight: event.currentTarget.value })} />
                  <span className="small number">{percent(shareOf(steps, index))}</span>
                </>
              ) : null}
              <Button kind="quiet icon" aria-label={`Move step ${index + 1} up`} disabled={index === 0} onClick={() => move(index, index - 1)}><Icon name="up" size={16} /></Button>
              <Button kind="quiet icon" aria-label={`Move step ${index + 1} down`} disabled={index === steps.length - 1} onClick={() => move(index, index + 1)}><Icon name="down" size={16} /></Button>
              <Button kind="quiet icon" aria-label={`Remove step ${index + 1}`} onClick={() => remove(index)}><Icon name="close" size={16} /></Button>
            </div>
            <div className="row">
              {drawing === "shares" ? <span className="meter" aria-hidden="true"><span style={{ width: `${shareOf(steps, index) * 100}%` }} /></span> : null}
              <Now name={step.name} plan={plan} />
            </div>
            <Nested name={step.name} combos={combos} />
            {combos.some(({ name }) => name === step.name) ? null : <Details step={step} options={options} change={(part) => change(index, part)} />}
            {index === steps.length - 1 ? drawing === "ring" ? <span className="small muted" aria-hidden="true">↺ then the first again</span> : null : between[drawing] === "" ? null : <span className="small muted" aria-hidden="true">{between[drawing]}</span>}
          </li>
        ))}
      </ol>
      <p className="hidden-text" aria-live="polite">{said}</p>
      <div className="row"><Button kind="small" onClick={() => onChange([...steps, stepOf(null)])}><Icon name="plus" size={16} />Add a step</Button><span className="small muted">Drag, or Alt ↑ and Alt ↓</span></div>
    </fieldset>
  )
}
