/** Adds a proxy, or changes one; what a save would change stands below, and stored credentials never come back. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { counted } from "../../format/numbers.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { changeOf, differencesOf, type Draft, draftOf, families, newOf, type Proxy, types } from "./words.ts"
import { Submit } from "../../parts/edit/Submit.tsx"

/** `proxy`: null for a new one. `used`: what leaves by it. */
export const Form = ({ onClose, proxy, used }: { readonly proxy: Proxy | null; readonly used: number; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState<Draft>(() => draftOf(proxy))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const add = useChange("POST /api/v1/management/proxies", ["GET /api/v1/management/proxies", "GET /api/v1/management/proxies/health"], onClose, { said: ({ name }) => `${name} is stored. Nothing leaves by it until it is assigned.` })
  const save = useChange("PATCH /api/v1/management/proxies", ["GET /api/v1/management/proxies", "GET /api/v1/management/proxies/assignments", "GET /api/v1/management/proxies/health"], onClose, {
    said: ({ name }) => `${name} is changed.`,
    // A credential that was replaced is gone: then there is no way back.
    undo: (_, { body }) => proxy === null || body === undefined || "username" in body || "password" in body ? null
      : () => call("PATCH /api/v1/management/proxies", { body: { id: proxy.id, ...changeOf(draftOf(proxy), { ...proxy, ...body } as Proxy) } })
  })
  const theirs = useTheirs(async () => {
    const now = await call("GET /api/v1/management/proxies", { query: { id: proxy?.id } })
    return "host" in now ? { ...now } : { ...proxy }
  }, { ...proxy })
  const error = add.error ?? save.error
  const wrong = (field: string): string | undefined => wrongWith(error, field)
  const stored = proxy !== null && (proxy.username !== null || proxy.password !== null)
  const list = proxy === null ? [] : differencesOf(draft, proxy)
  const go = (): void => {
    if (proxy === null) return add.mutate({ body: newOf(draft) })
    const change = changeOf(draft, proxy)
    const { password: _password, username: _username, ...shown } = change
    void theirs.save(shown, () => save.mutate({ body: { id: proxy.id, ...change } }))
  }
  return (
    <Dialog title={proxy === null ? "New proxy" : `Change ${proxy.name}`} wide onClose={onClose} onSubmit={go}>
      <div className="grid-fields">
        <TextField label="Name" value={draft.name} onChange={(name) => put({ name })} required wrong={wrong("name")} />
        <SelectField label="Type" value={draft.type} choices={types.map((value) => ({ value, word: value }))} onChange={(value) => put({ type: types.find((each) => each === value) ?? "http" })} hint={draft.type === "https" ? "TLS to the proxy itself" : undefined} wrong={wrong("type")} />
        <TextField label="Host" value={draft.host} onChange={(host) => put({ host })} required placeholder="proxy.example" wrong={wrong("host")} />
        <TextField label="Port" type="number" value={draft.port} onChange={(port) => put({ port })} required wrong={wrong("port")} />
        {draft.bare ? null : <TextField label="User" value={draft.username} onChange={(username) => put({ username })} hint={stored ? "Empty keeps the stored one" : "Empty: none"} wrong={wrong("username")} />}
        {draft.bare ? null : <TextField label="Password" type="password" value={draft.password} onChange={(password) => put({ password })} hint={stored ? "Empty keeps the stored one" : "Empty: none"} wrong={wrong("password")} />}
        <TextField label="Region" value={draft.region} onChange={(region) => put({ region })} hint="For people" wrong={wrong("region")} />
        <TextField label="Notes" value={draft.notes} onChange={(notes) => put({ notes })} hint="For people" wrong={wrong("notes")} />
        <SelectField label="Addresses of its name" value={draft.family} choices={families.map((value) => ({ value, word: value }))} onChange={(value) => put({ family: families.find((each) => each === value) ?? "auto" })} wrong={wrong("family")} />
      </div>
      {stored ? <Check checked={draft.bare} onChange={(bare) => put({ bare, username: "", password: "" })}>Remove the stored credentials</Check> : null}
      <Check checked={draft.active} onChange={(active) => put({ active })}>Active; calls that are assigned to an inactive proxy fail, they do not go another way</Check>
      {proxy === null ? null : <Changes list={list} />}
      {used === 0 || list.length === 0 ? null : <p className="small">{counted(used, "assignment leaves", "assignments leave")} by it. Running calls end as they would; new ones use the change within two seconds.</p>}
      <Submit failed={proxy === null ? "The proxy was not stored" : "The proxy was not changed"} of={[add, save]} theirs={theirs} isOff={draft.name === "" || draft.host === "" || proxy !== null && list.length === 0} onClose={onClose}>{proxy === null ? "Add the proxy" : "Save"}</Submit>
    </Dialog>
  )
}
