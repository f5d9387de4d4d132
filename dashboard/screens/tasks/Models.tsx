/** Which model serves which kind of task. */
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import type { Body } from "../../api/contract.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { backOf, type Routing, routingChangeOf, routingDifferences, type RoutingDraft, routingDraftOf, tasks, whom } from "./words.ts"

const path = "/api/settings/task-routing"

export const Models = ({ list, stored }: { readonly stored: Routing; readonly list: string }) => {
  const [draft, setDraft] = useDraft(stored, routingDraftOf)
  const put = (part: Partial<RoutingDraft>): void => setDraft({ ...draft, ...part })
  const change = routingChangeOf(draft, stored)
  const isSame = Object.keys(change).length === 0
  const save = useChange(`PUT ${path}`, [`GET ${path}`], (answer) => setDraft(routingDraftOf(answer)), {
    said: "Task routing is changed.",
    undo: (_, { body }) => () => call(`PUT ${path}`, { body: backOf(body, stored) as Body<`PUT ${typeof path}`> })
  })
  const theirs = useTheirs(async () => {
    const { taskModelMap, ...rest } = await call(`GET ${path}`)
    return { ...rest, ...taskModelMap }
  }, { ...stored, ...stored.taskModelMap })
  return (
    <Panel title="Models of tasks">
      <Form onSubmit={() => {
        const { taskModelMap, ...rest } = change
        void theirs.save({ ...rest, ...taskModelMap }, () => save.mutate({ body: change }))
      }}>
        <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>Conversations go to the model of their task</Check>
        <Check checked={draft.detectionEnabled} onChange={(detectionEnabled) => put({ detectionEnabled })}>A task is found by what a conversation says; else the client must name it</Check>
        <SelectField label="Of requests for" value={draft.appliesTo} choices={whom} onChange={(appliesTo) => put({ appliesTo })} />
        <div className="grid-fields">
          {tasks.map(({ name, word }) => (
            <TextField key={name} label={word} value={draft.taskModelMap[name]} list={list} placeholder="as asked for" onChange={(model) => put({ taskModelMap: { ...draft.taskModelMap, [name]: model } })} wrong={wrongWith(save.error, `taskModelMap.${name}`)} />
          ))}
        </div>
        <p className="small muted">A model, an alias or a combo. Empty: the model that was asked for. Fallbacks are those of what is named here.</p>
        {isSame ? null : <Changes list={routingDifferences(change, stored)} />}
        <Submit failed="Task routing was not changed" of={save} theirs={theirs} isSame={isSame} onDiscard={() => setDraft(routingDraftOf(stored))} name="the models of tasks" />
      </Form>
    </Panel>
  )
}
