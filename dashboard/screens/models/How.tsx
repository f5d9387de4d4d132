/** How one model is spoken to, where that is not as its provider is; also the form that adds a model. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Loaded } from "../../parts/Feedback.tsx"
import { AreaField, Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button } from "../../parts/Button.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"

type Stored = Answer<"GET /api/provider-models">["models"][number]
type Change = Body<"POST /api/provider-models">
type Preset = NonNullable<NonNullable<Change["generationConfig"]>["preset"]>
type Format = Change["targetFormat"]

const formats: ReadonlyArray<{ readonly value: NonNullable<Format> | ""; readonly word: string }> = [
  { value: "", word: "Its provider's" }, { value: "openai", word: "Chat completions" }, { value: "openai-responses", word: "Responses" }, { value: "claude", word: "Messages" }, { value: "gemini", word: "Gemini" }
]
const roles = [{ value: "", word: "as its format says" }, { value: "true", word: "as it is" }, { value: "false", word: "as system" }]
const free = [{ value: "", word: "By its price" }, { value: "true", word: "Yes" }, { value: "false", word: "No" }]
const numbers = { temperature: "Temperature", topP: "Top p", topK: "Top k", maxOutputTokens: "Tokens out, most" } as const
type Numeric = keyof typeof numbers

const three = (text: string): boolean | null => text === "" ? null : text === "true"
const textOf = (value: unknown): string => value === null || value === undefined ? "" : String(value)

const draftOf = (provider: string, model: string, stored: Stored | undefined) => {
  const preset = ((stored?.generationConfig as Change["generationConfig"])?.preset ?? {}) as Preset
  return {
    provider, model, preset,
    format: stored?.targetFormat ?? "", calls: stored?.normalizeToolCallId === true, role: textOf(stored?.preserveOpenAIDeveloperRole), isFree: textOf(stored?.isFree),
    stops: (preset.stopSequences ?? []).join("\n"), clients: JSON.stringify(stored?.compatByProtocol ?? {}, null, 2)
  }
}
type Draft = ReturnType<typeof draftOf>

/** Null while the clients' part is no JSON object. */
const bodyOf = ({ calls, clients, format, isFree, model, preset: { stopSequences: _stops, ...preset }, provider, role, stops }: Draft): Change | null => {
  const lines = stops.split("\n").filter((line) => line !== "")
  try {
    const compatByProtocol = JSON.parse(clients) as NonNullable<Change["compatByProtocol"]>
    const said = { ...preset, ...(lines.length === 0 ? {} : { stopSequences: lines }) }
    return {
      provider, modelId: model, targetFormat: formats.find(({ value }) => value === format && value !== "")?.value as Format ?? null, normalizeToolCallId: calls, preserveOpenAIDeveloperRole: three(role), isFree: three(isFree),
      compatByProtocol, generationConfig: Object.keys(said).length === 0 ? {} : { preset: said }
    }
  } catch {
    return null
  }
}

const touched = ["GET /api/provider-models", "GET /api/pricing/models"] as const

const Fields = ({ model, onClose, provider, stored }: { readonly provider: string; readonly model: string; readonly stored: Stored | undefined; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(provider, model, stored))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const before = bodyOf(draftOf(draft.provider, draft.model, stored))
  const take = () => call("DELETE /api/provider-models", { query: { provider: draft.provider, model: draft.model } })
  const save = useChange("POST /api/provider-models", touched, onClose, { said: "The model is called so.", undo: () => stored === undefined ? take : before === null ? null : () => call("POST /api/provider-models", { body: before }) })
  const remove = useChange("DELETE /api/provider-models", touched, onClose, { said: "The model is called as its provider is.", undo: () => before === null ? null : () => call("POST /api/provider-models", { body: before }) })
  const error = save.error ?? remove.error
  const wrong = (field: string): string | undefined => wrongWith(error, field)
  const body = bodyOf(draft)
  const field = fieldsOf(draft, put, error)
  return (
    <Form className="stack" onSubmit={() => {
      if (body !== null) save.mutate({ body })
    }}>
      {model !== "" ? null : (
        <div className="grid-fields">
          <TextField label="Provider" {...field("provider")} required hint="Its id, or the prefix of a server of yours" />
          <TextField label="Model" {...field("model")} required hint="As the provider calls it" wrong={wrong("modelId")} />
        </div>
      )}
      <div className="grid-fields">
        <SelectField label="Format of calls" {...field("format")} choices={formats} hint="Clients speak any; answers come back in theirs" wrong={wrong("targetFormat")} />
        <SelectField label="The role developer is sent" {...field("role")} choices={roles} wrong={wrong("preserveOpenAIDeveloperRole")} />
        <SelectField label="Free of charge" {...field("isFree")} choices={free} hint="Only how it is marked here" />
      </div>
      <Check checked={draft.calls} onChange={(calls) => put({ calls })}>Ids of tool calls are sent as nine letters and digits</Check>
      <details>
        <summary>Where the client says nothing</summary>
        <div className="grid-fields" style={{ paddingTop: "1rem" }}>
          {(Object.keys(numbers) as ReadonlyArray<Numeric>).map((name) => (
            <TextField key={name} label={numbers[name]} type="number" value={textOf(draft.preset[name])} placeholder="the model's" wrong={wrong(`generationConfig.preset.${name}`)}
              onChange={(text) => {
                const { [name]: _, ...rest } = draft.preset
                put({ preset: text === "" ? rest : { ...rest, [name]: Number(text) } })
              }} />
          ))}
          <AreaField label="Stop sequences" rows={2} {...field("stops")} hint="One per line" wrong={wrong("generationConfig.preset.stopSequences")} />
        </div>
      </details>
      <details>
        <summary>For clients of one format</summary>
        <AreaField label="By format" rows={5} {...field("clients")} hint={'JSON, such as {"claude": {"normalizeToolCallId": false, "upstreamHeaders": {"x-team": "agents"}}}'} wrong={body === null ? "This is no JSON" : wrong("compatByProtocol")} />
      </details>
      <Submit failed="The model was not changed" of={[save, remove]} isOff={body === null || draft.provider === "" || draft.model === ""} extra={stored === undefined ? null : <Button disabled={remove.isPending} onClick={() => remove.mutate({ query: { provider, model } })}>Back to its provider's way</Button>} />
    </Form>
  )
}

/** `model`: empty for a new one. */
export const How = ({ model, onClose, provider }: { readonly provider: string; readonly model: string; readonly onClose: () => void }) => {
  const read = useRead("GET /api/provider-models", { query: { provider } })
  return (
    <Dialog title={model === "" ? "Add a model" : `How ${provider}/${model} is called`} wide onClose={onClose}>
      <Loaded read={read} what="What is said of the model">
        {({ modelCompatOverrides, models }) => <Fields provider={provider} model={model} stored={[...models, ...Object.values(modelCompatOverrides)].find((own) => own.provider === provider && own.modelId === model)} onClose={onClose} />}
      </Loaded>
    </Dialog>
  )
}
