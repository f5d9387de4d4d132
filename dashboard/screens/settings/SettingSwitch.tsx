/** A setting that is on or off, beside what it acts on; saved by itself. */
import { call } from "../../api/call.ts"
import type { Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"

type Change = Body<"PATCH /api/settings">
type OnOff = { readonly [N in keyof Change]-?: boolean extends Change[N] ? Change[N] extends boolean | undefined ? N : never : never }[keyof Change]

export const SettingSwitch = ({ hint, name, word }: { readonly name: OnOff; readonly word: string; readonly hint: string }) => {
  const read = useRead("GET /api/settings")
  const stored = read.data?.[name]
  const save = useChange("PATCH /api/settings", ["GET /api/settings"], undefined, {
    said: "The setting is changed.", undo: () => () => call("PATCH /api/settings", { body: { [name]: stored === true } })
  })
  const error = save.error ?? (read.data === undefined ? read.error : null)
  return (
    <li className="row-wide">
      <div className="stack-tight">
        <strong>{word}</strong>
        <p className="small muted wrap">{hint}</p>
        <Failure what={save.error === null ? "The setting could not be read" : "The setting was not changed"} error={error} />
      </div>
      <Switch label={word} checked={stored === true} disabled={stored === undefined || save.isPending} onChange={(on) => save.mutate({ body: { [name]: on } })} />
    </li>
  )
}
