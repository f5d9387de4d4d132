/** Stores many keys at once: each line succeeds or fails by itself, and those that failed stay to be mended. */
import { useId, useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, Check, TextField } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { keyLines } from "./keyLines.ts"
import { useVendors } from "./vendors.ts"

type Report = Answer<"POST /api/providers/import">

const MOST_LINES = 200

const Results = ({ report }: { readonly report: Report }) => (
  <section className="stack-tight" aria-label="Results">
    <p role="status">{count(report.created)} of {count(report.total)} keys are stored.{report.failed === 0 ? "" : " Lines that failed stand above; mend them and try again."}</p>
    <Table label="Results by line">
      <Head of={["Name", "Provider", "Result"]} />
      <tbody>
        {report.results.map((row) => (
          <tr key={row.index}>
            <td className="cut" title={row.name}>{row.name}</td><td className="cut">{row.provider}</td>
            <td className="wrap"><Status tone={row.success ? "ok" : "bad"} word={row.success ? "Stored" : "Failed"} />{row.error === undefined ? null : <p className="small muted">{row.error}</p>}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  </section>
)

export const Many = () => {
  const vendors = useVendors()
  const list = useId()
  const [text, setText] = useState("")
  const [otherwise, setOtherwise] = useState("")
  const [validates, setValidates] = useState(true)
  const lines = keyLines(text, vendors, otherwise)
  const unknown = lines.filter(({ provider }) => provider === null).length
  const add = useChange("POST /api/providers/import", ["GET /api/providers", "GET /api/providers/client"], ({ results }) => {
    setText(results.filter(({ success }) => !success).map(({ index }) => lines[index]?.line ?? "").join("\n"))
  })
  return (
    <Form className="stack" onSubmit={() => add.mutate({ body: { validateKeys: validates, entries: lines.map(({ apiKey, name, provider }) => ({ apiKey, name, provider: provider ?? "" })) } })}>
      <AreaField label="Keys, one per line" rows={6} value={text} onChange={setText} hint="provider, name, key: the provider may be left out where the key's first characters tell it, and the name everywhere" />
      <div className="grid-fields">
        <TextField label="Provider of lines that name none" value={otherwise} list={list} onChange={setOtherwise} />
      </div>
      <datalist id={list}>{vendors.map((vendor) => <option key={vendor.id} value={vendor.id}>{vendor.name}</option>)}</datalist>
      <Check checked={validates} onChange={setValidates}>Ask each provider first, and store only what it takes</Check>
      {lines.length === 0 ? null : <p className="small" aria-live="polite">{count(lines.length)} keys{unknown === 0 ? "" : `; of ${count(unknown)} the provider is not known`}{lines.length > MOST_LINES ? `; ${MOST_LINES} at most can be stored at once` : ""}</p>}
      <Failure what="No key was stored" error={add.error} />
      {add.data === undefined ? null : <Results report={add.data} />}
      <div className="dialog-foot"><Button type="submit" kind="primary" disabled={add.isPending || lines.length === 0 || unknown > 0 || lines.length > MOST_LINES}>{add.isPending ? "Asking" : "Add the keys"}</Button></div>
    </Form>
  )
}
