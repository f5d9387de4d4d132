/** What ran, in whose name, and what came out; the newest first. */
import { useState } from "react"
import { useEveryKey } from "../../api/everyKey.ts"
import { useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { choicesOf, SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Pager, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { Outcome } from "./Run.tsx"
import { type Execution, fullName, type Skill, states } from "./words.ts"

const EVERY_MS = 10_000
const ON_A_PAGE = 25

export const Executions = ({ onTurn, page, skills }: { readonly skills: ReadonlyArray<Skill>; readonly page: number; readonly onTurn: (page: number) => void }) => {
  const keys = useEveryKey().data ?? []
  const [key, setKey] = useState("")
  const [open, setOpen] = useState<Execution | null>(null)
  const read = useRead("GET /api/skills/executions", { query: { page: page + 1, limit: ON_A_PAGE, apiKeyId: key } }, { everyMs: EVERY_MS })
  const nameOf = ({ skillId }: Execution): string => {
    const skill = skills.find(({ id }) => id === skillId)
    return skill === undefined ? skillId : fullName(skill)
  }
  const choose = (value: string): void => {
    setKey(value)
    onTurn(0)
  }
  return (
    <Panel title="Executions" actions={read.data === undefined ? null : <span className="small muted number">{count(read.data.total)} kept</span>}>
      <Loaded read={read} what="The executions" rows={3}>
        {({ data, totalPages }) => (
          <>
            {data.length === 0 && key === "" ? <Empty icon="skills" title="Nothing ran yet" /> : (
              <>
                <div className="panel-head"><div className="filters"><SelectField label="In the name of" value={key} choices={[{ value: "", word: "Any key" }, ...choicesOf(keys)]} onChange={choose} /></div></div>
                {data.length === 0 ? <Empty icon="search" title="Nothing ran in its name" /> : (
                  <Table label="Executions" isStale={read.isPlaceholderData}>
                    <Head of={["Skill", "State", "In the name of", ">Took", "Begun", ""]} />
                    <tbody>
                      {data.map((execution) => (
                        <tr key={execution.id}>
                          <td className="cut" title={nameOf(execution)}>{nameOf(execution)}</td><td><Status {...states[execution.status]} title={execution.errorMessage ?? undefined} /></td><td className="cut">{keys.find(({ id }) => id === execution.apiKeyId)?.name ?? execution.apiKeyId}</td><td className="end">{duration(execution.durationMs)}</td><td><Ago at={execution.createdAt} /></td>
                          <td className="actions"><Button kind="small" onClick={() => setOpen(execution)} aria-label={`Look into the execution ${execution.id}`}>Look</Button></td>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
                )}
              </>
            )}
            <Pager label="executions" page={page} hasOlder={page + 1 < totalPages} onTurn={onTurn} />
          </>
        )}
      </Loaded>
      {open === null ? null : (
        <Dialog title={`Execution of ${nameOf(open)}`} onClose={() => setOpen(null)}>
          <h3>Input</h3>
          <pre className="well well-scroll" tabIndex={0} aria-label="Input">{JSON.stringify(open.input, null, 2)}</pre>
          <Outcome execution={open} />
          <p className="small muted">Session: {open.sessionId ?? "none"}. Id: <code>{open.id}</code></p>
        </Dialog>
      )}
    </Panel>
  )
}
