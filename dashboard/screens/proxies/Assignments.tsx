/** What leaves by which proxy, and which one the calls of a connection take. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { Assign } from "./Assign.tsx"
import { useTargets } from "./names.ts"
import { addressOf, type Assignment, type Proxy, scopes } from "./words.ts"

const EVERY_MS = 10_000

/** The way of a connection's calls, as the gateway would choose it. */
const Way = () => {
  const targets = useTargets()
  const [chosen, setChosen] = useState("")
  const id = chosen === "" ? targets.account[0]?.id ?? "" : chosen
  const read = useRead("GET /api/v1/management/proxies/assignments", { query: { resolve_connection_id: id } }, { everyMs: EVERY_MS, enabled: id !== "" })
  return id === "" ? null : (
    <div className="panel-body">
      <SelectField label="Which way do the calls of a connection go?" value={id} choices={targets.account.map((target) => ({ value: target.id, word: target.name }))} onChange={setChosen} hint="For a caller whose key and combo have no proxy of their own" />
      <Loaded read={read} what="The way" rows={1}>
        {(way) => !("level" in way) ? null : (
          <p className="wrap" role="status">
            {way.proxy === null ? <Status tone="ok" word="Direct" /> : <><Status tone={way.proxy.status === "active" ? "ok" : "bad"} word={`By ${way.proxy.name}`} /> <span className="small muted"><code>{addressOf(way.proxy)}</code>, {way.level === "direct" ? "" : way.level === "auto" ? "chosen, because nothing is assigned" : `assigned to: ${scopes[way.level].word}`}{way.proxy.status === "active" ? "" : "; it is inactive, so they fail"}</span></>}
          </p>
        )}
      </Loaded>
    </div>
  )
}

export const Assignments = ({ list, proxies }: { readonly list: ReadonlyArray<Assignment>; readonly proxies: ReadonlyArray<Proxy> }) => {
  const targets = useTargets()
  const [assigning, setAssigning] = useState(false)
  const nameOf = ({ scope, scopeId }: Assignment): string => scope === "global" ? "All calls" : targets[scope].find(({ id }) => id === scopeId)?.name ?? scopeId ?? "–"
  const remove = useChange("PUT /api/v1/management/proxies/assignments", ["GET /api/v1/management/proxies/assignments"], undefined, {
    said: "The assignment is removed.",
    undo: (_, { body }) => {
      const before = list.find(({ scope, scopeId }) => scope === body?.scope && scopeId === (body.scopeId ?? null))
      return before === undefined ? null : () => call("PUT /api/v1/management/proxies/assignments", { body: { scope: before.scope, scopeId: before.scopeId, proxyId: before.proxyId } })
    }
  })
  const add = <Button kind="small" disabled={proxies.length === 0} onClick={() => setAssigning(true)}>Assign a proxy</Button>
  return (
    <Panel title="What leaves by them" actions={add}>
      <Way />
      <Failure what="The assignment was not removed" error={remove.error} inPanel />
      {list.length === 0 ? <Empty icon="proxies" title="Nothing is assigned">All calls to providers go direct.</Empty> : (
        <Rows label="Assignments" rows={list} head={["Level", "What", "Proxy", "Since", ""]}>
          {(one, index) => {
            const name = nameOf(one)
            return (
              <tr key={`${one.scope} ${one.scopeId ?? ""}`} aria-rowindex={index + 2}>
                <td>{scopes[one.scope].one}</td><td className="cut" title={name}>{name}</td><td className="cut">{proxies.find(({ id }) => id === one.proxyId)?.name ?? one.proxyId}</td><td><Ago at={one.assignedAt} /></td>
                <td className="actions"><Button kind="small" disabled={remove.isPending} onClick={() => remove.mutate({ body: { scope: one.scope, scopeId: one.scopeId, proxyId: null } })} aria-label={`Remove the assignment of ${name}`}>Remove</Button></td>
              </tr>
            )
          }}
        </Rows>
      )}
      {assigning ? <Assign proxies={proxies} onClose={() => setAssigning(false)} /> : null}
    </Panel>
  )
}
