/** Other names of models, and who would answer to a name now. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Targets } from "../combos/Targets.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"

const touched = ["GET /api/settings/model-aliases", "GET /api/pricing/models"] as const

export const Aliases = ({ list }: { readonly list: string }) => {
  const read = useRead("GET /api/settings/model-aliases")
  const [from, setFrom] = useState("")
  const [to, setTo] = useState("")
  const add = useChange("POST /api/settings/model-aliases", touched, () => {
    setFrom("")
    setTo("")
  }, {
    said: "The alias is set.",
    undo: (_, { body }) => {
      const before = read.data?.aliases[body?.from ?? ""]
      return () => before === undefined ? call("DELETE /api/settings/model-aliases", { query: { from: body?.from } }) : call("POST /api/settings/model-aliases", { body: { from: body?.from ?? "", to: before } })
    }
  })
  const remove = useChange("DELETE /api/settings/model-aliases", touched, undefined, {
    said: "The alias is taken away.",
    undo: (_, { query }) => {
      const name = String(query?.from ?? "")
      const before = read.data?.aliases[name]
      return before === undefined ? null : () => call("POST /api/settings/model-aliases", { body: { from: name, to: before } })
    }
  })
  const error = add.error ?? remove.error
  return (
    <Panel title="Aliases">
      <Form onSubmit={() => add.mutate({ body: { from: from.trim(), to: to.trim() } })}>
        <div className="grid-fields">
          <TextField label="Alias" value={from} onChange={setFrom} hint="What clients ask for" wrong={wrongWith(add.error, "from")} />
          <TextField label="Stands for" value={to} list={list} onChange={setTo} wrong={wrongWith(add.error, "to")} />
        </div>
        <Failure what="The alias was not changed" error={error} />
        <div className="row"><Button type="submit" kind="small" disabled={add.isPending || from.trim() === "" || to.trim() === ""}>Set the alias</Button></div>
      </Form>
      <Loaded read={read} what="The aliases" rows={1}>
        {({ aliases }) => Object.keys(aliases).length === 0 ? <Empty icon="models" title="No alias yet">Let clients ask for a name of yours, and change what answers without them.</Empty> : (
          <Table label="Aliases">
            <Head of={["Alias", "Stands for", ""]} />
            <tbody>
              {Object.entries(aliases).map(([name, model]) => (
                <tr key={name}>
                  <td className="cut" title={name}>{name}</td><td className="cut" title={model}>{model}</td>
                  <td className="actions"><IconButton icon="trash" word="Delete" of={`the alias ${name}`} disabled={remove.isPending} onClick={() => remove.mutate({ query: { from: name } })} /></td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
    </Panel>
  )
}

export const WhoAnswers = ({ list }: { readonly list: string }) => {
  const [name, setName] = useState("")
  const explain = useChange("POST /api/routing/explain", [])
  return (
    <Panel title="Who answers to a name?">
      <Form onSubmit={() => explain.mutate({ body: { model: name.trim() } })}>
        <TextField label="Name that a client asks for" value={name} list={list} onChange={setName} hint="A model, an alias, a combo or a mapped name. Nothing is sent." />
        <div className="row"><Button type="submit" kind="small" disabled={explain.isPending || name.trim() === ""}>Find out</Button></div>
        <Failure what="No plan could be made" error={explain.error} />
        {explain.data === undefined ? null : <Targets plan={explain.data} />}
      </Form>
    </Panel>
  )
}
