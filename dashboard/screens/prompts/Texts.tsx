/** Texts of the operator around the instructions of every conversation. */
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { AreaField, Check, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"

type Stored = Answer<"GET /api/settings/system-prompt">
type Change = Body<"PUT /api/settings/system-prompt">

const same = (stored: Stored): Stored => stored

const MOST = 50_000
/** Of a text in the list of changes. */
const SHOWN = 300

const places = [
  { name: "prefixPrompt", word: "Before all other instructions", hint: "A combo's own and the client's follow." },
  { name: "suffixPrompt", word: "Behind the instructions", hint: "Those that the conversation begins with." },
  { name: "prompt", word: "Behind them, by the older name", hint: "A text that stands in two fields is said once." }
] as const

const shown = (value: unknown): string => typeof value === "boolean" ? value ? "on" : "off" : String(value).length > SHOWN ? `${String(value).slice(0, SHOWN)} …` : String(value)

export const Texts = ({ stored }: { readonly stored: Stored }) => {
  const [draft, setDraft] = useDraft(stored, same)
  const put = (part: Partial<Stored>): void => setDraft({ ...draft, ...part })
  const changed = (["enabled", "prefixPrompt", "suffixPrompt", "prompt"] as const).filter((name) => draft[name] !== stored[name])
  const change: Change = Object.fromEntries(changed.map((name) => [name, draft[name]]))
  const save = useChange("PUT /api/settings/system-prompt", ["GET /api/settings/system-prompt"], setDraft, {
    said: "The gateway's own prompt is changed.",
    undo: (_, { body }) => () => call("PUT /api/settings/system-prompt", { body: Object.fromEntries(Object.keys(body ?? {}).map((name) => [name, stored[name as keyof Stored]])) as Change })
  })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/settings/system-prompt")) }), { ...stored })
  const isLong = places.some(({ name }) => draft[name].length > MOST)
  return (
    <Panel title="The gateway's own prompt">
      <Form onSubmit={() => void theirs.save({ ...change }, () => save.mutate({ body: change }))}>
        <p className="muted">It stands in every conversation, in all formats. Clients can find out what it says: no secret belongs here.</p>
        <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>The texts are said</Check>
        {places.map(({ hint, name, word }) => (
          <AreaField
            key={name} label={word} rows={name === "prompt" ? 2 : 4} value={draft[name]} onChange={(value) => put({ [name]: value })} hint={`${hint} ${count(draft[name].length)} of ${count(MOST)} characters.`}
            wrong={draft[name].length > MOST ? `At most ${count(MOST)} characters` : wrongWith(save.error, name)}
          />
        ))}
        {changed.length === 0 ? null : <Changes list={changed.map((what) => ({ what, before: shown(stored[what]), after: shown(draft[what]) }))} />}
        <Submit failed="The prompt was not changed" of={save} theirs={theirs} isSame={changed.length === 0} isOff={isLong} onDiscard={() => setDraft(stored)} name="the prompt" />
      </Form>
    </Panel>
  )
}
