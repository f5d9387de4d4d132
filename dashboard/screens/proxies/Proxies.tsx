/** Proxies that calls to providers leave by: which there are, how they do, and what leaves by them. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import * as Notes from "../../api/notes.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, counted, duration, percent } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Status } from "../../parts/Status.tsx"
import { Actions } from "../../parts/Table.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { SettingSwitch } from "../settings/SettingSwitch.tsx"
import { Assignments } from "./Assignments.tsx"
import { Form } from "./Form.tsx"
import { Lists, useLists } from "./Lists.tsx"
import { addressOf, type Proxy } from "./words.ts"

const EVERY_MS = 10_000

const spans = [{ value: "1", word: "Last hour" }, { value: "24", word: "Last 24 h" }, { value: "168", word: "Last 7 days" }, { value: "720", word: "Last 30 days" }]

type Open = { readonly what: "add" } | { readonly what: "delete" | "edit"; readonly proxy: Proxy } | null

const Delete = ({ onClose, proxy, used }: { readonly proxy: Proxy; readonly used: number; readonly onClose: () => void }) => {
  const remove = useChange("DELETE /api/v1/management/proxies", ["GET /api/v1/management/proxies", "GET /api/v1/management/proxies/assignments"], onClose, { said: `${proxy.name} is deleted.` })
  return (
    <Confirm
      title={`Delete ${proxy.name}?`} confirm="Delete the proxy" typed={used === 0 ? undefined : proxy.name} pending={remove.isPending} onClose={onClose} onConfirm={() => remove.mutate({ query: { id: proxy.id, ...(used === 0 ? {} : { force: "1" }) } })}
      failed="The proxy was not deleted" error={remove.error}
    >
      <p>{used === 0 ? "Nothing leaves by it. Its credentials are gone for good." : `${counted(used, "assignment goes", "assignments go")} with it. Those calls take the next way of the order, or go direct. Its credentials are gone for good.`}</p>
    </Confirm>
  )
}

const Proxies = () => {
  const { hours: asked, search = "" } = useSearch({ from: "/proxies" })
  const navigate = useNavigate({ from: "/proxies" })
  const hours = spans.find(({ value }) => value === asked)?.value ?? "24"
  const read = useRead("GET /api/v1/management/proxies", {}, { everyMs: EVERY_MS })
  const assigned = useRead("GET /api/v1/management/proxies/assignments", {}, { everyMs: EVERY_MS })
  const health = useRead("GET /api/v1/management/proxies/health", { query: { hours: Number(hours) } }, { everyMs: EVERY_MS })
  const settings = useRead("GET /api/settings")
  const lists = useLists()
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const proxies = read.data !== undefined && "items" in read.data ? read.data.items : []
  const assignments = assigned.data !== undefined && "items" in assigned.data ? assigned.data.items : []
  const usedOf = (id: string): number => assignments.filter(({ proxyId }) => proxyId === id).length
  const test = useChange("POST /api/settings/proxy/test", ["GET /api/v1/management/proxies/health"])
  const tested = (proxy: Proxy): void => test.mutate({ body: { proxyId: proxy.id } }, {
    onSuccess: (answer) => void Notes.tell(answer.success ? `${proxy.name} made a tunnel in ${duration(answer.latencyMs)}${answer.publicIp === null ? "" : `; behind it the address is ${answer.publicIp}`}.` : `${proxy.name} made no tunnel: ${answer.error}`, { isBad: !answer.success })
  })
  const set = (change: { readonly search?: string; readonly hours?: string }): void => void navigate({ search: Object.fromEntries(Object.entries({ search, hours, ...change }).filter(([name, value]) => value !== "" && !(name === "hours" && value === "24"))), replace: true })
  const wanted = search.toLowerCase()
  const add = <Button kind="primary" onClick={() => setOpen({ what: "add" })}><Icon name="plus" size={16} />New proxy</Button>
  return (
    <Page title="Proxies" lead="Calls to providers can leave by a proxy. A call whose proxy makes no tunnel fails; it is never sent another way." actions={add}>
      {!isSettled(read, assigned, health, settings, lists) ? <Skeleton rows={8} /> : (
        <>
          <Panel title="Proxies">
            <Failure what="The proxy was not tested" error={test.error} inPanel />
            <Loaded read={read} what="The proxies">
              {() => proxies.length === 0 ? <Empty icon="proxies" title="No proxy yet" action={add}>Until one is assigned all calls go direct. The usual proxy variables of the environment are not read.</Empty> : (() => {
                const shown = proxies.filter((proxy) => `${proxy.name} ${addressOf(proxy)} ${proxy.region ?? ""} ${proxy.notes ?? ""}`.toLowerCase().includes(wanted))
                return (
                  <>
                    <div className="panel-head">
                      <div className="filters">
                        <TextField className="field-wide" label="Find" type="search" value={search} placeholder="Name, address, region" onChange={(value) => set({ search: value })} />
                        <SelectField label="Tunnels of" value={hours} choices={spans} onChange={(value) => set({ hours: value })} />
                      </div>
                      <span className="muted small number">{count(shown.length)} of {count(proxies.length)}</span>
                    </div>
                    <Failure what="Their tunnels could not be counted" error={health.error} retry={() => void health.refetch()} inPanel />
                    {shown.length === 0 ? <Empty icon="search" title="No proxy fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} /> : (
                      <Rows label="Proxies" rows={shown} head={["Name", "Address", "State", "Credentials", ">Assignments", ">Tunnels made", ">Mean time", "Last error", ""]}>
                        {(proxy, index) => {
                          const did = health.data?.items.find(({ proxyId }) => proxyId === proxy.id)
                          return (
                            <tr key={proxy.id} aria-rowindex={index + 2}>
                              <td className="cut" title={[proxy.name, proxy.region, proxy.notes].filter((part) => part !== null).join(", ")}><strong>{proxy.name}</strong></td>
                              <td className="cut" title={addressOf(proxy)}><code>{addressOf(proxy)}</code></td>
                              <td><Status tone={proxy.status === "active" ? "ok" : "off"} word={proxy.status === "active" ? "Active" : "Inactive"} /></td>
                              <td>{proxy.username === null && proxy.password === null ? "none" : "stored"}</td>
                              <td className="end">{count(usedOf(proxy.id))}</td>
                              <td className="end" title={did === undefined ? undefined : `${count(did.successCount)} made, ${count(did.failureCount)} failed`}>{did === undefined || did.successRate === null ? "–" : percent(did.successRate)}</td>
                              <td className="end">{duration(did?.avgLatencyMs)}</td>
                              <td className="cut" title={did?.lastError ?? undefined}>{did?.lastError ?? "–"}</td>
                              <Actions>
                                <Button kind="small" disabled={test.isPending} onClick={() => tested(proxy)} aria-label={`Test ${proxy.name}`}>Test</Button>
                                <IconButton icon="edit" word="Edit" of={proxy.name} onClick={() => setOpen({ what: "edit", proxy })} />
                                <IconButton icon="trash" word="Delete" of={proxy.name} onClick={() => setOpen({ what: "delete", proxy })} />
                              </Actions>
                            </tr>
                          )
                        }}
                      </Rows>
                    )}
                  </>
                )
              })()}
            </Loaded>
          </Panel>
          {proxies.length === 0 && assignments.length === 0 ? null : <Loaded read={assigned} what="The assignments">{() => <Assignments list={assignments} proxies={proxies} />}</Loaded>}
          <Lists read={lists} usedOf={(id) => assignments.filter(({ proxyId }) => proxies.some((proxy) => proxy.id === proxyId && proxy.subscriptionId === id)).length} />
          <Panel title="Whether they are used">
            <ul className="list">
              <SettingSwitch name="proxyEnabled" word="Calls leave by proxies" hint="Off: all calls go direct, whatever is assigned. A connection can be taken out by itself, too." />
              <SettingSwitch name="perKeyProxyEnabled" word="Keys may have proxies of their own" hint="A key's proxy comes before all others." />
              <SettingSwitch name="enableSocks5Proxy" word="SOCKS5 proxies" hint="Off: calls that are assigned to one fail." />
            </ul>
          </Panel>
        </>
      )}
      {open?.what === "add" ? <Form proxy={null} used={0} onClose={close} /> : null}
      {open?.what === "edit" ? <Form proxy={open.proxy} used={usedOf(open.proxy.id)} onClose={close} /> : null}
      {open?.what === "delete" ? <Delete proxy={open.proxy} used={usedOf(open.proxy.id)} onClose={close} /> : null}
    </Page>
  )
}

export default Proxies
