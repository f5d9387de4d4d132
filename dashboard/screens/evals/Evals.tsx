/** Which model is good enough: suites of questions with known answers, runs over them, and two targets side by side. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, duration, percent } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Run, wordOf } from "./Run.tsx"
import { Suite } from "./Suite.tsx"

export type Overview = Answer<"GET /api/evals">
export type EvalSuite = Overview["suites"][number]

type Open = { readonly what: "new" } | { readonly what: "edit" | "run" | "delete"; readonly suite: EvalSuite } | null

/** The body that makes a suite again as it was. */
const bodyOf = ({ cases, description, id, name }: EvalSuite): Body<"POST /api/evals/suites"> => ({ id, name, description, cases })

const Models = ({ scorecard }: { readonly scorecard: Overview["scorecard"] }) => (
  <Table label="Models in runs">
    <Head of={["Model", ">Cases", ">Passed", ">Share", ">Takes"]} />
    <tbody>
      {scorecard.models.map((row) => (
        <tr key={row.model}><td className="cut" title={row.model}>{row.model}</td><td className="end">{count(row.cases)}</td><td className="end">{count(row.passed)}</td><td className="end">{percent(row.passRate)}</td><td className="end">{duration(row.avgLatencyMs)}</td></tr>
      ))}
    </tbody>
  </Table>
)

const Evals = () => {
  const read = useRead("GET /api/evals")
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const remove = useChange("DELETE /api/evals/suites/:id", ["GET /api/evals"], close, {
    said: "The suite is deleted; its runs stay.",
    undo: () => {
      const gone = open?.what === "delete" ? open.suite : null
      return gone === null ? null : () => call("POST /api/evals/suites", { body: bodyOf(gone) })
    }
  })
  return (
    <Page
      title="Evals" lead="Questions with known answers, asked of models and combos. A combo can order its targets by how well they did."
      actions={<Button kind="primary" onClick={() => setOpen({ what: "new" })}><Icon name="plus" size={16} />New suite</Button>}
    >
      <Loaded read={read} what="The evals">
        {(overview) => (
          <>
            <Panel title="Suites">
              <Table label="Suites">
                <Head of={["Suite", ">Cases", "Changed", ""]} />
                <tbody>
                  {overview.suites.map((suite) => (
                    <tr key={suite.id}>
                      <td><strong className="wrap">{suite.name}</strong>{suite.builtIn ? <> <span className="tag">built in</span></> : null}<p className="small muted wrap">{suite.description ?? ""}</p></td>
                      <td className="end">{count(suite.cases.length)}</td><td>{suite.builtIn ? <span className="muted">never</span> : <Ago at={suite.updatedAt} />}</td>
                      <Actions>
                        <Button kind="small primary" onClick={() => setOpen({ what: "run", suite })} aria-label={`Run ${suite.name}`}>Run</Button>
                        <Button kind="small" onClick={() => setOpen({ what: "edit", suite })} aria-label={`${suite.builtIn ? "Look into" : "Edit"} ${suite.name}`}>{suite.builtIn ? "Look" : "Edit"}</Button>
                        {suite.builtIn ? null : <IconButton icon="trash" word="Delete" of={suite.name} onClick={() => setOpen({ what: "delete", suite })} />}
                      </Actions>
                    </tr>
                  ))}
                </tbody>
              </Table>
            </Panel>
            <div className="columns">
              <Panel title="Newest runs">
                {overview.recentRuns.length === 0 ? <Empty icon="evals" title="No run yet">Run the built-in suite against <code>sim/echo</code>: it costs nothing.</Empty> : (
                  <Table label="Runs">
                    <Head of={["Suite", "Target", ">Passed", ">Failed", ">No answer", "Ended"]} />
                    <tbody>
                      {overview.recentRuns.map((run) => (
                        <tr key={run.id}>
                          <td className="cut" title={run.suiteName}>{run.suiteName}</td><td className="cut" title={wordOf(run.target)}>{wordOf(run.target)}</td><td className="end">{count(run.passed)} of {count(run.cases)}</td><td className="end">{count(run.failed)}</td><td className="end">{count(run.errors)}</td><td><Ago at={run.finishedAt} /></td>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
                )}
              </Panel>
              <Panel title="How models did">{overview.scorecard.models.length === 0 ? <Empty icon="models" title="No answer was judged yet" /> : <Models scorecard={overview.scorecard} />}</Panel>
            </div>
            {open?.what === "run" ? <Run suite={open.suite} overview={overview} onClose={close} /> : null}
          </>
        )}
      </Loaded>
      {open?.what === "new" ? <Suite suite={null} onClose={close} /> : null}
      {open?.what === "edit" ? <Suite suite={open.suite} onClose={close} /> : null}
      {open?.what === "delete" ? (
        <Confirm title={`Delete ${open.suite.name}?`} confirm="Delete the suite" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.suite.id } })} failed="The suite was not deleted" error={remove.error}>
          <p>Its {count(open.suite.cases.length)} cases are deleted. What was run stays.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Evals
