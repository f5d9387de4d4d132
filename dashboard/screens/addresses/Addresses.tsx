/** By which addresses the gateway may be used: the two lists, bans that end by themselves, and who is locked out. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Status } from "../../parts/Status.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { Locks } from "./Locks.tsx"

const EVERY_MS = 10_000
const PATH = "PUT /api/settings/ip-filter"

type Filter = Answer<"GET /api/settings/ip-filter">
type Change = Body<typeof PATH>

const lists = {
  blacklist: { word: "Refused addresses", empty: "No address is refused by name", add: "addBlacklist", remove: "removeBlacklist" },
  whitelist: { word: "Served addresses", empty: "No address is on the list", add: "addWhitelist", remove: "removeWhitelist" }
} as const
type ListName = keyof typeof lists

/** What a change of the switch or of the mode means for callers. */
const meaningOf = (enabled: boolean, mode: Filter["mode"]): string =>
  !enabled ? "Nothing is refused by its address, bans included." : mode === "whitelist" ? "Only the served addresses and this machine may use the gateway, its dashboard included." : "The refused addresses may not use the gateway, its dashboard included."

const Ask = ({ change, filter, onClose }: { readonly filter: Filter; readonly change: { readonly enabled?: boolean; readonly mode?: Filter["mode"] }; readonly onClose: () => void }) => {
  const save = useChange(PATH, ["GET /api/settings/ip-filter"], onClose, {
    said: "The address filter is changed.", undo: () => () => call(PATH, { body: { enabled: filter.enabled, mode: filter.mode } })
  })
  const [enabled, mode] = [change.enabled ?? filter.enabled, change.mode ?? filter.mode]
  const list = filter[mode]
  return (
    <Confirm title="Change who may use the gateway?" confirm="Change it" pending={save.isPending} onClose={onClose} onConfirm={() => save.mutate({ body: change })} failed="The filter was not changed" error={save.error}>
      <div className="stack-tight">
        <p>{meaningOf(enabled, mode)}</p>
        {enabled ? <p>{count(list.length)} in the list, {count(filter.tempBans.length)} banned for a time. It acts on every node from the next request on; requests that have begun are served to their end.</p> : null}
        <p className="small muted">A change that would refuse you is not made. A client whose address is not known is refused: name your proxies in GATEWAY_TRUSTED_PROXIES first.</p>
      </div>
    </Confirm>
  )
}

const List = ({ filter, name, search }: { readonly filter: Filter; readonly name: ListName; readonly search: string }) => {
  const { add, empty, remove, word } = lists[name]
  const [entry, setEntry] = useState("")
  const insert = useChange(PATH, ["GET /api/settings/ip-filter"], () => setEntry(""), {
    said: "The address is in the list.", undo: (_, { body }) => body?.[add] === undefined ? null : () => call(PATH, { body: { [remove]: body[add] } as Change })
  })
  const take = useChange(PATH, ["GET /api/settings/ip-filter"], undefined, {
    said: "The address is out of the list.", undo: (_, { body }) => body?.[remove] === undefined ? null : () => call(PATH, { body: { [add]: body[remove] } as Change })
  })
  const shown = filter[name].filter((each) => each.includes(search))
  const isAsked = (filter.mode === "blacklist") === (name === "blacklist")
  return (
    <Panel title={word} actions={<span className="small muted number">{search === "" ? "" : `${count(shown.length)} of `}{count(filter[name].length)}{isAsked ? "" : ", not asked in this mode"}</span>}>
      <Form className="panel-head" onSubmit={() => insert.mutate({ body: { [add]: entry.trim() } as Change })}>
        <div className="row">
          <TextField label={name === "blacklist" ? "Address to refuse" : "Address to serve"} value={entry} onChange={setEntry} placeholder="203.0.113.0/24" hint="An address, a range, or a pattern such as 10.1.*" wrong={wrongWith(insert.error, add)} />
          <Button type="submit" disabled={insert.isPending || entry.trim() === ""}>{name === "blacklist" ? "Refuse it" : "Serve it"}</Button>
        </div>
      </Form>
      <Failure inPanel what="The list was not changed" error={insert.error ?? take.error} />
      {filter[name].length === 0 ? <Empty icon="addresses" title={empty} /> : shown.length === 0 ? <Empty icon="search" title="No address fits" /> : (
        <Rows label={word} rows={shown} head={["Address", ""]}>
          {(each, index) => (
            <tr key={each} aria-rowindex={index + 2}>
              <td><code>{each}</code></td>
              <td className="actions"><Button kind="small" disabled={take.isPending} onClick={() => take.mutate({ body: { [remove]: each } as Change })} aria-label={`Remove ${each}`}>Remove</Button></td>
            </tr>
          )}
        </Rows>
      )}
    </Panel>
  )
}

const durations = [{ value: "600000", word: "10 minutes" }, { value: "3600000", word: "an hour" }, { value: "86400000", word: "a day" }, { value: "604800000", word: "a week" }]

const Ban = ({ onClose }: { readonly onClose: () => void }) => {
  const [ip, setIp] = useState("")
  const [durationMs, setDuration] = useState("3600000")
  const [reason, setReason] = useState("")
  const ban = useChange(PATH, ["GET /api/settings/ip-filter"], onClose, { said: "The address is banned.", undo: () => () => call(PATH, { body: { removeBan: ip.trim() } }) })
  return (
    <Dialog title="Ban an address for a time" onClose={onClose} onSubmit={() => ban.mutate({ body: { tempBan: { ip: ip.trim(), durationMs: Number(durationMs), ...(reason === "" ? {} : { reason }) } } })}>
      <TextField label="Address" value={ip} onChange={setIp} required autoFocus hint="An address, a range, or a pattern such as 10.1.*" wrong={wrongWith(ban.error, "tempBan.ip")} />
      <SelectField label="For" value={durationMs} choices={durations} onChange={setDuration} />
      <TextField label="Reason" value={reason} onChange={setReason} hint="For people; at most 200 characters" wrong={wrongWith(ban.error, "tempBan.reason")} />
      <Failure what="Nobody was banned" error={ban.error} />
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="danger" disabled={ban.isPending || ip.trim() === ""}>Ban it</Button>
      </div>
    </Dialog>
  )
}

const Bans = ({ filter: { enabled, tempBans }, search }: { readonly filter: Filter; readonly search: string }) => {
  const [banning, setBanning] = useState(false)
  const end = useChange(PATH, ["GET /api/settings/ip-filter"], undefined, { said: "The ban is over." })
  const shown = tempBans.filter(({ ip, reason }) => `${ip} ${reason}`.includes(search))
  return (
    <Panel title="Banned for a time" actions={<Button kind="small" onClick={() => setBanning(true)}>Ban an address</Button>}>
      <Failure what="The ban was not ended" error={end.error} inPanel />
      {enabled || tempBans.length === 0 ? null : <p className="panel-head muted">The filter is off: they are served.</p>}
      {tempBans.length === 0 ? <Empty icon="addresses" title="Nobody is banned" /> : shown.length === 0 ? <Empty icon="search" title="No ban fits" /> : (
        <Rows label="Bans" rows={shown} head={["Address", "Reason", "Ends in", ""]}>
          {({ ip, reason, until }, index) => (
            <tr key={ip} aria-rowindex={index + 2}>
              <td><code>{ip}</code></td><td className="cut" title={reason}>{reason === "" ? "–" : reason}</td><td><Countdown until={until} /></td>
              <td className="actions"><Button kind="small" disabled={end.isPending} onClick={() => end.mutate({ body: { removeBan: ip } })} aria-label={`End the ban of ${ip}`}>End</Button></td>
            </tr>
          )}
        </Rows>
      )}
      {banning ? <Ban onClose={() => setBanning(false)} /> : null}
    </Panel>
  )
}

const modeChoices = [{ value: "blacklist", word: "Refuse the refused addresses" }, { value: "whitelist", word: "Serve the served addresses alone" }]

const Addresses = () => {
  const { search = "" } = useSearch({ from: "/addresses" })
  const navigate = useNavigate({ from: "/addresses" })
  const read = useRead("GET /api/settings/ip-filter", {}, { everyMs: EVERY_MS })
  const locks = useRead("GET /api/policies")
  const [asked, setAsked] = useState<{ readonly enabled?: boolean; readonly mode?: Filter["mode"] } | null>(null)
  return (
    <Page title="Addresses" lead="By which addresses the gateway may be used, dashboard included. This machine is always served.">
      {!isSettled(read, locks) ? <Skeleton rows={8} /> : (
        <>
          <Loaded read={read} what="The lists of addresses">
            {(filter) => (
              <div className="stack">
                <Panel title="The filter" actions={<Status tone={filter.enabled ? "ok" : "off"} word={filter.enabled ? "On" : "Off"} />}>
                  <div className="panel-body">
                    <p>{meaningOf(filter.enabled, filter.mode)}</p>
                    <div className="row">
                      <SelectField label="Mode" value={filter.mode} choices={modeChoices} onChange={(value) => setAsked({ mode: value === "whitelist" ? "whitelist" : "blacklist" })} />
                      <button type="button" className={filter.enabled ? "button" : "button button-primary"} onClick={() => setAsked({ enabled: !filter.enabled })}>{filter.enabled ? "Switch it off" : "Switch it on"}</button>
                    </div>
                    <TextField label="Find" type="search" value={search} placeholder="Part of an address or reason" onChange={(value) => void navigate({ search: value === "" ? {} : { search: value }, replace: true })} />
                  </div>
                </Panel>
                <div className="columns">
                  <List filter={filter} name="blacklist" search={search} />
                  <List filter={filter} name="whitelist" search={search} />
                </div>
                <Bans filter={filter} search={search} />
                {asked === null ? null : <Ask filter={filter} change={asked} onClose={() => setAsked(null)} />}
              </div>
            )}
          </Loaded>
          <Locks />
          <p className="small muted"><Icon name="help" size={14} /> What a refused caller is told, and what probes need, stands in the documents under security.</p>
        </>
      )}
    </Page>
  )
}

export default Addresses
