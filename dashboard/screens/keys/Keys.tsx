/** Keys of clients: what each may do, for how much, and what it has spent. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import type { Answer } from "../../api/contract.ts"
import { count, money } from "../../format/numbers.ts"
import { left } from "../../format/time.ts"
import { filled } from "../../format/members.ts"
import { Meter } from "../../parts/Bars.tsx"
import { Confirm, Once } from "../../parts/Dialog.tsx"
import { Empty, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Switch, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { useNow } from "../../parts/now.ts"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Actions, Head, pageOf, Pager, pageText, Table } from "../../parts/Table.tsx"
import { isOwned, Owned } from "../../parts/edit/Theirs.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Budget } from "./Budget.tsx"
import { Complete } from "./Complete.tsx"
import { Edit, Make } from "./Edit.tsx"
import { type Key, sentenceOf } from "./sentence.ts"
import { Tokens } from "./Tokens.tsx"

const EVERY_MS = 10_000
const ON_A_PAGE = 100

type BudgetRow = Extract<Answer<"GET /api/usage/budget">, { readonly budgets: unknown }>["budgets"][number]

const stateOf = (key: Key, now: number) => {
  if (key.isBanned) return <Status tone="bad" word="Banned" />
  if (!key.isActive) return <Status tone="off" word="Off" />
  if (key.expiresAt !== null && left(key.expiresAt, now) === 0) return <Status tone="bad" word="Expired" />
  return <Status tone="ok" word="Works" />
}

interface Acts {
  readonly onEdit: () => void
  readonly onBudget: () => void
  readonly onRenew: () => void
  readonly onDelete: () => void
}

const Row = ({ acts, budget, value }: { readonly value: Key; readonly budget: BudgetRow | undefined; readonly acts: Acts }) => {
  const now = useNow()
  const change = useChange("PATCH /api/keys/:id", ["GET /api/keys"], undefined, {
    said: `${value.name} is changed.`, undo: (_, { body }) => () => call("PATCH /api/keys/:id", { params: { id: value.id }, body: { isActive: body?.isActive !== true } })
  })
  return (
    <tr>
      <td>
        <strong className="wrap">{value.name}</strong> <Owned record={value} />
        <p className="small muted wrap">{sentenceOf(value)}</p>
        {change.error === null ? null : <p className="small wrap" role="alert">{change.error.message}</p>}
      </td>
      <td className="mono nowrap">{value.key}</td>
      <td>{stateOf(value, now)}</td>
      <td>
        {budget === undefined || budget.activeLimitUsd === 0 ? <span className="muted">no budget</span> : (
          <>
            <p className="number nowrap"><Link to="/requests" search={{ key: value.id, exact: "true", from: budget.periodStartAt }} title="The calls of this sum">{money(budget.totalCostPeriod)}</Link> of {money(budget.activeLimitUsd)}</p>
            <Meter label={`Budget of ${value.name}`} share={budget.totalCostPeriod / budget.activeLimitUsd} />
          </>
        )}
      </td>
      <td><Ago at={value.lastUsedAt} /></td>
      <Actions>
        <Button kind="small" onClick={acts.onBudget} aria-label={`Budget of ${value.name}`}>Budget</Button>
        <IconButton icon="edit" word="Edit" of={value.name} onClick={acts.onEdit} />
        <Button kind="small quiet icon" onClick={acts.onRenew} disabled={isOwned(value)} aria-label={`New value for ${value.name}`} title="New value"><Icon name="refresh" size={16} /></Button>
        <IconButton icon="trash" word="Delete" of={value.name} onClick={acts.onDelete} disabled={isOwned(value)} />
        <Switch checked={value.isActive} label={`${value.name} may call`} disabled={change.isPending || isOwned(value)} onChange={(isActive) => change.mutate({ params: { id: value.id }, body: { isActive } })} />
      </Actions>
    </tr>
  )
}

type Open = { readonly what: "edit" | "budget" | "renew" | "delete"; readonly key: Key } | { readonly what: "make" } | { readonly what: "once"; readonly value: string } | null

const Keys = () => {
  const { page: at = "", search = "" } = useSearch({ from: "/keys" })
  const navigate = useNavigate({ from: "/keys" })
  const page = pageOf(at)
  const set = (change: { readonly page?: string; readonly search?: string }): void => void navigate({ search: filled({ search, page: "", ...change }), replace: true })
  const read = useRead("GET /api/keys", { query: { limit: ON_A_PAGE, offset: page * ON_A_PAGE, ...(search === "" ? {} : { search }) } }, { everyMs: EVERY_MS })
  const budgets = useRead("GET /api/usage/budget", {}, { everyMs: EVERY_MS })
  const ledger = useRead("GET /api/usage/reconciliation")
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const renew = useChange("POST /api/keys/:id/regenerate", ["GET /api/keys"], ({ key }) => setOpen({ what: "once", value: key }))
  const remove = useChange("DELETE /api/keys/:id", ["GET /api/keys", "GET /api/usage/budget"], close)
  const rows = budgets.data === undefined ? [] : "budgets" in budgets.data ? budgets.data.budgets : [budgets.data]
  const make = <Button kind="primary" onClick={() => setOpen({ what: "make" })}><Icon name="plus" size={16} />Make a key</Button>
  return (
    <Page title="Keys & budgets" lead={<>Programs call the gateway with these keys. A key without bounds may call every model. <Complete /></>} actions={make}>
      {/* What stands below the keys, and the sum above them, would move them or be moved. */}
      {!isSettled(read, budgets, ledger) ? <Skeleton rows={6} /> : (
        <>
          <Panel>
            <Loaded read={read} what="The keys">
              {({ keys, total }) => keys.length === 0 && page === 0 && search === "" ? <Empty icon="keys" title="No key yet" action={make}>While no key is required, programs on this machine may call without one. Require them under <Link to="/settings" search={{ search: "REQUIRE_API_KEY" }}>flags</Link>.</Empty> : (
                <>
                  <div className="panel-head">
                    <div className="filters"><TextField className="field-wide" label="Find" type="search" value={search} placeholder="Name, id or value" onChange={(value) => set({ search: value })} /></div>
                    <span className="muted small number">{keys.length === 0 ? "0" : `${count(page * ON_A_PAGE + 1)} to ${count(page * ON_A_PAGE + keys.length)}`} of {count(total)}</span>
                  </div>
                  {keys.length === 0 ? <Empty icon="search" title="No key fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} /> : (
                  <Table label="Keys" isStale={read.isPlaceholderData}>
                    <Head of={["Name", "Value", "State", "Spent", "Used", ""]} />
                    <tbody>
                      {keys.map((key) => (
                        <Row
                          key={key.id} value={key} budget={rows.find(({ apiKeyId }) => apiKeyId === key.id)}
                          acts={{
                            onEdit: () => setOpen({ what: "edit", key }), onBudget: () => setOpen({ what: "budget", key }), onRenew: () => setOpen({ what: "renew", key }), onDelete: () => setOpen({ what: "delete", key })
                          }}
                        />
                      ))}
                    </tbody>
                  </Table>
                  )}
                  <Pager label="keys" page={page} hasOlder={(page + 1) * ON_A_PAGE < total} onTurn={(next) => set({ page: pageText(next) })} />
                </>
              )}
            </Loaded>
          </Panel>
          <Tokens onMade={(value) => setOpen({ what: "once", value })} />
        </>
      )}
      {open?.what === "make" ? <Make onClose={close} onMade={(value) => setOpen({ what: "once", value })} /> : null}
      {open?.what === "once" ? <Once title="The new key" label="key" value={open.value} onClose={close} /> : null}
      {open?.what === "edit" ? <Edit value={open.key} onClose={close} /> : null}
      {open?.what === "budget" ? <Budget keyId={open.key.id} name={open.key.name} budget={rows.find(({ apiKeyId }) => apiKeyId === open.key.id) ?? null} onClose={close} /> : null}
      {open?.what === "renew" ? (
        <Confirm
          title={`Give ${open.key.name} a new value?`} confirm="Make a new value" pending={renew.isPending} onClose={close} onConfirm={() => renew.mutate({ params: { id: open.key.id } })}
          failed="No new value was made" error={renew.error}
        >
          <p>The old value is dead at once. Programs that use it are refused until they have the new one.</p>
        </Confirm>
      ) : null}
      {open?.what === "delete" ? (
        <Confirm
          title={`Delete ${open.key.name}?`} confirm="Delete the key" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.key.id } })}
          failed="The key was not deleted" error={remove.error}
        >
          <p>Programs that use it are refused at once. What it spent stays in the ledger.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Keys
