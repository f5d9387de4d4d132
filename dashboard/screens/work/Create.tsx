/** A batch over a stored file. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"

/** As the gateway lists them for the lines of a batch. */
const endpoints = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", "/v1/embeddings", "/v1/moderations", "/v1/images/generations"]
const MOST_FILES = 10_000

const wordOf = ({ filename, id }: Answer<"GET /api/files">["data"][number]): string => `${filename} (${id})`

export const Create = ({ fileId, onClose }: { readonly fileId: string; readonly onClose: () => void }) => {
  const files = useRead("GET /api/files", { query: { limit: MOST_FILES, purpose: "batch" } })
  const [chosen, setFile] = useState(fileId)
  const [endpoint, setEndpoint] = useState("/v1/chat/completions")
  const [note, setNote] = useState("")
  const add = useChange("POST /v1/batches", ["GET /api/batches"], onClose, { said: "The batch is accepted.", isRecord: false })
  const list = files.data?.data ?? []
  const id = chosen !== "" ? chosen : list[0]?.id ?? ""
  return (
    <Dialog title="New batch" onClose={onClose} onSubmit={() => add.mutate({ body: { input_file_id: id, endpoint, completion_window: "24h", ...(note === "" ? {} : { metadata: { note } }) } })}>
      {files.data !== undefined && list.length === 0 ? <p>No file for batches is stored. Upload one first, with the purpose <code>batch</code>.</p> : (
        <SelectField label="File" value={id} choices={[...(list.some((file) => file.id === id) || id === "" ? [] : [{ value: id, word: id }]), ...list.map((file) => ({ value: file.id, word: wordOf(file) }))]} onChange={setFile} hint={files.data?.has_more === true ? `The newest ${count(list.length)}; an older one is run from its row` : undefined} />
      )}
      <SelectField label="Endpoint" value={endpoint} choices={endpoints} onChange={setEndpoint} hint="Each line names it as its url" />
      <TextField label="Note" value={note} onChange={setNote} hint="Kept with the batch" />
      <p className="muted small">It has 24 hours, and runs as you: without the limits of a key.</p>
      <Submit failed="The batch was not accepted" of={add} isOff={id === ""} onClose={onClose}>Start the batch</Submit>
    </Dialog>
  )
}
