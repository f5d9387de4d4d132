/** Which automatic combo answers a request for auto, by its intent; and the words that intents are found by. */
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { changedIn } from "../../format/members.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Check, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { backOf } from "./words.ts"

type Stored = Answer<"GET /api/settings">
type Change = Body<"PATCH /api/settings">

const lists = [
  { name: "intentExtraCodeKeywords", word: "Further words of code" }, { name: "intentExtraReasoningKeywords", word: "Further words of reasoning" },
  { name: "intentExtraSimpleKeywords", word: "Words of simple questions" }
] as const

const shown = (value: unknown): string => Array.isArray(value) ? value.join(", ") : String(value ?? "")

const draftOf = (stored: Stored) => ({
  on: stored["intentDetectionEnabled"] === true, most: shown(stored["intentSimpleMaxWords"]), words: lists.map(({ name }) => shown(stored[name]))
})

const changeOf = ({ most, on, words }: ReturnType<typeof draftOf>, stored: Stored): Change => {
  const next: Readonly<Record<string, unknown>> = {
    intentDetectionEnabled: on, intentSimpleMaxWords: Number(most),
    ...Object.fromEntries(lists.map(({ name }, at) => [name, (words[at] ?? "").split(",").map((word) => word.trim()).filter((word) => word !== "")]))
  }
  return changedIn(next, stored)
}

export const Intents = ({ stored }: { readonly stored: Stored }) => {
  const [draft, setDraft] = useDraft(stored, draftOf)
  const change = changeOf(draft, stored)
  const changed = Object.entries(change)
  const save = useChange("PATCH /api/settings", ["GET /api/settings"], (answer) => setDraft(draftOf(answer)), {
    said: "How intents are found is changed.", undo: (_, { body }) => () => call("PATCH /api/settings", { body: backOf(body, stored) as Change })
  })
  return (
    <Panel title="Intents">
      <Form onSubmit={() => save.mutate({ body: change })}>
        <Check checked={draft.on} onChange={(on) => setDraft({ ...draft, on })}>Requests for auto go to auto/coding, auto/reasoning or auto/cheap by their intent</Check>
        <div className="grid-fields">
          <TextField label="Words of a simple question at most" type="number" value={draft.most} onChange={(most) => setDraft({ ...draft, most })} wrong={wrongWith(save.error, "intentSimpleMaxWords")} />
          {lists.map(({ name, word }, at) => <TextField key={name} label={word} value={draft.words[at] ?? ""} hint="With commas between them" onChange={(text) => setDraft({ ...draft, words: draft.words.map((one, index) => index === at ? text : one) })} wrong={wrongWith(save.error, name)} />)}
        </div>
        {changed.length === 0 ? null : <Changes list={changed.map(([what, after]) => ({ what, before: shown(stored[what]), after: shown(after) }))} />}
        <Submit failed="Nothing was changed" of={save} isSame={changed.length === 0} isOff={draft.most === ""} onDiscard={() => setDraft(draftOf(stored))} name="the intents" />
      </Form>
    </Panel>
  )
}
