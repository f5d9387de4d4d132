/** Who changed what: filters stand in the address, secrets are already taken out by the gateway. */
import { useMutation } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import * as Notes from "../../api/notes.ts"
import { queryClient, useRead } from "../../api/query.ts"
import type { Screen } from "../../app/screens.ts"
import { clock, exact } from "../../format/time.ts"
import { filled } from "../../format/members.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { TextField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Button } from "../../parts/Button.tsx"
import { type Entry, inverseOf } from "./inverse.ts"

const EVERY_MS = 10_000
const ON_A_PAGE = 50

/** Where the records of a kind are. */
const places: Readonly<Record<string, Screen["path"]>> = {
  combo: "/combos", "combo-mapping": "/combos", apikey: "/keys", budget: "/limits", "token-limit": "/limits", provider: "/providers", "provider-node": "/providers", "provider-model": "/models", pricing: "/models",
  alias: "/models", webhook: "/webhooks", settings: "/settings", "feature-flag": "/settings", cache: "/cache", lease: "/leases", "eval-suite": "/evals", "eval-run": "/evals", "mcp-server": "/agents", file: "/work",
  batch: "/work", resilience: "/resilience", drill: "/resilience", backup: "/backups", proxy: "/proxies"
}

const Target = ({ row }: { readonly row: Entry }) => {
  const to = row.resource_type === null ? undefined : places[row.resource_type]
  const word = row.target ?? row.resource_type ?? "–"
  return to === undefined ? word : <Link to={to} {...(to === "/settings" && row.target !== null ? { search: { search: row.target } } : {})}>{word}</Link>
}

const Audit = () => {
  const search = useSearch({ from: "/audit" })
  const navigate = useNavigate({ from: "/audit" })
  const { action, actor, target } = search
  const page = Math.max(0, Math.floor(Number(search.page ?? 0)) || 0)
  const read = useRead("GET /api/compliance/audit-log", { query: { action, actor, target, limit: ON_A_PAGE, offset: page * ON_A_PAGE } }, { everyMs: EVERY_MS })
  const set = (change: Partial<typeof search>): void => void navigate({ search: filled({ ...search, page: "", ...change }), replace: true })
  const [undoing, setUndoing] = useState<Entry | null>(null)
  const inverse = undoing === null ? null : inverseOf(undoing)
  const undo = useMutation<unknown, Error>({
    mutationFn: () => inverse === null ? Promise.resolve() : inverse.run(),
    onSuccess: () => {
      void Notes.follow(Notes.tell(`Taken back: ${inverse?.word ?? ""}.`))
      setUndoing(null)
      void queryClient.invalidateQueries()
    }
  })
  const filtered = [action, actor, target].some((value) => value !== undefined)
  return (
    <Page title="Audit" lead="Every change of the configuration and every sign-in, newest first.">
      <Panel>
        <div className="panel-head">
          <div className="filters">
            <TextField label="Action" type="search" value={action ?? ""} placeholder="as in the list" onChange={(value) => set({ action: value })} />
            <TextField label="Actor" value={actor ?? ""} onChange={(value) => set({ actor: value })} />
            <TextField label="Target" value={target ?? ""} onChange={(value) => set({ target: value })} />
          </div>
          {filtered ? <Button kind="small" onClick={() => void navigate({ search: {} })}>Clear filters</Button> : null}
        </div>
        <Loaded read={read} what="The audit log" rows={8}>
          {(rows) => rows.length === 0 ? <Empty icon="audit" title={filtered || page > 0 ? "No entry fits" : "No entry yet"} /> : (
            <Table label="Audit" isStale={read.isPlaceholderData}>
              <Head of={["Time", "Action", "Actor", "Target", "Outcome", "Address", "", "Details"]} />
              <tbody>
                {rows.map((row) => (
                  <tr key={row.id}>
                    <td className="nowrap number" title={exact(row.timestamp)}>{clock(row.timestamp, read.dataUpdatedAt)}</td>
                    <td className="nowrap">{row.action}</td>
                    <td className="cut" title={row.actor}>{row.actor}</td>
                    <td className="cut" title={row.target ?? undefined}><Target row={row} /></td>
                    <td><Status tone={row.status === "success" ? "ok" : "bad"} word={row.status} /></td>
                    <td className="nowrap">{row.ip_address ?? "–"}</td>
                    <td className="actions">{inverseOf(row) === null ? null : <Button kind="small" onClick={() => setUndoing(row)} aria-label={`Take back ${row.action} ${row.target ?? ""}`.trim()}>Take back</Button>}</td>
                    <td>{Object.keys(row.details).length === 0 ? "–" : <details><summary>Show</summary><pre className="well small">{JSON.stringify(row.details, null, 2)}</pre></details>}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )}
        </Loaded>
        <div className="panel-head">
          <Button kind="small" disabled={page === 0} onClick={() => set({ page: page === 1 ? "" : String(page - 1) })}>Newer</Button>
          <span className="small muted number">Page {page + 1}</span>
          <Button kind="small" disabled={(read.data?.length ?? 0) < ON_A_PAGE} onClick={() => set({ page: String(page + 1) })}>Older</Button>
        </div>
      </Panel>
      {inverse === null ? null : (
        <Confirm title="Take the change back?" confirm="Take it back" pending={undo.isPending} onClose={() => setUndoing(null)} onConfirm={() => undo.mutate()} failed="It was not taken back" error={undo.error}>
          <p className="wrap">{inverse.word}. Later changes of the same are overwritten; this one stands in the audit, too.</p>
        </Confirm>
      )}
    </Page>
  )
}

export default Audit
