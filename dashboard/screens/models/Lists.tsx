/** Public lists of prices and of facts about models: when each was read, what it left open, and a reading now. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import { count, counted } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 30_000
/** Warnings that are drawn. */
const SHOWN = 20

type Schedule = Answer<"GET /api/pricing/sync">

const lists = [
  { path: "/api/pricing/sync", word: "Prices", setting: "Your own prices go before them, shipped ones behind them." },
  { path: "/api/settings/models-dev", word: "Facts of models", setting: "Limits, modalities and capabilities, by models.dev." }
] as const

const State = ({ schedule: { enabled, lastError, lastSync, nextSync, sources } }: { readonly schedule: Schedule }) => {
  const warnings = sources.flatMap(({ source, warnings: said }) => said.map((text) => `${source}: ${text}`))
  return (
    <>
      <p className="wrap">
        {lastError !== null ? <Status tone="bad" word="The last reading failed" /> : enabled ? <Status tone="ok" word="Read on a schedule" /> : <Status tone="off" word="Read by hand" />}
        <span className="small muted"> {lastSync === null ? "Never yet" : <>Last <Ago at={lastSync} /></>}{nextSync === null ? "" : <>, next in <Countdown until={nextSync} /></>}.</span>
      </p>
      {lastError === null ? null : <p className="small wrap">{lastError}</p>}
      {sources.length === 0 ? null : (
        <Table label="Sources">
          <Head of={["Source", ">Models", ">Providers", "Read"]} />
          <tbody>{sources.map((one) => <tr key={one.source}><td title={one.host}>{one.source}</td><td className="end">{count(one.modelCount)}</td><td className="end">{count(one.providerCount)}</td><td><Ago at={one.syncedAt} /></td></tr>)}</tbody>
        </Table>
      )}
      {warnings.length === 0 ? null : (
        <details>
          <summary>{counted(warnings.length, "warning", "warnings")}</summary>
          <ul className="stack-tight small">{warnings.slice(0, SHOWN).map((text) => <li key={text} className="wrap">{text}</li>)}</ul>
          {warnings.length > SHOWN ? <p className="small muted">{count(warnings.length - SHOWN)} more are in the answer of the API.</p> : null}
        </details>
      )}
    </>
  )
}

const List = ({ path, setting, word }: typeof lists[number]) => {
  const read = useRead(`GET ${path}`, {}, { everyMs: EVERY_MS })
  const [isClearing, setClearing] = useState(false)
  const touched = [`GET ${path}`, "GET /api/pricing", "GET /api/pricing/models"] as const
  const sync = useChange(`POST ${path}`, touched, undefined, { said: ({ modelCount, source, warnings = [] }) => `${counted(modelCount, "model is", "models are")} read from ${source}${warnings.length === 0 ? "" : `, with ${counted(warnings.length, "warning", "warnings")}`}.` })
  const clear = useChange(`DELETE ${path}`, touched, () => setClearing(false), { said: ({ cleared }) => `${counted(cleared, "entry is", "entries are")} removed.` })
  const held = read.data?.sources.length ?? 0
  return (
    <Panel
      title={`${word} from public lists`} actions={(
        <div className="row">
          <Button kind="small" disabled={sync.isPending} onClick={() => sync.mutate({ body: {} }, { onError: () => void queryClient.invalidateQueries({ queryKey: [`GET ${path}`] }) })} aria-label={`Read now: ${word.toLowerCase()}`}>{sync.isPending ? "Reading" : "Read now"}</Button>
          {held === 0 ? null : <Button kind="small" onClick={() => setClearing(true)} aria-label={`Remove … ${word.toLowerCase()} of lists`}>Remove …</Button>}
        </div>
      )}
    >
      <div className="panel-body">
        <p className="small muted">{setting}</p>
        <Failure what="The list was not read; what is stored stays" error={sync.error} />
        <Loaded read={read} what={`The state of ${word.toLowerCase()}`} rows={2}>{(schedule) => <State schedule={schedule} />}</Loaded>
      </div>
      {isClearing ? (
        <Confirm title={`Remove ${word.toLowerCase()} of lists?`} confirm="Remove them" pending={clear.isPending} onClose={() => setClearing(false)} onConfirm={() => clear.mutate({})} failed="Nothing was removed" error={clear.error}>
          <p>What is shipped with the gateway and what you set yourself stays. A reading brings them back.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}

export const Lists = () => <div className="columns">{lists.map((list) => <List key={list.path} {...list} />)}</div>
