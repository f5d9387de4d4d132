/** Back in one step: backups of this node, archives for others, where the records lie, and what is recorded of requests. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import * as Notes from "../../api/notes.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import { bytes } from "../../format/bytes.ts"
import { count, counted } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { Archives } from "./Archives.tsx"
import { Brought } from "./Brought.tsx"
import { Purges } from "./Purges.tsx"

const EVERY_MS = 10_000
const touched = ["GET /api/db-backups", "GET /api/storage/health"] as const

type Backup = Answer<"GET /api/db-backups">["backups"][number]

const reasons: Readonly<Record<Backup["reason"], string>> = { manual: "asked for", scheduled: "on its schedule", "pre-restore": "before a restore", "pre-import": "before an archive came in" }

const days = (value: number): string => value === 0 ? "for ever" : `for ${counted(value, "day", "days")}`

const Storage = () => {
  const read = useRead("GET /api/storage/health", {}, { everyMs: EVERY_MS })
  return (
    <Loaded read={read} what="The storage" rows={2}>
      {({ backupCount, backupRetention, dataDir, dbPath, driver, lastBackupAt, retentionDays, sizeBytes }) => (
        <div className="stack">
          <dl className="tiles">
            <div className="tile"><dt>Newest backup</dt><dd><Ago at={lastBackupAt} /></dd><dd className="unit">of this node</dd></div>
            <div className="tile"><dt>Backups</dt><dd>{count(backupCount)}</dd><dd className="unit">at most {count(backupRetention)}; then none is made until some are removed</dd></div>
            <div className="tile"><dt>Database</dt><dd title={`${count(sizeBytes)} bytes`}>{bytes(sizeBytes)}</dd><dd className="unit">{driver === "pglite" ? "embedded" : "a Postgres server"}</dd></div>
            <div className="tile"><dt>Calls are kept</dt><dd>{days(retentionDays.call)}</dd><dd className="unit">the audit log {days(retentionDays.app)}</dd></div>
          </dl>
          <p className="small muted wrap">Backups lie in <code>{dataDir}</code>{dbPath === null ? "" : <>, the database in <code>{dbPath}</code></>}. Copy them to another machine.</p>
        </div>
      )}
    </Loaded>
  )
}

const Restore = ({ backup, onClose, onDone }: { readonly backup: Backup; readonly onClose: () => void; readonly onDone: (answer: Answer<"POST /api/db-backups">) => void }) => {
  const restore = useChange("POST /api/db-backups", [], (answer) => {
    onDone(answer)
    void queryClient.invalidateQueries()
  }, {
    said: "The backup is restored.",
    undo: ({ preRestoreBackupId }) => () => call("POST /api/db-backups", { body: { backupId: preRestoreBackupId } })
  })
  return (
    <Confirm title="Restore the backup?" confirm="Restore it" typed="restore" pending={restore.isPending} onClose={onClose} onConfirm={() => restore.mutate({ body: { backupId: backup.id } })} failed="The backup was not restored" error={restore.error}>
      <div className="stack-tight">
        <p>What was configured at {exact(backup.createdAt)} replaces what is configured now, on all nodes: providers, combos, keys, budgets, webhooks, settings and flags.</p>
        <ul className="stack-tight">
          <li>Changes of later are gone; what is here now is backed up before.</li>
          <li>Keys that were revoked or deleted since then are valid again: revoke them again.</li>
          <li>The ledger, the audit log and who is signed in stay.</li>
        </ul>
      </div>
    </Confirm>
  )
}

const Clean = ({ held, onClose }: { readonly held: number; readonly onClose: () => void }) => {
  const [keep, setKeep] = useState("5")
  const [age, setAge] = useState("30")
  const clean = useChange("DELETE /api/db-backups", touched, onClose, { said: ({ deleted }) => `${counted(deleted, "backup is", "backups are")} removed.`, isRecord: false })
  return (
    <Confirm title="Remove old backups" confirm="Remove them" typed="remove" isBlocked={keep === "" || age === ""} pending={clean.isPending} onClose={onClose} onConfirm={() => clean.mutate({ body: { keepLatest: Number(keep), retentionDays: Number(age) } })} failed="No backup was removed" error={clean.error}>
      <div className="stack">
        <p>Of {counted(held, "backup", "backups")} of this node these stay:</p>
        <div className="grid-fields">
          <TextField label="The newest" type="number" value={keep} onChange={setKeep} hint="1 to 200" wrong={wrongWith(clean.error, "keepLatest")} />
          <TextField label="Those younger than, days" type="number" value={age} onChange={setAge} hint="0: their age does not keep them" wrong={wrongWith(clean.error, "retentionDays")} />
        </div>
      </div>
    </Confirm>
  )
}

type Open = { readonly what: "clean" } | { readonly what: "restore"; readonly backup: Backup } | { readonly what: "restored"; readonly answer: Answer<"POST /api/db-backups"> } | null

const Backups = () => {
  const read = useRead("GET /api/db-backups", {}, { everyMs: EVERY_MS })
  const storage = useRead("GET /api/storage/health")
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const make = useChange("PUT /api/db-backups", touched, (answer) => void Notes.tell("created" in answer ? `Backup ${answer.id} is made, ${bytes(answer.size)}.` : answer.message, { isBad: !("created" in answer) }))
  const add = <Button kind="primary" disabled={make.isPending} onClick={() => make.mutate({})}><Icon name="plus" size={16} />Back up now</Button>
  const held = read.data?.backups.length ?? 0
  return (
    <Page title="Backups" lead="What is configured and the keys of clients, sealed, back in one step." actions={<>{held === 0 ? null : <Button kind="danger" onClick={() => setOpen({ what: "clean" })}>Remove old ones …</Button>}{add}</>}>
      {!isSettled(read, storage) ? <Skeleton rows={8} /> : (
        <>
          <Storage />
          <Failure what="No backup was made" error={make.error} />
          <Panel title="Backups of this node">
            <Loaded read={read} what="The backups">
              {({ backups }) => backups.length === 0 ? <Empty icon="backups" title="No backup yet" action={add}>A restore makes one by itself before it changes anything.</Empty> : (
                <Rows label="Backups" rows={backups} head={["Made", "Why", ">Size", "Id", ""]}>
                  {(backup, index) => (
                    <tr key={backup.id} aria-rowindex={index + 2}>
                      <td><Ago at={backup.createdAt} /></td><td>{reasons[backup.reason]}</td><td className="end" title={`${count(backup.size)} bytes`}>{bytes(backup.size)}</td><td title={backup.filename}><Copy value={backup.id} most={28} /></td>
                      <td className="actions"><Button kind="small" onClick={() => setOpen({ what: "restore", backup })} aria-label={`Restore ${backup.id}`}>Restore …</Button></td>
                    </tr>
                  )}
                </Rows>
              )}
            </Loaded>
          </Panel>
          <Archives />
          <Purges />
        </>
      )}
      {open?.what === "clean" ? <Clean held={held} onClose={close} /> : null}
      {open?.what === "restore" ? <Restore backup={open.backup} onClose={close} onDone={(answer) => setOpen({ what: "restored", answer })} /> : null}
      {open?.what === "restored" ? (
        <Dialog title="Restored" wide onClose={close}>
          <Brought answer={open.answer} before={open.answer.preRestoreBackupId} />
          <div className="dialog-foot"><Button kind="primary" onClick={close}>Close</Button></div>
        </Dialog>
      ) : null}
    </Page>
  )
}

export default Backups
