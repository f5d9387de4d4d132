/** Adds an entry, or changes one. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { AreaField, choicesOf, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { changeOf, type Draft, draftOf, type Entry, kindOf, kinds, metadataOf, newOf, nobody } from "./words.ts"

const MOST = 8_000
const touched = ["GET /api/memory"] as const

/** `entry`: null for a new one. `owner`: whose entries are looked at. */
export const Edit = ({ entry, onClose, owner }: { readonly entry: Entry | null; readonly owner: string; readonly onClose: () => void }) => {
  const keys = useEveryKey().data ?? []
  const [draft, setDraft] = useState<Draft>(() => entry === null && owner !== "" ? { ...draftOf(null), owner } : draftOf(entry))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const add = useChange("POST /api/memory", touched, onClose, { said: "It is remembered.", undo: ({ id }) => () => call("DELETE /api/memory/:id", { params: { id } }) })
  const save = useChange("PUT /api/memory/:id", touched, onClose, {
    said: "The entry is changed.",
    undo: () => entry === null ? null : () => call("PUT /api/memory/:id", { params: { id: entry.id }, body: { key: entry.key, type: entry.type, content: entry.content, metadata: entry.metadata } })
  })
  const theirs = useTheirs(async () => entry === null ? {} : { ...(await call("GET /api/memory/:id", { params: { id: entry.id } })) }, { ...entry })
  const error = add.error ?? save.error
  const wrong = (field: string): string | undefined => wrongWith(error, field)
  const isReady = draft.key.trim() !== "" && draft.content !== "" && draft.content.length <= MOST && metadataOf(draft.metadata) !== undefined
  const change = entry === null ? {} : changeOf(draft, entry)
  const go = (): void => {
    if (entry === null) return add.mutate({ body: newOf(draft) })
    void theirs.save({ ...change }, () => save.mutate({ params: { id: entry.id }, body: change }))
  }
  const field = fieldsOf(draft, put, error)
  return (
    <Dialog title={entry === null ? "Remember something" : `Change ${entry.key}`} onClose={onClose} onSubmit={go}>
      {entry === null ? <SelectField label="For" {...field("owner")} choices={[nobody, ...choicesOf(keys)]} hint="Nobody else is told it" wrong={wrong("apiKeyId")} /> : null}
      <div className="grid-fields">
        <TextField label="Name" {...field("key")} required hint={entry === null ? "An entry of this name is replaced" : undefined} />
        <SelectField label="Kind" value={draft.kind} choices={kinds} onChange={(value) => put({ kind: kindOf(value) })} />
      </div>
      <AreaField label="What models are told" {...field("content")} hint={`${count(draft.content.length)} of ${count(MOST)} characters. It is stored as it is: no secret belongs here.`} wrong={draft.content.length > MOST ? `At most ${count(MOST)} characters` : wrong("content")} />
      {entry === null ? (
        <div className="grid-fields">
          <TextField label="Session" {...field("session")} hint="Empty: it is told in all" wrong={wrong("sessionId")} />
          <TextField label="Until" type="datetime-local" {...field("ends")} hint="Of this computer's zone. Empty: it does not end." wrong={wrong("expiresAt")} />
        </div>
      ) : null}
      <AreaField label="Metadata, JSON" rows={2} {...field("metadata")} hint="For people; models are not told it" wrong={metadataOf(draft.metadata) === undefined ? "This is no JSON object" : wrong("metadata")} />
      <Submit failed={entry === null ? "It was not stored" : "The entry was not changed"} of={[add, save]} theirs={theirs} isOff={!isReady || entry !== null && Object.keys(change).length === 0} onClose={onClose}>{entry === null ? "Remember it" : "Save"}</Submit>
    </Dialog>
  )
}
