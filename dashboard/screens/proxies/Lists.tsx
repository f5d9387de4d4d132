/** Lists of proxies at addresses of the operator's: how each was read last, and its record. Their proxies stand in the table above. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import * as Notes from "../../api/notes.ts"
import { useChange, useRead } from "../../api/query.ts"
import { changedIn } from "../../format/members.ts"
import { count, counted } from "../../format/numbers.ts"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { types } from "./words.ts"

const path = "/api/v1/management/proxy-subscriptions"
const touched = [`GET ${path}`, "GET /api/v1/management/proxies", "GET /api/v1/management/proxies/assignments"] as const
const EVERY_MS = 10_000

type List = Answer<`GET ${typeof path}`>["items"][number]

const draftOf = (list: List | null) => ({ name: list?.name ?? "", url: list?.url ?? "", type: list?.type ?? "http", enabled: list?.enabled ?? true, minutes: String((list?.intervalSeconds ?? 3_600) / 60) })
type Draft = ReturnType<typeof draftOf>

const bodyOf = ({ minutes, ...draft }: Draft) => ({ ...draft, intervalSeconds: Math.round(Number(minutes) * 60) })

/** `list`: null for a new one. */
const Edit = ({ list, onClose }: { readonly list: List | null; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(list))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const add = useChange(`POST ${path}`, touched, onClose, { said: ({ name }) => `The list ${name} is stored, and is read within 30 seconds.` })
  const before: Readonly<Record<string, unknown>> = bodyOf(draftOf(list))
  const change = changedIn(bodyOf(draft), before)
  const save = useChange(`PATCH ${path}`, touched, onClose, {
    said: ({ name }) => `The list ${name} is changed.`,
    // Of an address that was replaced only the host is known.
    undo: () => list === null || "url" in change ? null : () => call(`PATCH ${path}`, { body: { id: list.id, ...Object.fromEntries(Object.keys(change).map((name) => [name, before[name]])) } })
  })
  const theirs = useTheirs(async () => ({ ...(await call(`GET ${path}`)).items.find(({ id }) => id === list?.id) }), { ...list })
  const wrong = (field: string): string | undefined => wrongWith(add.error ?? save.error, field)
  const field = fieldsOf(draft, put, add.error ?? save.error)
  return (
    <Dialog
      title={list === null ? "New list of proxies" : `Change ${list.name}`} onClose={onClose}
      onSubmit={() => list === null ? add.mutate({ body: bodyOf(draft) }) : void theirs.save(change, () => save.mutate({ body: { id: list.id, ...change } }))}
    >
      <TextField label="Name" {...field("name")} required />
      <TextField label="Address of the list" {...field("url")} required placeholder="https://" hint={list === null ? "A proxy a line, or JSON. It is kept sealed, and its host alone is shown" : "As it stands here it keeps what is stored"} />
      <div className="grid-fields">
        <SelectField label="Type of proxies that do not say theirs" {...field("type")} choices={types} />
        <TextField label="Read every, minutes" type="number" {...field("minutes")} hint="5 to 10080" wrong={wrong("intervalSeconds")} />
      </div>
      <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>It is read; off, its proxies stay as they are</Check>
      <Submit failed={list === null ? "The list was not stored" : "The list was not changed"} of={[add, save]} theirs={theirs} isOff={draft.minutes === ""} isSame={list !== null && Object.keys(change).length === 0} onClose={onClose}>
        {list === null ? "Add the list" : "Save"}
      </Submit>
    </Dialog>
  )
}

const Delete = ({ list, onClose, used }: { readonly list: List; readonly used: number; readonly onClose: () => void }) => {
  const remove = useChange(`DELETE ${path}`, touched, onClose, { said: `The list ${list.name} is deleted with its proxies.` })
  return (
    <Confirm
      title={`Delete ${list.name}?`} confirm="Delete the list" typed={used === 0 ? undefined : list.name} pending={remove.isPending} onClose={onClose} onConfirm={() => remove.mutate({ query: { id: list.id, ...(used === 0 ? {} : { force: "1" }) } })}
      failed="The list was not deleted" error={remove.error}
    >
      <p>{counted(list.entryCount, "proxy goes", "proxies go")} with it.{used === 0 ? " Nothing is assigned to them." : ` ${counted(used, "assignment goes", "assignments go")}, too: those calls take the next way of the order, or go direct.`}</p>
    </Confirm>
  )
}

const State = ({ list: { enabled, error, refreshedAt } }: { readonly list: List }) => (
  <>
    {error === null ? enabled ? refreshedAt === null ? <Status tone="info" word="Not read yet" /> : <Status tone="ok" word="Read" /> : <Status tone="off" word="Off" /> : <Status tone="bad" word="Not read" />}
    {error === null ? null : <p className="small wrap">{error}</p>}
  </>
)

/** The page waits for them: what stands below must not move. */
export const useLists = () => useRead(`GET ${path}`, {}, { everyMs: EVERY_MS })

/** `usedOf`: how many assignments there are to proxies of a list. */
export const Lists = ({ read, usedOf }: { readonly read: ReturnType<typeof useLists>; readonly usedOf: (id: string) => number }) => {
  const [open, setOpen] = useState<{ readonly what: "edit" | "delete"; readonly list: List } | { readonly what: "add" } | null>(null)
  const close = (): void => setOpen(null)
  const refresh = useChange(`POST ${path}/refresh`, touched, ({ added, removed, subscription: { error, name } }) => void Notes.tell(error === null ? `${name} was read: ${count(added)} new, ${count(removed)} gone.` : `${name} was not read: ${error}`, { isBad: error !== null }))
  return (
    <Panel title="Lists of proxies" actions={<Button kind="small" onClick={() => setOpen({ what: "add" })}>New list</Button>}>
      <Failure what="The list was not read" error={refresh.error} inPanel />
      <Loaded read={read} what="The lists" rows={2}>
        {({ items }) => items.length === 0 ? <Empty icon="proxies" title="No list yet">The gateway can follow a list at an address: its proxies come and go with it.</Empty> : (
          <Table label="Lists of proxies">
            <Head of={["List", "From", "State", ">Proxies", ">Lines left out", "Read", ""]} />
            <tbody>
              {items.map((list) => (
                <tr key={list.id}>
                  <td><strong className="wrap">{list.name}</strong></td><td className="wrap mono">{list.url}</td><td><State list={list} /></td>
                  <td className="end">{count(list.entryCount)}</td><td className="end">{count(list.skippedCount)}</td><td><Ago at={list.refreshedAt} /></td>
                  <Actions>
                    <Button kind="small" disabled={refresh.isPending} onClick={() => refresh.mutate({ body: { id: list.id } })} aria-label={`Read now: ${list.name}`}>Read now</Button>
                    <IconButton icon="edit" word="Edit" of={list.name} onClick={() => setOpen({ what: "edit", list })} />
                    <IconButton icon="trash" word="Delete" of={list.name} onClick={() => setOpen({ what: "delete", list })} />
                  </Actions>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
      {open === null ? null : open.what === "delete" ? <Delete list={open.list} used={usedOf(open.list.id)} onClose={close} /> : <Edit list={open.what === "add" ? null : open.list} onClose={close} />}
    </Panel>
  )
}
