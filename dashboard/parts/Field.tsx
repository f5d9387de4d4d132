/** Labelled controls of forms. */
import { type ReactNode, useId } from "react"
import { Problem } from "../api/call.ts"

/** What the gateway said about one field of a refused body. */
export const wrongWith = (error: Error | null, field: string): string | undefined =>
  error instanceof Problem ? error.details.find((issue) => issue.field === field || issue.field.startsWith(`${field}.`))?.message : undefined

interface Common {
  readonly label: string
  readonly hint?: ReactNode
  readonly wrong?: string | undefined
  readonly className?: string
}

const Frame = ({ children, className = "", hint, id, label, wrong }: Common & { readonly id: string; readonly children: ReactNode }) => (
  <div className={`field ${className}`}>
    <label htmlFor={id}>{label}</label>
    {children}
    {hint === undefined ? null : <p className="hint" id={`${id}-hint`}>{hint}</p>}
    {wrong === undefined ? null : <p className="wrong" id={`${id}-wrong`}>{wrong}</p>}
  </div>
)

const described = (id: string, hint: unknown, wrong: unknown): string | undefined =>
  [hint === undefined ? null : `${id}-hint`, wrong === undefined ? null : `${id}-wrong`].filter((part) => part !== null).join(" ") || undefined

export const TextField = ({ autoFocus, list, onChange, onKeyDown, placeholder, required, type = "text", value, ...common }: Common & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: "text" | "password" | "number" | "search" | "datetime-local"
  readonly placeholder?: string
  readonly required?: boolean
  readonly autoFocus?: boolean
  readonly list?: string
  readonly onKeyDown?: (event: React.KeyboardEvent<HTMLInputElement>) => void
}) => {
  const id = useId()
  return (
    <Frame id={id} {...common}>
      <input
        id={id} className="input" type={type} value={value} placeholder={placeholder} required={required} list={list} autoFocus={autoFocus} onKeyDown={onKeyDown}
        autoComplete="off" spellCheck={false} step={type === "number" ? "any" : undefined} aria-invalid={common.wrong === undefined ? undefined : true}
        aria-describedby={described(id, common.hint, common.wrong)} onChange={(event) => onChange(event.currentTarget.value)}
      />
    </Frame>
  )
}

export const AreaField = ({ onChange, onKeyDown, rows = 4, value, ...common }: Common & {
  readonly value: string
  readonly rows?: number
  readonly onChange: (value: string) => void
  readonly onKeyDown?: (event: React.KeyboardEvent<HTMLTextAreaElement>) => void
}) => {
  const id = useId()
  return (
    <Frame id={id} {...common}>
      <textarea id={id} className="area" rows={rows} value={value} onKeyDown={onKeyDown} aria-describedby={described(id, common.hint, common.wrong)} onChange={(event) => onChange(event.currentTarget.value)} />
    </Frame>
  )
}

export interface Choice<V extends string = string> {
  readonly value: V
  readonly word: string
}

/** Records by their names. */
export const choicesOf = (list: ReadonlyArray<{ readonly id: string; readonly name: string }>): ReadonlyArray<Choice> => list.map(({ id, name }) => ({ value: id, word: name }))

/** A choice without a word of its own is shown as it is. */
export const SelectField = <V extends string>({ choices, disabled, onChange, value, ...common }: Common & {
  readonly value: string
  readonly choices: ReadonlyArray<Choice<V> | V>
  readonly disabled?: boolean
  readonly onChange: (value: V) => void
}) => {
  const id = useId()
  const all = choices.map((choice) => typeof choice === "string" ? { value: choice, word: choice } : choice)
  return (
    <Frame id={id} {...common}>
      <select id={id} className="select" value={value} disabled={disabled} aria-describedby={described(id, common.hint, common.wrong)} onChange={(event) => {
        const chosen = all[event.currentTarget.selectedIndex]
        if (chosen !== undefined) onChange(chosen.value)
      }}>
        {all.map((choice) => <option key={choice.value} value={choice.value}>{choice.word}</option>)}
      </select>
    </Frame>
  )
}

export const Check = ({ checked, children, onChange }: { readonly checked: boolean; readonly onChange: (checked: boolean) => void; readonly children: ReactNode }) => (
  <label className="check">
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>{children}</span>
  </label>
)

export const Switch = ({ checked, disabled, label, onChange }: { readonly checked: boolean; readonly label: string; readonly disabled?: boolean; readonly onChange: (checked: boolean) => void }) => (
  <button type="button" role="switch" className="switch" aria-checked={checked} aria-label={label} disabled={disabled} onClick={() => onChange(!checked)} />
)
