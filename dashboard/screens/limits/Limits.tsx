/** Everything that limits, in one list: what is used, held and left, and when it begins anew. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange, useRead } from "../../api/query.ts"
import { filled } from "../../format/members.ts"
import { Meter } from "../../parts/Bars.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Budget } from "../keys/Budget.tsx"
import { Complete } from "../keys/Complete.tsx"
import type { Key } from "../keys/sentence.ts"
import { bodyOf, Edit } from "./Edit.tsx"
import { type Kind, kinds, type Row, rowsOf, shareOf, shown, type TokenLimit } from "./rows.ts"
import { WhatIf } from "./WhatIf.tsx"

const EVERY_MS = 5_000
const NEAR = 0.8

const stateOf = (row: Row) => {
  const share = shareOf(row)
  if (row.isOff) return <Status tone="off" word="Off" />
  if (share === null) return <Status tone="off" word="Not told" title="Each node counts it; there is no sum to read." />
  return share >= 1 ? <Status tone="bad" word="Used up" /> : share >= NEAR ? <Status tone="warn" word="Near its end" /> : <Status tone="ok" word="Free" />
}

const ChooseKey = ({ keys, onChosen, onClose }: { readonly keys: ReadonlyArray<Key>; readonly onChosen: (key: Key) => void; readonly onClose: () => void }) => {
  const [id, setId] = useState(keys[0]?.id ?? "")
  const key = keys.find((each) => each.id === id)
  return (
    <Dialog title="A budget for which key?" onClose={onClose} onSubmit={() => key === undefined ? undefined : onChosen(key)}>
      <SelectField label="Key" value={id} choices={keys.map((each) => ({ value: each.id, word: each.name }))} onChange={setId} />
      <div className="dialog-foot"><Button type="submit" kind="primary" disabled={key === undefined}>Go on</Button></div>
    </Dialog>
  )
}

type Open =
  | { readonly what: "tokens"; readonly limit: TokenLimit | null } | { readonly what: "choose" } | { readonly what: "budget"; readonly keyId: string; readonly name: string }
  | { readonly what: "delete"; readonly limit: TokenLimit; readonly row: Row } | null

const Line = ({ onChange, onDelete, row }: { readonly row: Row; readonly onChange: (() => void) | null; readonly onDelete: (() => void) | null }) => {
  const share = shareOf(row)
  const name = `${row.what} of ${row.whose}`
  return (
    <tr>
      <td><strong className="wrap">{row.whose}</strong><p className="small muted wrap">{row.what}</p></td>
      <td className="nowrap">{kinds[row.kind]}</td>
      <td>{stateOf(row)}</td>
      <td className="end">{row.budget === null || row.resetAt === null ? shown(row.used, row.unit) : <Link to="/requests" search={{ key: row.budget.apiKeyId, exact: "true", from: row.budget.periodStartAt }} title="The calls of this sum">{shown(row.used, row.unit)}</Link>}</td>
      <td className="end">{row.reserved === 0 ? "–" : shown(row.reserved, row.unit)}</td>
      <td className="end">{row.unsettled === 0 ? "–" : shown(row.unsettled, row.unit)}</td>
      <td className="end">{shown(row.limit, row.unit)}</td>
      <td>{share === null ? "–" : <Meter label={name} share={share} />}</td>
      <td>{row.resetAt === null ? "–" : <Countdown until={row.resetAt} />}</td>
      <Actions>
        {onChange === null ? null : <IconButton icon="edit" word="Change" of={name} onClick={onChange} />}
        {onDelete === null ? null : <IconButton icon="trash" word="Delete" of={name} onClick={onDelete} />}
      </Actions>
    </tr>
  )
}

const Limits = () => {
  const { kind = "", search = "" } = useSearch({ from: "/limits" })
  const navigate = useNavigate({ from: "/limits" })
  const keys = useEveryKey()
  const budgets = useRead("GET /api/usage/budget", {}, { everyMs: EVERY_MS })
  const tokenLimits = useRead("GET /api/usage/token-limits", {}, { everyMs: EVERY_MS })
  const sessions = useRead("GET /api/sessions", {}, { everyMs: EVERY_MS })
  const quotas = useRead("GET /api/usage/quota", {}, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const remove = useChange("DELETE /api/usage/token-limits", ["GET /api/usage/token-limits"], close, {
    said: "The limit is deleted.",
    undo: () => {
      const gone = open?.what === "delete" ? open.limit : null
      return gone === null ? null : () => call("POST /api/usage/token-limits", { body: bodyOf(gone, false) })
    }
  })
  const all = [keys, budgets, tokenLimits, sessions, quotas]
  const failed = all.find(({ isError }) => isError)
  const known = keys.data ?? []
  const rows = rowsOf({
    keys: known, budgets: budgets.data === undefined ? [] : "budgets" in budgets.data ? budgets.data.budgets : [budgets.data],
    tokenLimits: tokenLimits.data?.limits ?? [], sessions: sessions.data?.byApiKey ?? {}, quotas: quotas.data?.providers ?? []
  })
  const wanted = search.toLowerCase()
  const found = rows.filter((row) => (kind === "" || row.kind === kind) && `${row.whose} ${row.what}`.toLowerCase().includes(wanted))
  const set = (change: { readonly kind?: string; readonly search?: string }): void => void navigate({ search: filled({ kind, search, ...change }), replace: true })
  const actions = (
    <>
      <Button disabled={known.length === 0} onClick={() => setOpen({ what: "choose" })}><Icon name="plus" size={16} />Budget</Button>
      <Button kind="primary" disabled={known.length === 0} onClick={() => setOpen({ what: "tokens", limit: null })}><Icon name="plus" size={16} />Limit of tokens</Button>
    </>
  )
  return (
    <Page title="Limits" lead={<>What is left of everything. Requests in flight hold what they may need; it comes back when they settle. <Complete /></>} actions={actions}>
      <Panel>
        <Loaded
          read={{ data: all.every(({ data }) => data !== undefined) ? true : undefined, error: failed?.error ?? null, isError: failed !== undefined, refetch: () => all.map(({ refetch }) => refetch()) }} what="The limits"
        >
          {() => rows.length === 0 ? (
            <Empty icon="limits" title="Nothing is limited" action={known.length === 0 ? <Link to="/keys" className="button">Make a key first</Link> : undefined}>
              No key has a budget, a limit of tokens, a rate or a cap of sessions, and no vendor has told of a quota. Requests are never throttled without one.
            </Empty>
          ) : (
            <>
              <div className="panel-head">
                <div className="filters">
                  <TextField className="field-wide" label="Find" type="search" value={search} placeholder="Key, connection or model" onChange={(value) => set({ search: value })} />
                  <SelectField label="Kind" value={kind} choices={[{ value: "", word: "All" }, ...(Object.keys(kinds) as ReadonlyArray<Kind>).map((each) => ({ value: each, word: kinds[each] }))]} onChange={(value) => set({ kind: value })} />
                </div>
                <span className="muted small number">{found.length} of {rows.length}</span>
              </div>
              {found.length === 0 ? <Empty icon="search" title="No limit fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} /> : (
                <Table label="Limits">
                  <Head of={["Whose", "Kind", "State", ">Used", ">Held", ">Unsettled", ">Limit", "Share", "Anew in", ""]} />
                  <tbody>
                    {found.map((row) => (
                      <Line
                        key={row.id} row={row}
                        onChange={row.tokenLimit !== null ? () => setOpen({ what: "tokens", limit: row.tokenLimit }) : row.budget !== null ? () => setOpen({ what: "budget", keyId: row.budget?.apiKeyId ?? "", name: row.whose }) : null}
                        onDelete={row.tokenLimit === null ? null : () => row.tokenLimit === null ? undefined : setOpen({ what: "delete", limit: row.tokenLimit, row })}
                      />
                    ))}
                  </tbody>
                </Table>
              )}
            </>
          )}
        </Loaded>
      </Panel>
      {known.length === 0 ? null : <WhatIf keys={known} rows={rows} />}
      {open?.what === "tokens" ? <Edit limit={open.limit} keys={known} onClose={close} /> : null}
      {open?.what === "choose" ? <ChooseKey keys={known} onClose={close} onChosen={({ id, name }) => setOpen({ what: "budget", keyId: id, name })} /> : null}
      {open?.what === "budget" ? <Budget keyId={open.keyId} name={open.name} budget={rows.find(({ budget }) => budget?.apiKeyId === open.keyId)?.budget ?? null} onClose={close} /> : null}
      {open?.what === "delete" ? (
        <Confirm
          title="Delete the limit?" confirm="Delete the limit" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ query: { id: open.limit.id } })}
          failed="The limit was not deleted" error={remove.error}
        >
          <p>{open.row.what} of {open.row.whose}. From then on the key may use as many tokens as its other limits allow.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Limits
