/** Makes a key, or changes what one may do; only what was changed is sent. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, Check, TextField, wrongWith } from "../../parts/Field.tsx"
import type { Key } from "./sentence.ts"

const MINUTE_MS = 60_000

export const Make = ({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (value: string) => void }) => {
  const [name, setName] = useState("")
  const make = useChange("POST /api/keys", ["GET /api/keys"], ({ key }) => onMade(key))
  return (
    <Dialog title="Make a key" onClose={onClose} onSubmit={() => make.mutate({ body: { name } })}>
      <TextField label="Name" value={name} onChange={setName} required autoFocus hint="The program or person that will use it" wrong={wrongWith(make.error, "name")} />
      {make.error === null ? null : <Failure what="No key was made" error={make.error} />}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>Cancel</button>
        <button type="submit" className="button button-primary" disabled={make.isPending || name === ""}>Make the key</button>
      </div>
    </Dialog>
  )
}

const linesOf = (text: string): Array<string> => text.split(/[\n,]/).map((line) => line.trim()).filter((line) => line !== "")
const numberOf = (text: string): number | null => text.trim() === "" ? null : Number(text)
const textOf = (value: number | null): string => value === null ? "" : String(value)
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The form of the browser's own field: local time to the minute. */
const localOf = (iso: string | null): string => {
  if (iso === null) return ""
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

export const Edit = ({ onClose, value }: { readonly value: Key; readonly onClose: () => void }) => {
  const [name, setName] = useState(value.name)
  const [restricted, setRestricted] = useState(value.modelAccessMode === "restricted")
  const [allowed, setAllowed] = useState(value.allowedModels.join("\n"))
  const [blocked, setBlocked] = useState(value.blockedModels.join("\n"))
  const [perMinute, setPerMinute] = useState(textOf(value.maxRequestsPerMinute))
  const [perDay, setPerDay] = useState(textOf(value.maxRequestsPerDay))
  const [expires, setExpires] = useState(localOf(value.expiresAt))
  const [noLog, setNoLog] = useState(value.noLog)
  const save = useChange("PATCH /api/keys/:id", ["GET /api/keys"], onClose)
  const wanted = {
    name, modelAccessMode: restricted ? "restricted" as const : "all" as const, allowedModels: linesOf(allowed), blockedModels: linesOf(blocked),
    maxRequestsPerMinute: numberOf(perMinute), maxRequestsPerDay: numberOf(perDay), noLog
  }
  const body = {
    ...Object.fromEntries(Object.entries(wanted).filter(([field, now]) => !same(now, value[field as keyof typeof wanted]))),
    ...(expires === localOf(value.expiresAt) ? {} : { expiresAt: expires === "" ? null : new Date(expires).toISOString() })
  }
  return (
    <Dialog title={`Edit ${value.name}`} wide onClose={onClose} onSubmit={() => save.mutate({ params: { id: value.id }, body })}>
      <div className="grid-fields">
        <TextField label="Name" value={name} onChange={setName} required wrong={wrongWith(save.error, "name")} />
        <TextField label="Expires" type="datetime-local" value={expires} onChange={setExpires} hint="Empty: never" wrong={wrongWith(save.error, "expiresAt")} />
      </div>
      <Check checked={restricted} onChange={setRestricted}>Only the models below</Check>
      <div className="grid-fields">
        {restricted ? <AreaField label="Allowed models" value={allowed} onChange={setAllowed} hint="One per line; * stands for any text, as in openai/*" wrong={wrongWith(save.error, "allowedModels")} /> : null}
        <AreaField label="Blocked models" value={blocked} onChange={setBlocked} hint="One per line; they win over allowed ones" wrong={wrongWith(save.error, "blockedModels")} />
      </div>
      <div className="grid-fields">
        <TextField label="Requests a minute" type="number" value={perMinute} onChange={setPerMinute} placeholder="no limit" wrong={wrongWith(save.error, "maxRequestsPerMinute")} />
        <TextField label="Requests a day" type="number" value={perDay} onChange={setPerDay} placeholder="no limit" wrong={wrongWith(save.error, "maxRequestsPerDay")} />
      </div>
      <Check checked={noLog} onChange={setNoLog}>Keep nothing of its prompts and answers</Check>
      {save.error === null ? null : <Failure what="The key was not changed" error={save.error} />}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>Cancel</button>
        <button type="submit" className="button button-primary" disabled={save.isPending || Object.keys(body).length === 0}>Save</button>
      </div>
    </Dialog>
  )
}
