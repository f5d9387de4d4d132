/** A whole output that was sent shorter, by the id that its shorter text names. Each reading stands in the audit. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { bytes } from "../../format/bytes.ts"
import { Form } from "../../parts/edit/Form.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Ago } from "../../parts/Time.tsx"

export const Whole = () => {
  const [id, setId] = useState("")
  const read = useChange("GET /api/context/rtk/raw-output/:id", [])
  return (
    <Panel title="A whole output">
      <Form onSubmit={() => read.mutate({ params: { id: id.trim() } })}>
        <TextField label="Id of an output" value={id} onChange={setId} hint="A shorter text ends with it: [Whole output: id]. Kept only as the filters of commands say" />
        <Submit failed="The output was not read" of={read} isOff={id.trim() === ""}>Read it</Submit>
        {read.data === undefined ? null : (
          <div className="stack-tight" role="status">
            <p className="small muted">{bytes(read.data.bytes)}{read.data.cut ? ", of which only the beginning is kept" : ""}, kept <Ago at={read.data.keptAt} /></p>
            <pre className="well well-scroll" tabIndex={0} aria-label="Whole output">{read.data.text}</pre>
          </div>
        )}
      </Form>
    </Panel>
  )
}
