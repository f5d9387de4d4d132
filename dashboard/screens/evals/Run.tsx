/** Runs a suite against one target, or against two to compare them case by case; closing the window ends the run. */
import { useMutation } from "@tanstack/react-query"
import { useEffect, useId, useRef, useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { queryClient, useRead } from "../../api/query.ts"
import { count, duration, percent } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { choicesOf, SelectField, TextField } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { Table } from "../../parts/Table.tsx"
import { Button } from "../../parts/Button.tsx"
import type { EvalSuite, Overview } from "./Evals.tsx"

const LOOK_MS = 500

type Ran = Answer<"POST /api/evals">
type Target = Overview["recentRuns"][number]["target"]
type Result = Ran["runs"][number]["results"][number]

export const wordOf = ({ id, type }: Target): string => type === "suite-default" ? "each case's own model" : id ?? ""

/** What is typed: a combo's or a model's name; nothing = each case's own model. */
const targetOf = (name: string, targets: Overview["targets"]) => {
  const id = name.trim()
  if (id === "") return { type: "suite-default" as const }
  return { type: targets.some((target) => target.type === "combo" && target.id === id) ? "combo" as const : "model" as const, id }
}

const words = { passed: "Passed", failed: "Failed", error: "No answer" } as const
const tones = { passed: "ok", failed: "bad", error: "warn" } as const

const Cell = ({ result }: { readonly result: Result | undefined }) => result === undefined ? <td>–</td> : (
  <td className="wrap">
    <Status tone={tones[result.status]} word={words[result.status]} /> <span className="small muted number">{duration(result.latencyMs)}</span>
    <p className="small wrap">{result.error ?? result.output ?? ""}</p>
  </td>
)

export const Run = ({ onClose, overview, suite }: { readonly suite: EvalSuite; readonly overview: Overview; readonly onClose: () => void }) => {
  const list = useId()
  const [first, setFirst] = useState(suite.cases.every(({ model }) => model === null) ? "sim/echo" : "")
  const [second, setSecond] = useState("")
  const [key, setKey] = useState("")
  const abort = useRef<AbortController | null>(null)
  const [isStopped, setStopped] = useState(false)
  useEffect(() => () => abort.current?.abort(), [])
  const run = useMutation<Ran, Error>({
    mutationFn: () => {
      abort.current = new AbortController()
      setStopped(false)
      return call("POST /api/evals", {
        signal: abort.current.signal,
        body: { suiteId: suite.id, target: targetOf(first, overview.targets), ...(second.trim() === "" ? {} : { compareTarget: targetOf(second, overview.targets) }), ...(key === "" ? {} : { apiKeyId: key }) }
      })
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["GET /api/evals"] })
  })
  const progress = useRead("GET /api/evals/running", {}, { everyMs: run.isPending ? LOOK_MS : null, enabled: run.isPending })
  const now = run.isPending ? progress.data?.runs.find(({ suiteId }) => suiteId === suite.id) : undefined
  const runs = run.data?.runs ?? []
  const stop = (): void => {
    setStopped(true)
    abort.current?.abort()
  }
  return (
    <Dialog title={`Run ${suite.name}`} wide onClose={onClose} onSubmit={() => run.mutate()}>
      <div className="grid-fields">
        <TextField label="Target" value={first} onChange={setFirst} list={list} hint="A model or a combo; empty: each case's own model" />
        <TextField label="Compare with" value={second} onChange={setSecond} list={list} hint="A second target, if you like" />
        <SelectField label="In the name of" value={key} choices={[{ value: "", word: "You, without limits" }, ...choicesOf(overview.apiKeys)]} onChange={setKey} />
      </div>
      <datalist id={list}>{overview.targets.flatMap(({ id, label }) => id === null ? [] : [<option key={id} value={id}>{label}</option>])}</datalist>
      {run.isPending ? (
        <div role="status" aria-label="Progress of the run">
          <p className="small number">{now === undefined ? `${count(suite.cases.length)} cases are asked one after another` : `${count(now.done)} of ${count(now.cases)} cases of ${wordOf(now.target)}`}</p>
          <progress value={now?.done ?? 0} max={suite.cases.length} aria-label="Cases that have an answer" />
        </div>
      ) : null}
      {run.error === null ? null : isStopped ? <p role="status">The run was stopped; nothing of it is kept.</p> : <Failure what="The run did not end" error={run.error} />}
      {runs.length === 0 ? null : (
        <section className="stack-tight" aria-label="Results">
          {runs.map((one) => (
            <p key={one.id} role="status"><strong className="wrap">{wordOf(one.target)}</strong>: {count(one.passed)} of {count(one.cases)} passed{one.cases === 0 ? "" : ` (${percent(one.passed / one.cases)})`}{one.errors === 0 ? "" : `, ${count(one.errors)} without an answer`}</p>
          ))}
          <Table label="Results by case">
            <thead><tr><th scope="col">Case</th><th scope="col">Expected</th>{runs.map((one) => <th key={one.id} scope="col">{wordOf(one.target)}</th>)}</tr></thead>
            <tbody>
              {suite.cases.map((one) => (
                <tr key={one.id}><td className="wrap">{one.name}</td><td className="wrap"><code>{one.expected.value}</code></td>{runs.map(({ id, results }) => <Cell key={id} result={results.find(({ caseId }) => caseId === one.id)} />)}</tr>
              ))}
            </tbody>
          </Table>
        </section>
      )}
      <div className="dialog-foot">
        {run.isPending ? <Button onClick={stop}>Stop</Button> : null}
        <Button type="submit" kind="primary" disabled={run.isPending}>{run.isPending ? "Asking" : runs.length === 0 ? "Run" : "Run again"}</Button>
      </div>
    </Dialog>
  )
}
