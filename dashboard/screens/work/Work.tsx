/** Files that clients and operators gave, and the batches that run over them. */
import { useState } from "react"
import { Page } from "../../parts/Page.tsx"
import { Button } from "../../parts/Button.tsx"
import { Batches } from "./Batches.tsx"
import { Create } from "./Create.tsx"
import { Files } from "./Files.tsx"

const Work = () => {
  const [creating, setCreating] = useState<string | null>(null)
  return (
    <Page
      title="Files & batches" lead="A batch runs the requests of a file in the background, line by line, and writes a file of answers and one of errors."
      actions={<Button kind="primary" onClick={() => setCreating("")}>New batch</Button>}
    >
      <Batches onNew={() => setCreating("")} />
      <Files onRun={setCreating} />
      {creating === null ? null : <Create fileId={creating} onClose={() => setCreating(null)} />}
    </Page>
  )
}

export default Work
