/** Connections: stored credentials of providers, how each is, and until when it rests. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, percent } from "../../format/numbers.ts"
import { Meter } from "../../parts/Bars.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Switch, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { useNow } from "../../parts/now.ts"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { isOwned, Owned } from "../../parts/edit/Theirs.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Add } from "./Add.tsx"
import { Edit } from "./Edit.tsx"
import { Nodes } from "./Nodes.tsx"
import { SignIn } from "./SignIn.tsx"
import { type Connection, endsSoon, stateOf, summaryOf } from "./state.ts"
import { useIcons, useShownProvider, useVendors } from "./vendors.ts"

const EVERY_MS = 10_000

const touched = ["GET /api/providers"] as const

type Quota = Answer<"GET /api/usage/quota">["providers"][number]

/** What the vendor says is left of the tightest window. */
const QuotaLine = ({ quota }: { readonly quota: Quota | undefined }) => quota === undefined || quota.percentRemaining === null ? null : (
  <>
    <p className="small muted nowrap">quota {percent(quota.percentRemaining / 100)} left{quota.resetAt === null ? "" : ", anew in "}{quota.resetAt === null ? null : <Countdown until={quota.resetAt} />}</p>
    <Meter label={`Quota of ${quota.name}`} share={1 - quota.percentRemaining / 100} />
  </>
)

const Row = ({ connection, icon, onDelete, onEdit, onSignIn, provider, quota }: {
  readonly connection: Connection
  readonly provider: string
  readonly icon: string | null
  readonly quota: Quota | undefined
  readonly onEdit: () => void
  readonly onDelete: () => void
  readonly onSignIn: () => void
}) => {
  const now = useNow()
  const state = stateOf(connection, now)
  const ends = endsSoon(connection, now)
  const renew = useChange("POST /api/providers/:id/refresh", touched, undefined, { said: `The token of ${connection.name} is renewed.`, isRecord: false })
  const test = useChange("POST /api/providers/:id/test", touched)
  const change = useChange("PUT /api/providers/:id", touched, undefined, {
    said: ({ connection: { isActive, name } }) => `${name} is ${isActive ? "used" : "left out"}.`,
    undo: (_, { body }) => () => call("PUT /api/providers/:id", { params, body: { isActive: body?.isActive !== true } })
  })
  const params = { id: connection.id }
  const trouble = test.data?.valid === false ? test.data.diagnosis?.message ?? test.data.error : test.error?.message ?? renew.error?.message ?? change.error?.message ?? (state.tone === "ok" || state.tone === "off" ? null : connection.lastError)
  return (
    <tr>
      <td>
        <strong className="wrap">{connection.name}</strong> <Owned record={connection} />
        {trouble === null || trouble === undefined ? null : <p className="small muted wrap" role={test.data === undefined && test.error === null && renew.error === null ? undefined : "status"}>{trouble}</p>}
      </td>
      <td className="wrap">{icon === null ? null : <img className="picture" src={icon} alt="" />}{provider}</td>
      <td>
        {test.isPending ? <Status tone="info" word="Testing" /> : <Status tone={state.tone} word={state.word} />}
        {state.until === null ? null : <p className="small muted">for <Countdown until={state.until} /></p>}
        {ends === null ? null : <p className="small muted">its token ends in <Countdown until={ends} /></p>}
        <QuotaLine quota={quota} />
      </td>
      <td className="cut" title={connection.defaultModel ?? undefined}>{connection.defaultModel ?? <span className="muted">–</span>}</td>
      <td className="end">{connection.priority}</td>
      <td><Ago at={connection.lastTested} /></td>
      <Actions>
        <Button kind="small" disabled={test.isPending} onClick={() => test.mutate({ params })} aria-label={`Test ${connection.name}`}>Test</Button>
        {connection.authType === "oauth" && connection.hasRefreshToken ? <Button kind="small" disabled={renew.isPending} onClick={() => renew.mutate({ params })} aria-label={`Renew the token of ${connection.name}`}>Renew</Button> : null}
        {connection.authType === "oauth" ? <Button kind="small" onClick={onSignIn} aria-label={`Sign in again for ${connection.name}`}>Sign in</Button> : null}
        <IconButton icon="edit" word="Edit" of={connection.name} onClick={onEdit} />
        <IconButton icon="trash" word="Delete" of={connection.name} onClick={onDelete} disabled={isOwned(connection)} />
        <Switch checked={connection.isActive} disabled={change.isPending || isOwned(connection)} label={`${connection.name} is used`} onChange={(isActive) => change.mutate({ params, body: { isActive } })} />
      </Actions>
    </tr>
  )
}

const Providers = () => {
  const { search = "" } = useSearch({ from: "/providers" })
  const navigate = useNavigate({ from: "/providers" })
  const read = useRead("GET /api/providers", {}, { everyMs: EVERY_MS })
  const quotas = useRead("GET /api/usage/quota", {}, { everyMs: EVERY_MS })
  const shownProvider = useShownProvider()
  const icons = useIcons()
  // Before a key is pasted: its vendor is then known at once.
  useVendors()
  const [signingIn, setSigningIn] = useState<Connection | null>(null)
  const [adding, setAdding] = useState(false)
  const [editing, setEditing] = useState<Connection | null>(null)
  const [deleting, setDeleting] = useState<Connection | null>(null)
  const remove = useChange("DELETE /api/providers/:id", ["GET /api/providers", "GET /api/providers/client"], () => setDeleting(null))
  const testAll = useChange("POST /api/providers/test-batch", touched)
  const wanted = search.toLowerCase()
  const now = useNow()
  const find = (value: string): void => void navigate({ search: value === "" ? {} : { search: value }, replace: true })
  const refused = testAll.data?.results.filter(({ valid }) => !valid) ?? []
  return (
    <Page
      title="Providers"
      lead="Each connection is one credential. The gateway picks among those of a provider, and lets one rest that was refused."
      actions={
        <>
          <Button disabled={testAll.isPending || (read.data?.connections.length ?? 0) === 0} onClick={() => testAll.mutate({ body: { mode: "all" } })}><Icon name="test" size={16} />{testAll.isPending ? "Testing" : "Test all"}</Button>
          <Button kind="primary" onClick={() => setAdding(true)}><Icon name="plus" size={16} />Add a connection</Button>
        </>
      }
    >
      {testAll.data === undefined ? null : (
        <div className={refused.length === 0 ? "success" : "failure"} role="status">
          <p>{testAll.data.summary.passed} of {testAll.data.summary.total} connections work.</p>
          {refused.length === 0 ? null : <ul className="stack-tight">{refused.map(({ connectionId, connectionName, diagnosis, error }) => <li key={connectionId} className="small wrap"><strong>{connectionName}</strong>: {diagnosis?.message ?? error ?? "no reason was given"}</li>)}</ul>}
        </div>
      )}
      <Failure what="The test of all connections failed" error={testAll.error} />
      <Panel>
        <Loaded read={read} what="The connections">
          {({ connections }) => {
            if (connections.length === 0) {
              return (
                <Empty icon="providers" title="No connection yet" action={<Button kind="primary" onClick={() => setAdding(true)}>Add the first one</Button>}>
                  Until then the built-in simulator answers as <code>sim/echo</code>.
                </Empty>
              )
            }
            const shown = connections.filter((connection) => `${connection.name} ${shownProvider(connection.provider)} ${stateOf(connection, now).word}`.toLowerCase().includes(wanted))
            const states = summaryOf(connections, now)
            return (
              <>
                <div className="panel-head">
                  <div className="filters"><TextField className="field-wide" label="Find" type="search" value={search} placeholder="Name, provider or state" onChange={find} /></div>
                  {states.length < 2 ? null : (
                    <div className="row" role="group" aria-label="States">
                      {states.map((state) => <Button key={state.word} kind="small" aria-pressed={search === state.word} onClick={() => find(search === state.word ? "" : state.word)}><Status tone={state.tone} word={`${count(state.count)} ${state.word}`} /></Button>)}
                    </div>
                  )}
                  <span className="muted small number">{shown.length} of {connections.length}</span>
                </div>
                {shown.length === 0 ? <Empty icon="search" title="No connection fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} /> : (
                  <Table label="Connections">
                      <Head of={["Name", "Provider", "State", "Default model", ">Priority", "Tested", ""]} />
                      <tbody>{shown.map((connection) => <Row key={connection.id} connection={connection} provider={shownProvider(connection.provider)} icon={icons.get(connection.provider) ?? null} quota={quotas.data?.providers.find(({ connectionId }) => connectionId === connection.id)} onSignIn={() => setSigningIn(connection)} onEdit={() => setEditing(connection)} onDelete={() => setDeleting(connection)} />)}</tbody>
                    </Table>
                )}
              </>
            )
          }}
        </Loaded>
      </Panel>
      <Nodes usedOf={(id) => read.data?.connections.filter(({ provider }) => provider === id).length ?? 0} />
      {adding ? <Add onClose={() => setAdding(false)} /> : null}
      {signingIn === null ? null : <Dialog title={`Sign in again for ${signingIn.name}`} onClose={() => setSigningIn(null)}><SignIn provider={signingIn.provider} connectionId={signingIn.id} onDone={() => setSigningIn(null)} /></Dialog>}
      {editing === null ? null : <Edit connection={editing} onClose={() => setEditing(null)} />}
      {deleting === null ? null : (
        <Confirm
          title={`Delete ${deleting.name}?`} confirm="Delete the connection" pending={remove.isPending} onClose={() => setDeleting(null)} onConfirm={() => remove.mutate({ params: { id: deleting.id } })}
          failed="The connection was not deleted" error={remove.error}
        >
          <p>The stored credential of {shownProvider(deleting.provider)} is lost. Requests that run with it go on.</p>
        </Confirm>
      )}
    </Page>
  )
}

export default Providers
