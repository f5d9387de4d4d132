/** Installs a skill, or changes one. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange } from "../../api/query.ts"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { AreaField, choicesOf, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { backOf, changeOf, type Draft, draftOf, fullName, newOf, schemaOf, type Skill } from "./words.ts"

const touched = ["GET /api/skills"] as const

/** `skill`: null for a new one. */
export const Edit = ({ onClose, skill }: { readonly skill: Skill | null; readonly onClose: () => void }) => {
  const keys = useEveryKey().data ?? []
  const [draft, setDraft] = useState<Draft>(() => draftOf(skill))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const add = useChange("POST /api/skills/install", touched, onClose, { said: `${fullName(draft)} is installed.`, isRecord: false })
  const save = useChange("PUT /api/skills/:id", touched, onClose, {
    said: ({ skill: now }) => `${fullName(now)} is changed.`, isRecord: false,
    undo: (_, { body }) => skill === null ? null : () => call("PUT /api/skills/:id", { params: { id: skill.id }, body: backOf(body, skill) })
  })
  const theirs = useTheirs(async () => skill === null ? {} : { ...(await call("GET /api/skills/:id", { params: { id: skill.id } })).skill }, { ...skill })
  const error = add.error ?? save.error
  const wrong = (field: string): string | undefined => wrongWith(error, field)
  const change = skill === null ? {} : changeOf(draft, skill)
  const noSchema = (text: string): string | undefined => schemaOf(text) === undefined ? "This is no JSON object" : wrong("schema")
  const isReady = draft.name !== "" && draft.handler.trim() !== "" && schemaOf(draft.input) !== undefined && schemaOf(draft.output) !== undefined && (skill === null || Object.keys(change).length > 0)
  const go = (): void => {
    if (skill === null) return add.mutate({ body: newOf(draft) })
    void theirs.save({ ...change }, () => save.mutate({ params: { id: skill.id }, body: change }))
  }
  const field = fieldsOf(draft, put, error)
  return (
    <Dialog title={skill === null ? "Install a skill" : `Change ${fullName(skill)}`} wide onClose={onClose} onSubmit={go}>
      <div className="grid-fields">
        <TextField label="Name" {...field("name")} required />
        {skill === null ? <TextField label="Version" {...field("version")} required hint="The same name and version replaces the code" /> : null}
        <TextField label="Description" {...field("description")} />
        <TextField label="Tags" {...field("tags")} hint="With commas between them" />
        {skill === null ? <SelectField label="May run for" {...field("key")} choices={[{ value: "", word: "Any key" }, ...choicesOf(keys)]} wrong={wrong("apiKeyId")} /> : null}
      </div>
      <AreaField label="Handler" rows={7} {...field("handler")} hint="The body of (input, context) => output. No imports, no network, no files." wrong={wrong(skill === null ? "handlerCode" : "handler")} />
      <div className="grid-fields">
        <AreaField label="JSON Schema of the input" rows={3} {...field("input")} hint="{} takes everything" wrong={noSchema(draft.input)} />
        <AreaField label="JSON Schema of the output" rows={3} {...field("output")} wrong={noSchema(draft.output)} />
      </div>
      <Submit failed={skill === null ? "The skill was not installed" : "The skill was not changed"} of={[add, save]} theirs={theirs} isOff={!isReady} onClose={onClose}>{skill === null ? "Install it" : "Save"}</Submit>
    </Dialog>
  )
}
