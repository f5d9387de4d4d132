/** Calls of tools: which, whose, how they ended. What they were asked is kept as a hash only. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { Problem } from "../../api/call.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { filled } from "../../format/members.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Status } from "../../parts/Status.tsx"
import { Pager, pageOf, pageText } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 5_000
const ON_A_PAGE = 500

const states = [{ value: "", word: "All" }, { value: "true", word: "Succeeded" }, { value: "false", word: "Failed" }]

export const Audit = () => {
  const place = useSearch({ from: "/agents" })
  const { page: at = "", state = "", tool = "" } = place
  const navigate = useNavigate({ from: "/agents" })
  const page = pageOf(at)
  const keys = useEveryKey()
  const stats = useRead("GET /api/mcp/audit/stats", {}, { everyMs: EVERY_MS })
  const read = useRead("GET /api/mcp/audit", { query: { limit: ON_A_PAGE, offset: page * ON_A_PAGE, ...(tool === "" ? {} : { tool }), ...(state === "" ? {} : { success: state }) } }, { everyMs: EVERY_MS })
  const set = (change: { readonly tool?: string; readonly state?: string; readonly page?: string }): void => void navigate({ search: filled({ ...place, page: "", ...change }), replace: true })
  const nameOf = (id: string | null): string => id === null ? "an operator" : keys.data?.find((key) => key.id === id)?.name ?? id
  if (read.error instanceof Problem && read.error.code === "LOCAL_ONLY") return null
  return (
    <Panel title="Calls of tools">
      {stats.data === undefined || stats.data.topTools.length === 0 ? null : (
        <p className="panel-body small muted">Most called in 24 hours: {stats.data.topTools.slice(0, 5).map(({ count: calls, tool: name }) => `${name} (${count(calls)})`).join(", ")}</p>
      )}
      <div className="panel-head">
        <div className="filters">
          <TextField className="field-wide" label="Tool" value={tool} onChange={(value) => set({ tool: value })} placeholder="its name in full" />
          <SelectField label="Outcome" value={state} choices={states} onChange={(value) => set({ state: value })} />
        </div>
      </div>
      <Loaded read={read} what="The calls of tools">
        {({ entries, total }) => entries.length === 0 ? (
          <Empty icon="agents" title={tool === "" && state === "" && page === 0 ? "No tool was called yet" : "No call fits"} action={tool === "" && state === "" && page === 0 ? undefined : <Button onClick={() => void navigate({ search: {} })}>Show all</Button>} />
        ) : (
          <>
            <Rows label="Calls of tools" rows={entries} head={["When", "Tool", "Caller", "Outcome", ">Took", "Hash of the arguments"]}>
              {(entry, index) => (
                <tr key={entry.id} aria-rowindex={index + 2}>
                  <td><Ago at={entry.createdAt} /></td><td className="cut mono" title={entry.toolName}>{entry.toolName}</td><td className="cut" title={nameOf(entry.apiKeyId)}>{nameOf(entry.apiKeyId)}</td>
                  <td><Status tone={entry.success ? "ok" : "bad"} word={entry.success ? "Succeeded" : entry.errorCode ?? "Failed"} title={entry.outputSummary ?? undefined} /></td>
                  <td className="end">{duration(entry.durationMs)}</td><td><Copy value={entry.inputHash} /></td>
                </tr>
              )}
            </Rows>
            {total > ON_A_PAGE ? <p className="panel-body small muted number">{count(page * ON_A_PAGE + 1)} to {count(page * ON_A_PAGE + entries.length)} of {count(total)}</p> : null}
            <Pager label="calls of tools" page={page} hasOlder={(page + 1) * ON_A_PAGE < total} onTurn={(next) => set({ page: pageText(next) })} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}
