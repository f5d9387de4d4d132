/** Removes what is remembered for one caller: all, one kind, or what is old. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { counted } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { kinds, ownerOf } from "./words.ts"

const DAY_MS = 86_400_000

export const Clear = ({ name, onClose, owner }: { readonly owner: string; readonly name: string; readonly onClose: () => void }) => {
  const [kind, setKind] = useState("")
  const [days, setDays] = useState("")
  const clear = useChange("DELETE /api/memory", ["GET /api/memory"], onClose, { said: ({ deletedCount }) => `${counted(deletedCount, "entry is", "entries are")} forgotten.` })
  const go = (): void => clear.mutate({ query: { apiKeyId: ownerOf(owner), type: kind, before: days === "" ? undefined : new Date(Date.now() - Number(days) * DAY_MS).toISOString() } })
  return (
    <Confirm title={`Forget what is remembered for ${name}?`} confirm="Forget it" typed={name} pending={clear.isPending} onClose={onClose} onConfirm={go} failed="Nothing was forgotten" error={clear.error}>
      <div className="stack">
        <SelectField label="Kind" value={kind} choices={[{ value: "", word: "All" }, ...kinds]} onChange={setKind} />
        <TextField label="Unchanged for, days" type="number" value={days} onChange={setDays} hint="Empty: whatever its age" />
        <p>What is forgotten is gone for good.</p>
      </div>
    </Confirm>
  )
}
