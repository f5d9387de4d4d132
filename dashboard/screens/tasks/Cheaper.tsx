/** Cheaper models for what agents send beside a person's requests. */
import { call } from "../../api/call.ts"
import type { Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { Lines } from "../../parts/edit/Lines.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { AreaField, Check, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { type Background, backgroundChangeOf, backgroundDifferences, type BackgroundDraft, backgroundDraftOf, backOf } from "./words.ts"

const path = "/api/settings/background-degradation"

export const Cheaper = ({ list, stored }: { readonly stored: Background; readonly list: string }) => {
  const [draft, setDraft] = useDraft(stored, backgroundDraftOf)
  const put = (part: Partial<BackgroundDraft>): void => setDraft({ ...draft, ...part })
  const change = backgroundChangeOf(draft, stored)
  const isSame = Object.keys(change).length === 0
  const save = useChange(`PUT ${path}`, [`GET ${path}`], (answer) => setDraft(backgroundDraftOf(answer)), {
    said: "What happens in the background is changed.",
    undo: (_, { body }) => () => call(`PUT ${path}`, { body: backOf(body, stored) as Body<`PUT ${typeof path}`> })
  })
  const theirs = useTheirs(async () => ({ ...(await call(`GET ${path}`)) }), { ...stored })
  return (
    <Panel title="Requests in the background">
      <Form onSubmit={() => void theirs.save({ ...change }, () => save.mutate({ body: change }))}>
        <p className="muted">Agents ask for titles, suggestions and summaries of their own. They are asked before task routing is.</p>
        <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>They go to cheaper models</Check>
        <Lines label="Which model is replaced by which" one="model" lines={draft.map} onLines={(map) => put({ map })} columns={[{ word: "Asked for", placeholder: "anthropic/claude-*", list }, { word: "Cheaper", list }]} wrong={wrongWith(save.error, "degradationMap")} />
        <AreaField label="Further phrases by which they are found" rows={3} value={draft.patterns} onChange={(patterns) => put({ patterns })} hint="One in a line, 3 to 200 characters" wrong={wrongWith(save.error, "detectionPatterns")} />
        {isSame ? null : <Changes list={backgroundDifferences(change, stored)} />}
        <Submit failed="Nothing was changed" of={save} theirs={theirs} isSame={isSame} onDiscard={() => setDraft(backgroundDraftOf(stored))} name="the cheaper models" />
      </Form>
    </Panel>
  )
}
