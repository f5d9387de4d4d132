/** Removes what is recorded of requests before its time; what a limit still counts stays. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { counted } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Button } from "../../parts/Button.tsx"

const purges = [
  { call: "POST /api/settings/purge-request-history", word: "Calls and their kept bodies", hint: "Sums and lists of usage lose them. Calls that a limit of their key still counts stay.", one: "call is removed", many: "calls are removed" },
  { call: "POST /api/settings/purge-call-logs", word: "Calls of the ledger", hint: "Without their kept bodies. Calls that a limit of their key still counts stay.", one: "call is removed", many: "calls are removed" },
  { call: "POST /api/settings/purge-detailed-logs", word: "Kept bodies of calls", hint: "Prompts and answers that were kept go; the calls stay.", one: "record of bodies is removed", many: "records of bodies are removed" },
  { call: "POST /api/settings/purge-quota-snapshots", word: "Readings of vendors' quotas", hint: "The newest of each window stays.", one: "reading is removed", many: "readings are removed" }
] as const
type Purge = typeof purges[number]

const Ask = ({ onClose, purge }: { readonly purge: Purge; readonly onClose: () => void }) => {
  const remove = useChange(purge.call, ["GET /api/usage/call-logs", "GET /api/usage/reconciliation", "GET /api/storage/health"], onClose, { said: ({ deleted }) => `${counted(deleted, purge.one, purge.many)}.`, isRecord: false })
  return (
    <Confirm title={`Remove: ${purge.word}`} confirm="Remove them" typed="remove" pending={remove.isPending} onClose={onClose} onConfirm={() => remove.mutate({})} failed="Nothing more was removed" error={remove.error}>
      <p>{purge.hint} No backup without the ledger brings them back.</p>
    </Confirm>
  )
}

export const Purges = () => {
  const [asked, setAsked] = useState<Purge | null>(null)
  return (
    <Panel title="Remove what is recorded">
      <ul className="list">
        {purges.map((purge) => (
          <li key={purge.call} className="row-wide">
            <div className="stack-tight"><strong>{purge.word}</strong><p className="small muted">{purge.hint}</p></div>
            <Button kind="small danger" onClick={() => setAsked(purge)} aria-label={`Remove: ${purge.word}`}>Remove …</Button>
          </li>
        ))}
      </ul>
      {asked === null ? null : <Ask purge={asked} onClose={() => setAsked(null)} />}
    </Panel>
  )
}
