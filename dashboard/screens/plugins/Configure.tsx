/** The configuration of a plugin, as a form made from its schema; what a save would change stands below. */
import { useRef, useState } from "react"
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { changedOf, differencesOf, draftOf, fieldsOf, type Plugin, textOf, wholeOf } from "./config.ts"

export const Configure = ({ onClose, plugin }: { readonly plugin: Plugin; readonly onClose: () => void }) => {
  const params = { name: plugin.name }
  const fields = fieldsOf(plugin.configSchema)
  const [draft, setDraft] = useState(() => draftOf(fields, plugin.config))
  const changed = changedOf(fields, draft, plugin.config)
  const next = wholeOf(changed, draft, plugin.config)
  // A save replaces the whole: what others changed in other fields meanwhile is kept.
  const latest = useRef(plugin.config)
  const save = useChange("PUT /api/plugins/:name/config", ["GET /api/plugins"], onClose, {
    said: `The settings of ${plugin.name} are changed.`, undo: () => () => call("PUT /api/plugins/:name/config", { params, body: { config: plugin.config } })
  })
  const theirs = useTheirs(async () => {
    latest.current = (await call("GET /api/plugins/:name/config", { params })).config
    return latest.current
  }, plugin.config)
  const put = (name: string, value: string): void => setDraft(new Map(draft).set(name, value))
  return (
    <Dialog
      title={`Settings of ${plugin.name}`} onClose={onClose}
      onSubmit={() => void theirs.save(Object.fromEntries(changed.map(({ name }) => [name, next[name]])), () => save.mutate({ params, body: { config: wholeOf(changed, draft, latest.current) } }))}
    >
      <p className="small muted">They are no place for secrets: who may read the API sees them.</p>
      {fields.map(({ hint, label, name, options, type }) => {
        const value = draft.get(name) ?? ""
        const common = { label, value, onChange: (given: string) => put(name, given), ...(hint === "" ? {} : { hint }), wrong: wrongWith(save.error, `config.${name}`) }
        if (type === "boolean") return <Check key={name} checked={value === "true"} onChange={(on) => put(name, String(on))}>{label}{hint === "" ? null : <span className="small muted"> {hint}</span>}</Check>
        if (options === null) return <TextField key={name} type={type === "number" ? "number" : "text"} {...common} />
        const choices = options.map((option) => ({ value: textOf(option), word: textOf(option) }))
        return <SelectField key={name} {...common} choices={choices.some((choice) => choice.value === value) ? choices : [{ value, word: "not set" }, ...choices]} />
      })}
      {changed.length === 0 ? null : <Changes list={differencesOf(changed, draft, plugin.config)} />}
      <Submit failed="The settings were not changed" of={save} theirs={theirs} isOff={changed.length === 0} onClose={onClose} />
    </Dialog>
  )
}
