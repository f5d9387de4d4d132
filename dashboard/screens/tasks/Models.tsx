/** Which model serves which kind of task. */
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import type { Body } from "../../api/contract.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { Theirs, useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
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
      <form
        className="panel-body"
        onSubmit={(event) => {
          event.preventDefault()
          const { taskModelMap, ...rest } = change
          void theirs.save({ ...rest, ...taskModelMap }, () => save.mutate({ body: change }))
        }}
      >
        <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>Conversations go to the model of their task</Check>
        <Check checked={draft.detectionEnabled} onChange={(detectionEnabled) => put({ detectionEnabled })}>A task is found by what a conversation says; else the client must name it</Check>
        <SelectField label="Of requests for" value={draft.appliesTo} choices={whom} onChange={(value) => put({ appliesTo: whom.find((one) => one.value === value)?.value ?? "automatic" })} />
        <div className="grid-fields">
          {tasks.map(({ name, word }) => (
            <TextField key={name} label={word} value={draft.taskModelMap[name]} list={list} placeholder="as asked for" onChange={(model) => put({ taskModelMap: { ...draft.taskModelMap, [name]: model } })} wrong={wrongWith(save.error, `taskModelMap.${name}`)} />
          ))}
        </div>
        <p className="small muted">A model, an alias or a combo. Empty: the model that was asked for. Fallbacks are those of what is named here.</p>
        {isSame ? null : <Changes list={routingDifferences(change, stored)} />}
        <Theirs clashes={theirs.clashes} />
        {save.error === null ? null : <Failure what="Task routing was not changed" error={save.error} />}
        <div className="row">
          <button type="submit" className="button button-primary" disabled={isSame || save.isPending || theirs.isBusy} aria-label={theirs.clashes.length > 0 ? undefined : "Save the models of tasks"}>{theirs.clashes.length > 0 ? "Save mine" : "Save"}</button>
          <button type="button" className="button" disabled={isSame} onClick={() => setDraft(routingDraftOf(stored))} aria-label="Discard the change of the models of tasks">Discard</button>
        </div>
      </form>
    </Panel>
  )
}
