/** Patterns of model names that a combo answers: clients keep the name they have always asked for. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { choicesOf, SelectField, Switch, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import type { Combo } from "./draft.ts"

type Mapping = Answer<"GET /api/model-combo-mappings">["mappings"][number]

const touched = ["GET /api/model-combo-mappings"] as const

const Row = ({ combo, mapping }: { readonly mapping: Mapping; readonly combo: string }) => {
  const params = { id: mapping.id }
  const change = useChange("PUT /api/model-combo-mappings/:id", touched, undefined, {
    said: ({ mapping: { enabled, pattern } }) => `${pattern} is ${enabled ? "mapped" : "left alone"}.`,
    undo: (_, { body }) => () => call("PUT /api/model-combo-mappings/:id", { params, body: { enabled: body?.enabled !== true } })
  })
  const remove = useChange("DELETE /api/model-combo-mappings/:id", touched, undefined, {
    said: "The mapping is deleted.",
    undo: () => () => call("POST /api/model-combo-mappings", { body: { pattern: mapping.pattern, comboId: mapping.comboId, priority: mapping.priority, enabled: mapping.enabled, description: mapping.description } })
  })
  const error = change.error ?? remove.error
  return (
    <tr>
      <td className="wrap"><code>{mapping.pattern}</code>{error === null ? null : <p className="small" role="alert">{error.message}</p>}</td><td className="cut" title={combo}>{combo}</td><td className="end">{mapping.priority}</td>
      <Actions>
        <IconButton icon="trash" word="Delete" of={`the mapping of ${mapping.pattern}`} disabled={remove.isPending} onClick={() => remove.mutate({ params })} />
        <Switch checked={mapping.enabled} label={`${mapping.pattern} is mapped`} disabled={change.isPending} onChange={(enabled) => change.mutate({ params, body: { enabled } })} />
      </Actions>
    </tr>
  )
}

export const Mappings = ({ combos }: { readonly combos: ReadonlyArray<Combo> }) => {
  const read = useRead("GET /api/model-combo-mappings")
  const [pattern, setPattern] = useState("")
  const [chosen, setCombo] = useState("")
  const [priority, setPriority] = useState("0")
  const comboId = combos.some(({ id }) => id === chosen) ? chosen : combos[0]?.id ?? ""
  const add = useChange("POST /api/model-combo-mappings", touched, () => setPattern(""), {
    said: ({ mapping }) => `${mapping.pattern} is mapped.`, undo: ({ mapping: { id } }) => () => call("DELETE /api/model-combo-mappings/:id", { params: { id } })
  })
  return (
    <Panel title="Names that combos answer">
      <Form onSubmit={() => add.mutate({ body: { pattern: pattern.trim(), comboId, priority: Number(priority) } })}>
        <div className="grid-fields">
          <TextField label="Pattern of model names" value={pattern} onChange={setPattern} placeholder="gpt-4*" hint="* stands for any text" wrong={wrongWith(add.error, "pattern")} />
          <SelectField label="Answered by" value={comboId} choices={choicesOf(combos)} onChange={setCombo} wrong={wrongWith(add.error, "comboId")} />
          <TextField label="Priority" type="number" value={priority} onChange={setPriority} hint="Where several fit, the highest holds" wrong={wrongWith(add.error, "priority")} />
        </div>
        <Failure what="The mapping was not stored" error={add.error} />
        <div className="row"><Button type="submit" kind="small" disabled={add.isPending || pattern.trim() === "" || comboId === "" || priority === ""}>Map the names</Button></div>
      </Form>
      <Loaded read={read} what="The mappings" rows={1}>
        {({ mappings }) => mappings.length === 0 ? <Empty icon="combos" title="No name is mapped">Map a vendor’s model name to a combo, and clients need no change.</Empty> : (
          <Table label="Mappings">
            <Head of={["Pattern", "Answered by", ">Priority", ""]} />
            <tbody>{mappings.map((mapping) => <Row key={mapping.id} mapping={mapping} combo={combos.find(({ id }) => id === mapping.comboId)?.name ?? mapping.comboId} />)}</tbody>
          </Table>
        )}
      </Loaded>
    </Panel>
  )
}
