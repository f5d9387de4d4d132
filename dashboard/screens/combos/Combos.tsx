/** Combos: named lists of models that clients call as one; what each would do now, and how its targets are. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, duration, percent } from "../../format/numbers.ts"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { isOwned, Owned } from "../../parts/edit/Theirs.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Chains } from "./Chains.tsx"
import { type Combo, Editor } from "./Editor.tsx"
import { Mappings } from "./Mappings.tsx"
import { strategies } from "./strategies.ts"
import { Targets } from "./Targets.tsx"

const EVERY_MS = 10_000

/** Asks the router, then if wanted the targets themselves. */
const DryRun = ({ combo, onClose }: { readonly combo: Combo; readonly onClose: () => void }) => {
  const explain = useQuery({
    queryKey: ["POST /api/routing/explain", combo.name],
    queryFn: ({ signal }) => call("POST /api/routing/explain", { body: { model: combo.name }, signal }),
    refetchInterval: EVERY_MS
  })
  const test = useChange("POST /api/combos/test", ["GET /api/usage/combo-health"])
  return (
    <Dialog title={`What ${combo.name} would do now`} wide onClose={onClose}>
      <p className="muted">Nothing is sent. The router answers as it would to a request.</p>
      <Failure what="No plan could be made" error={explain.error} retry={() => void explain.refetch()} />
      {explain.data === undefined ? explain.error === null ? <Skeleton rows={3} /> : null : <Targets plan={explain.data} />}
      <hr />
      <div className="row-wide">
        <p className="small muted">The test sends one small request to every target. It costs what they cost.</p>
        <Button disabled={test.isPending} onClick={() => test.mutate({ body: { comboName: combo.name } })}>{test.isPending ? "Asking" : "Test every target"}</Button>
      </div>
      <Failure what="The targets were not tested" error={test.error} />
      {test.data === undefined ? null : (
        <ul className="stack-tight" aria-label="Results">
          {test.data.results.map((result) => (
            <li key={result.executionKey} className="row wrap"><Status tone={result.status === "ok" ? "ok" : "bad"} word={result.model} /><span className="small muted">{duration(result.latencyMs)}{result.error === undefined || result.error === null ? "" : `, ${result.error}`}</span></li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}

const Card = ({ combo, onDelete, onEdit, onRun }: { readonly combo: Combo; readonly onEdit: () => void; readonly onDelete: () => void; readonly onRun: () => void }) => {
  const change = useChange("PUT /api/combos/:id", ["GET /api/combos"])
  const health = useRead("GET /api/usage/combo-health", { query: { comboId: combo.id } }, { everyMs: EVERY_MS })
  const targets = health.data?.combos[0]?.targetHealth ?? []
  return (
    <section className="panel" aria-label={combo.name}>
      <div className="panel-head">
        <div className="stack-tight">
          <h2 className="wrap">{combo.name}</h2>
          <span className="small muted wrap">{combo.description === null || combo.description === "" ? strategies[combo.strategy] ?? combo.strategy : combo.description}</span>
        </div>
        <div className="row">
          <Owned record={combo} />
          <span className="tag">{combo.strategy}</span>
          <Button kind="small" onClick={onRun} aria-label={`Dry run of ${combo.name}`}>Dry run</Button>
          <IconButton icon="edit" word="Edit" of={combo.name} onClick={onEdit} />
          <IconButton icon="trash" word="Delete" of={combo.name} onClick={onDelete} disabled={isOwned(combo)} />
          <Switch checked={combo.isActive} label={`${combo.name} is used`} disabled={change.isPending || isOwned(combo)} onChange={(isActive) => change.mutate({ params: { id: combo.id }, body: { isActive } })} />
        </div>
      </div>
      <div className="panel-body">
        <Failure what="The combo was not changed" error={change.error} />
        <ol className="stack-tight">
          {combo.models.map((step, index) => (
            <li key={step.id} className="row wrap">
              <span className="muted number">{index + 1}.</span>
              <span>{step.kind === "combo-ref" ? step.comboName : step.model}</span>
              {step.kind === "combo-ref" ? <span className="tag">combo</span> : null}
              {combo.strategy === "weighted" ? <span className="tag">weight {step.weight}</span> : null}
            </li>
          ))}
        </ol>
        {targets.every(({ requests }) => requests === 0) ? null : (
          <Table label={`Targets of ${combo.name}, last 24 hours`}>
              <Head of={["Target", ">Attempts", ">Success", ">Mean", "Used"]} />
              <tbody>
                {targets.map((target) => (
                  <tr key={target.executionKey}><td className="cut" title={target.model}>{target.model}</td><td className="end">{count(target.requests)}</td><td className="end">{percent(target.successRate)}</td><td className="end">{duration(target.avgLatencyMs)}</td><td><Ago at={target.lastUsedAt} /></td></tr>
                ))}
              </tbody>
            </Table>
        )}
      </div>
    </section>
  )
}

type Open = { readonly what: "edit" | "delete" | "run"; readonly combo: Combo } | { readonly what: "new" } | null

const Combos = () => {
  const read = useRead("GET /api/combos", {}, { everyMs: EVERY_MS })
  const auto = useRead("GET /api/combos/auto")
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const remove = useChange("DELETE /api/combos/:id", ["GET /api/combos"], close)
  const add = <Button kind="primary" onClick={() => setOpen({ what: "new" })}><Icon name="plus" size={16} />New combo</Button>
  return (
    <Page title="Combos" lead="A combo is a list of models under one name. Clients ask for the name; the strategy says which model answers." actions={add}>
      <Loaded read={read} what="The combos">
        {({ combos }) => combos.length === 0 ? <div className="panel"><Empty icon="combos" title="No combo yet" action={add}>Put a second model behind the first, and a broken provider costs you a moment instead of an answer.</Empty></div> : (
          <div className="stack">{combos.map((combo) => <Card key={combo.id} combo={combo} onEdit={() => setOpen({ what: "edit", combo })} onDelete={() => setOpen({ what: "delete", combo })} onRun={() => setOpen({ what: "run", combo })} />)}</div>
        )}
      </Loaded>
      {read.data === undefined || read.data.combos.length === 0 ? null : <Mappings combos={read.data.combos} />}
      <Chains />
      {auto.data === undefined || !auto.data.enabled ? null : (
        <Panel title="Automatic combos">
          <div className="panel-body">
            <p className="muted">The gateway keeps these by itself; clients ask for them by name.</p>
            <div className="row">{auto.data.variants.map(({ id }) => <code key={id} className="tag">{id}</code>)}</div>
          </div>
        </Panel>
      )}
      {open?.what === "new" ? <Editor combo={null} onClose={close} /> : null}
      {open?.what === "edit" ? <Editor combo={open.combo} onClose={close} /> : null}
      {open?.what === "run" ? <DryRun combo={open.combo} onClose={close} /> : null}
      {open?.what === "delete" ? (
        <Confirm title={`Delete ${open.combo.name}?`} confirm="Delete the combo" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.combo.id } })} failed="The combo was not deleted" error={remove.error}>
          <p>Clients that ask for this name are refused from then on. Its mappings are deleted, too.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Combos
