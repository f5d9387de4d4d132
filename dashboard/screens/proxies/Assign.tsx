/** Lets calls leave by a proxy: of everything, or of the providers, connections, combos or keys that are chosen. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { count, counted } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { Check, choicesOf, SelectField, TextField } from "../../parts/Field.tsx"
import { Button } from "../../parts/Button.tsx"
import { useTargets } from "./names.ts"
import { type Proxy, type Scope, scopeNames, scopes } from "./words.ts"

/** Targets that are drawn; others are found by a part of their name. */
const SHOWN = 50

export const Assign = ({ onClose, proxies }: { readonly proxies: ReadonlyArray<Proxy>; readonly onClose: () => void }) => {
  const targets = useTargets()
  const [scope, setScope] = useState<Scope>("account")
  const [proxyId, setProxy] = useState(proxies[0]?.id ?? "")
  const [search, setSearch] = useState("")
  const [chosen, setChosen] = useState<ReadonlyArray<string>>([])
  const assign = useChange("PUT /api/v1/management/proxies/bulk-assign", ["GET /api/v1/management/proxies/assignments"], ({ failed }) => {
    if (failed.length === 0) onClose()
  }, { said: ({ updated }) => `${counted(updated, "assignment is", "assignments are")} made.` })
  const wanted = search.toLowerCase()
  const found = targets[scope].filter(({ id, name }) => `${name} ${id}`.toLowerCase().includes(wanted))
  const shown = found.slice(0, SHOWN)
  return (
    <Dialog title="Assign a proxy" onClose={onClose} onSubmit={() => assign.mutate({ body: { scope, scopeIds: scope === "global" ? [] : chosen, proxyId } })}>
      <SelectField label="Proxy" value={proxyId} choices={choicesOf(proxies)} onChange={setProxy} />
      <SelectField
        label="What leaves by it" value={scope} choices={scopeNames.map((value) => ({ value, word: scopes[value].word }))}
        onChange={(value) => {
          setScope(scopeNames.find((each) => each === value) ?? "account")
          setChosen([])
          setSearch("")
        }}
      />
      {scope === "global" ? <p className="muted">All calls to providers that nothing below assigns otherwise.</p> : (
        <>
          {targets[scope].length > 8 ? <TextField label="Find" type="search" value={search} onChange={setSearch} placeholder="Part of a name or id" /> : null}
          <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
            <legend className="label">{scopes[scope].one}, {count(chosen.length)} chosen</legend>
            {shown.map(({ id, name }) => <Check key={id} checked={chosen.includes(id)} onChange={(on) => setChosen(on ? [...chosen, id] : chosen.filter((each) => each !== id))}><span className="wrap">{name}</span></Check>)}
            {shown.length === 0 ? <p className="muted">Nothing fits.</p> : null}
            {found.length > shown.length ? <p className="small muted">{counted(found.length - shown.length, "more is", "more are")} found by a part of the name.</p> : null}
          </fieldset>
        </>
      )}
      <Failure what="Nothing was assigned" error={assign.error} />
      {assign.data === undefined || assign.data.failed.length === 0 ? null : <div className="failure" role="alert"><ul>{assign.data.failed.map(({ reason, scopeId }) => <li key={scopeId} className="wrap"><code>{scopeId}</code> {reason}</li>)}</ul></div>}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={assign.isPending || proxyId === "" || scope !== "global" && chosen.length === 0}>Assign</Button>
      </div>
    </Dialog>
  )
}
