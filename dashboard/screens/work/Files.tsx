/** The files of all keys: put one there by dropping it, look into it, fetch it, delete it. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { ask, Problem, problemOf } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import * as Notes from "../../api/notes.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import { bytes, isoOf } from "../../format/bytes.ts"
import { count } from "../../format/numbers.ts"
import { filled } from "../../format/members.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Actions } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { contentOf } from "./content.ts"
import { Preview } from "./Preview.tsx"

const EVERY_MS = 5_000
const MOST_FILES = 10_000

export type StoredFile = Answer<"GET /api/files">["data"][number]

const purposes = ["batch", "assistants", "vision", "user_data", "evals", "fine-tune"]

const upload = async (file: File, purpose: string): Promise<StoredFile> => {
  const form = new FormData()
  form.append("purpose", purpose)
  form.append("file", file)
  const reply = await ask("/v1/files", { method: "POST", body: form })
  const said: unknown = await reply.json().catch(() => null)
  if (!reply.ok) throw problemOf(reply, said)
  return said as StoredFile
}

/** Several files are sent one after another; the first that is refused says why, and those before it stay. */
const useUpload = () => {
  const [sending, setSending] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const send = async (files: ReadonlyArray<File>, purpose: string): Promise<void> => {
    setError(null)
    try {
      for (const file of files) {
        setSending(file.name)
        const stored = await upload(file, purpose)
        Notes.tell(`${stored.filename} is stored.`)
      }
    } catch (problem) {
      setError(problem instanceof Problem ? problem : new Problem("The file could not be sent.", 0, "upload"))
    } finally {
      setSending(null)
      await queryClient.invalidateQueries({ queryKey: ["GET /api/files"] })
    }
  }
  return { error, send, sending }
}

const Drop = () => {
  const [purpose, setPurpose] = useState("batch")
  const [isOver, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const place = useRef<HTMLDivElement>(null)
  const { error, send, sending } = useUpload()
  const take = (list: FileList | null | undefined): void => {
    if (list !== null && list !== undefined && list.length > 0) void send([...list], purpose)
  }
  const newest = useRef(take)
  useEffect(() => {
    newest.current = take
  })
  // Dropping is the second way: the button is the first, and the one for keys.
  useEffect(() => {
    const target = place.current
    if (target === null) return
    const over = (event: DragEvent): void => {
      event.preventDefault()
      setOver(event.type === "dragover")
      if (event.type === "drop") newest.current(event.dataTransfer?.files)
    }
    for (const type of ["dragover", "dragleave", "drop"] as const) target.addEventListener(type, over)
    return () => {
      for (const type of ["dragover", "dragleave", "drop"] as const) target.removeEventListener(type, over)
    }
  }, [])
  return (
    <div className={isOver ? "drop drop-over" : "drop"} role="group" aria-label="Upload" ref={place}>
      <div className="row">
        <SelectField label="Purpose" value={purpose} choices={purposes} onChange={setPurpose} />
        <div className="stack-tight">
          <p className="muted small">Drop files here, or</p>
          <Button disabled={sending !== null} onClick={() => input.current?.click()}><Icon name="upload" size={16} />Choose files</Button>
        </div>
        <input
          ref={input} type="file" multiple hidden aria-label="Files to upload"
          onChange={(event) => {
            take(event.currentTarget.files)
            event.currentTarget.value = ""
          }}
        />
      </div>
      <p className="small muted wrap" role="status">{sending === null ? "At most 512 MB a file." : `Sending ${sending} …`}</p>
      <Failure what="The file was not stored" error={error} />
    </div>
  )
}

export const Files = ({ onRun }: { readonly onRun: (fileId: string) => void }) => {
  const { purpose = "", search = "" } = useSearch({ from: "/work" })
  const navigate = useNavigate({ from: "/work" })
  const read = useRead("GET /api/files", { query: { limit: MOST_FILES, ...(purpose === "" ? {} : { purpose }) } }, { everyMs: EVERY_MS })
  const [looking, setLooking] = useState<StoredFile | null>(null)
  const [deleting, setDeleting] = useState<StoredFile | null>(null)
  const remove = useChange("DELETE /v1/files/:id", ["GET /api/files"], () => setDeleting(null), { said: "The file is deleted.", isRecord: false })
  const set = (change: { readonly purpose?: string; readonly search?: string }): void => void navigate({ search: filled({ purpose, search, ...change }), replace: true })
  const wanted = search.toLowerCase()
  return (
    <Panel title="Files">
      <div className="panel-body"><Drop /></div>
      <Loaded read={read} what="The files">
        {({ data, has_more }) => data.length === 0 && purpose === "" ? <Empty icon="work" title="No file yet">A file for batches has one request a line: <code>{"{\"custom_id\": \"1\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", \"body\": {…}}"}</code></Empty> : (() => {
          const shown = data.filter((file) => `${file.filename} ${file.id}`.toLowerCase().includes(wanted))
          return (
            <>
              <div className="panel-head">
                <div className="filters">
                  <TextField className="field-wide" label="Find" type="search" value={search} placeholder="Name or id" onChange={(value) => set({ search: value })} />
                  <SelectField label="Of purpose" value={purpose} choices={[{ value: "", word: "All" }, ...[...purposes, "batch_output"].map((value) => ({ value, word: value }))]} onChange={(value) => set({ purpose: value })} />
                </div>
                <span className="muted small number">{count(shown.length)} of {count(data.length)}{has_more ? ", the newest" : ""}</span>
              </div>
              {shown.length === 0 ? <Empty icon="search" title="No file fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} /> : (
                <Rows label="Files" rows={shown} head={["Name", "Id", "Purpose", ">Size", "Stored", "Kept for", ""]}>
                  {(file, index) => (
                    <tr key={file.id} aria-rowindex={index + 2}>
                      <td className="cut" title={file.filename}>{file.filename}</td><td><Copy value={file.id} /></td><td>{file.purpose}</td><td className="end" title={`${count(file.bytes)} bytes`}>{bytes(file.bytes)}</td>
                      <td><Ago at={isoOf(file.created_at)} /></td>
                      <td>{file.status === "expired" ? "over" : file.expires_at === null ? "ever" : <Countdown until={isoOf(file.expires_at) ?? ""} />}</td>
                      <Actions>
                        {file.purpose === "batch" ? <Button kind="small" onClick={() => onRun(file.id)} aria-label={`Run ${file.filename}`}>Run</Button> : null}
                        <Button kind="small" onClick={() => setLooking(file)} aria-label={`Look into ${file.filename}`}>Look</Button>
                        <a className="button button-small button-quiet button-icon" href={contentOf(file.id)} download={file.filename} aria-label={`Download ${file.filename}`} title="Download"><Icon name="download" size={16} /></a>
                        <IconButton icon="trash" word="Delete" of={file.filename} onClick={() => setDeleting(file)} />
                      </Actions>
                    </tr>
                  )}
                </Rows>
              )}
            </>
          )
        })()}
      </Loaded>
      {looking === null ? null : <Preview id={looking.id} name={looking.filename} size={looking.bytes} onClose={() => setLooking(null)} />}
      {deleting === null ? null : (
        <Confirm
          title={`Delete ${deleting.filename}?`} confirm="Delete the file" pending={remove.isPending} onClose={() => setDeleting(null)} onConfirm={() => remove.mutate({ params: { id: deleting.id } })}
          failed="The file was not deleted" error={remove.error}
        >
          <p>Its {bytes(deleting.bytes)} are gone for good. A batch that still reads it fails.</p>
        </Confirm>
      )}
    </Panel>
  )
}
