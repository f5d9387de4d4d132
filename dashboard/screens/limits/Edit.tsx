/** A limit of tokens: for which key, at what, how many, and when it begins anew. */
import { useId, useState } from "react"
import { call } from "../../api/call.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import * as Notes from "../../api/notes.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Check, choicesOf, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import type { Key } from "../keys/sentence.ts"
import type { TokenLimit } from "./rows.ts"

const scopes = [{ value: "global", word: "Anywhere" }, { value: "provider", word: "At one provider" }, { value: "model", word: "At one model" }]
const intervals = [{ value: "daily", word: "Each day" }, { value: "weekly", word: "Each week" }, { value: "monthly", word: "Each month" }]

const oneOf = <A extends string>(list: ReadonlyArray<A>, value: string, otherwise: A): A => list.find((each) => each === value) ?? otherwise

/** The body that makes the limit again as it was. */
export const bodyOf = ({ apiKeyId, enabled, id, resetInterval, resetTime, scopeType, scopeValue, tokenLimit }: TokenLimit, withId: boolean) =>
  ({ ...(withId ? { id } : {}), apiKeyId, scopeType, scopeValue, tokenLimit, resetInterval, resetTime, enabled })

export const Edit = ({ keys, limit, onClose }: { readonly limit: TokenLimit | null; readonly keys: ReadonlyArray<Key>; readonly onClose: () => void }) => {
  const list = useId()
  const models = useRead("GET /api/pricing/models")
  const [keyId, setKey] = useState(limit?.apiKeyId ?? keys[0]?.id ?? "")
  const [scope, setScope] = useState<string>(limit?.scopeType ?? "global")
  const [value, setValue] = useState(limit?.scopeValue ?? "")
  const [most, setMost] = useState(limit === null ? "" : String(limit.tokenLimit))
  const [interval, setInterval] = useState<string>(limit?.resetInterval ?? "daily")
  const [time, setTime] = useState(limit?.resetTime ?? "00:00")
  const [isOn, setOn] = useState(limit?.enabled ?? true)
  const save = useChange("POST /api/usage/token-limits", ["GET /api/usage/token-limits"], ({ warning }) => {
    if (warning !== undefined) Notes.tell(warning, { isBad: true })
    onClose()
  }, {
    said: "The limit is set.",
    undo: (answer) => async () => {
      if (limit === null) await call("DELETE /api/usage/token-limits", { query: { id: answer.limit.id } })
      else await call("POST /api/usage/token-limits", { body: bodyOf(limit, true) })
      await queryClient.invalidateQueries({ queryKey: ["GET /api/usage/token-limits"] })
    }
  })
  const submit = (): void => save.mutate({
    body: {
      ...(limit === null ? {} : { id: limit.id }), apiKeyId: keyId, scopeType: oneOf(["model", "provider", "global"], scope, "global"), scopeValue: scope === "global" ? "" : value.trim(),
      tokenLimit: Number(most), resetInterval: oneOf(["daily", "weekly", "monthly"], interval, "daily"), resetTime: time, enabled: isOn
    }
  })
  const known = models.data?.models ?? []
  return (
    <Dialog title={limit === null ? "New limit of tokens" : "Change the limit of tokens"} onClose={onClose} onSubmit={submit}>
      <div className="grid-fields">
        <SelectField label="Key" value={keyId} choices={choicesOf(keys)} onChange={setKey} wrong={wrongWith(save.error, "apiKeyId")} />
        <TextField label="Tokens" type="number" value={most} onChange={setMost} required autoFocus hint="In and out together" wrong={wrongWith(save.error, "tokenLimit")} />
        <SelectField label="Where" value={scope} choices={scopes} onChange={setScope} />
        {scope === "global" ? null : <TextField label={scope === "provider" ? "Provider" : "Model"} value={value} onChange={setValue} list={list} required wrong={wrongWith(save.error, "scopeValue")} />}
        <SelectField label="Begins anew" value={interval} choices={intervals} onChange={setInterval} />
        <TextField label="At, UTC" value={time} onChange={setTime} hint="HH:MM" wrong={wrongWith(save.error, "resetTime")} />
      </div>
      <datalist id={list}>{[...new Set(known.map(({ model, provider }) => scope === "provider" ? provider : `${provider}/${model}`))].map((each) => <option key={each} value={each}>{each}</option>)}</datalist>
      <Check checked={isOn} onChange={setOn}>It is in force</Check>
      <Submit failed="The limit was not stored" of={save} isOff={keyId === "" || !(Number(most) >= 1) || scope !== "global" && value.trim() === ""} onClose={onClose} />
    </Dialog>
  )
}
