/** Changes the fields of one connection; only what was changed is sent. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { SaveOrCopy, useTheirs } from "../../parts/edit/Theirs.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import type { Connection } from "./state.ts"

const changed = <T,>(before: T, now: T): boolean => before !== now

export const Edit = ({ connection, onClose }: { readonly connection: Connection; readonly onClose: () => void }) => {
  const [name, setName] = useState(connection.name)
  const [priority, setPriority] = useState(String(connection.priority))
  const [model, setModel] = useState(connection.defaultModel ?? "")
  const [most, setMost] = useState(connection.maxConcurrent === null ? "" : String(connection.maxConcurrent))
  const [apiKey, setKey] = useState("")
  const save = useChange("PUT /api/providers/:id", ["GET /api/providers"], onClose, {
    said: "The connection is changed.",
    // A credential that was replaced is gone: then there is no way back.
    undo: () => apiKey !== "" ? null : () => call("PUT /api/providers/:id", {
      params: { id: connection.id }, body: { name: connection.name, priority: connection.priority, defaultModel: connection.defaultModel, maxConcurrent: connection.maxConcurrent }
    })
  })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/providers/:id", { params: { id: connection.id } })).connection }), { ...connection })
  const body = {
    ...(changed(connection.name, name) ? { name } : {}),
    ...(changed(String(connection.priority), priority) ? { priority: Number(priority) } : {}),
    ...(changed(connection.defaultModel ?? "", model) ? { defaultModel: model === "" ? null : model } : {}),
    ...(changed(connection.maxConcurrent === null ? "" : String(connection.maxConcurrent), most) ? { maxConcurrent: most === "" ? null : Number(most) } : {}),
    ...(apiKey === "" ? {} : { apiKey: apiKey.trim() })
  }
  return (
    <Dialog title={`Edit ${connection.name}`} onClose={onClose} onSubmit={() => void theirs.save({ ...body, apiKey: undefined }, () => save.mutate({ params: { id: connection.id }, body }))}>
      <div className="grid-fields">
        <TextField label="Name" value={name} onChange={setName} required wrong={wrongWith(save.error, "name")} />
        <TextField label="Priority" type="number" value={priority} onChange={setPriority} hint="1 is asked first" wrong={wrongWith(save.error, "priority")} />
        <TextField label="Default model" value={model} onChange={setModel} wrong={wrongWith(save.error, "defaultModel")} />
        <TextField label="Calls at once" type="number" value={most} onChange={setMost} placeholder="no cap" wrong={wrongWith(save.error, "maxConcurrent")} />
      </div>
      {connection.authType === "apikey"
        ? <TextField label="New API key" type="password" value={apiKey} onChange={setKey} hint="Empty keeps the stored one" wrong={wrongWith(save.error, "apiKey")} />
        : <p className="muted small">This connection was made by a sign-in; its credential is renewed by the gateway.</p>}
      <Submit failed="The connection was not changed" of={save} theirs={theirs} isSame={Object.keys(body).length === 0} onClose={onClose} around={(button) => <SaveOrCopy owner={connection.owner} section="providers" name={connection.name} body={{ ...body, apiKey: undefined }}>{button}</SaveOrCopy>} />
    </Dialog>
  )
}
