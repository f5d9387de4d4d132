/** Adds a proxy, or changes one; what a save would change stands below, and stored credentials never come back. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { counted } from "../../format/numbers.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Check, SelectField, TextField } from "../../parts/Field.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { changeOf, differencesOf, type Draft, draftOf, families, newOf, type Proxy, types } from "./words.ts"

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
  const stored = proxy !== null && (proxy.username !== null || proxy.password !== null)
  const list = proxy === null ? [] : differencesOf(draft, proxy)
  const go = (): void => {
    if (proxy === null) return add.mutate({ body: newOf(draft) })
    const change = changeOf(draft, proxy)
    const { password: _password, username: _username, ...shown } = change
    void theirs.save(shown, () => save.mutate({ body: { id: proxy.id, ...change } }))
  }
  const field = fieldsOf(draft, put, error)
  return (
    <Dialog title={proxy === null ? "New proxy" : `Change ${proxy.name}`} wide onClose={onClose} onSubmit={go}>
      <div className="grid-fields">
        <TextField label="Name" {...field("name")} required />
        <SelectField label="Type" {...field("type")} choices={types} hint={draft.type === "https" ? "TLS to the proxy itself" : undefined} />
        <TextField label="Host" {...field("host")} required placeholder="proxy.example" />
        <TextField label="Port" type="number" {...field("port")} required />
        {draft.bare ? null : <TextField label="User" {...field("username")} hint={stored ? "Empty keeps the stored one" : "Empty: none"} />}
        {draft.bare ? null : <TextField label="Password" type="password" {...field("password")} hint={stored ? "Empty keeps the stored one" : "Empty: none"} />}
        <TextField label="Region" {...field("region")} hint="For people" />
        <TextField label="Notes" {...field("notes")} hint="For people" />
        <SelectField label="Addresses of its name" {...field("family")} choices={families} />
      </div>
      {stored ? <Check checked={draft.bare} onChange={(bare) => put({ bare, username: "", password: "" })}>Remove the stored credentials</Check> : null}
      <Check checked={draft.active} onChange={(active) => put({ active })}>Active; calls that are assigned to an inactive proxy fail, they do not go another way</Check>
      {proxy === null ? null : <Changes list={list} />}
      {used === 0 || list.length === 0 ? null : <p className="small">{counted(used, "assignment leaves", "assignments leave")} by it. Running calls end as they would; new ones use the change within two seconds.</p>}
      <Submit failed={proxy === null ? "The proxy was not stored" : "The proxy was not changed"} of={[add, save]} theirs={theirs} isOff={draft.name === "" || draft.host === "" || proxy !== null && list.length === 0} onClose={onClose}>{proxy === null ? "Add the proxy" : "Save"}</Submit>
    </Dialog>
  )
}
