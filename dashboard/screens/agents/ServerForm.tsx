/** Makes or changes the record of an MCP server; what the gateway refuses stands at its field. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { linesOf, pairsOf, pairsText } from "../../format/lines.ts"
import { changedIn } from "../../format/members.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { AreaField, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"

export type Server = Answer<"GET /api/mcp/servers">["servers"][number]
type New = Body<"POST /api/mcp/servers">
type Change = Body<"PATCH /api/mcp/servers/:id">

const transports = [{ value: "http", word: "Streamable HTTP" }, { value: "stdio", word: "A program on each node" }]
const accesses = [{ value: "keys", word: "Only keys that list its tools" }, { value: "open", word: "Every key" }]
const TIMEOUT_MS = 60_000

const draftOf = (server: Server | null) => ({
  name: server?.name ?? "",
  description: server?.description ?? "",
  transport: server?.transport ?? "http",
  url: server?.url ?? "",
  headers: pairsText(server?.headers ?? null, ": "),
  command: server?.command ?? "",
  args: (server?.args ?? []).join("\n"),
  env: pairsText(server?.env ?? null, "="),
  access: server?.access ?? "keys",
  allowedTools: (server?.allowedTools ?? []).join("\n"),
  blockedTools: (server?.blockedTools ?? []).join("\n"),
  timeout: String((server?.timeoutMs ?? TIMEOUT_MS) / 1_000)
})
type Draft = ReturnType<typeof draftOf>

const bodyOf = (draft: Draft): New => ({
  name: draft.name, description: draft.description, transport: draft.transport, access: draft.access, timeoutMs: Math.round(Number(draft.timeout) * 1_000),
  allowedTools: linesOf(draft.allowedTools), blockedTools: linesOf(draft.blockedTools),
  ...(draft.transport === "http"
    ? { url: draft.url, headers: pairsOf(draft.headers, ":") }
    : { command: draft.command, args: linesOf(draft.args), env: pairsOf(draft.env, "=") })
})

/** The members that differ: what another operator changed meanwhile in others stays. */
const changeOf = (draft: Draft, server: Server): Change => {
  const { transport: _, ...after } = bodyOf(draft)
  const before: Readonly<Record<string, unknown>> = bodyOf(draftOf(server))
  return changedIn(after, before)
}

/** How to take a change back; null where a stored value is masked. */
const inverseOf = (server: Server, change: Change): Change | null => {
  const before: Readonly<Record<string, unknown>> = bodyOf(draftOf(server))
  return "url" in change || "headers" in change || "env" in change ? null : Object.fromEntries(Object.keys(change).map((name) => [name, before[name]]))
}

/** `server`: null for a new one. */
export const ServerForm = ({ onClose, server }: { readonly server: Server | null; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(server))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const make = useChange("POST /api/mcp/servers", ["GET /api/mcp/servers"], onClose, { said: ({ server: { name } }) => `The server ${name} is added.` })
  const change = useChange("PATCH /api/mcp/servers/:id", ["GET /api/mcp/servers", "GET /api/mcp/servers/:id/tools"], onClose, {
    said: ({ server: { name } }) => `The server ${name} is changed.`,
    undo: (_, { body }) => {
      const inverse = server === null || body === undefined ? null : inverseOf(server, body)
      return server === null || inverse === null ? null : () => call("PATCH /api/mcp/servers/:id", { params: { id: server.id }, body: inverse })
    }
  })
  const theirs = useTheirs(async () => server === null ? {} : { ...(await call("GET /api/mcp/servers/:id", { params: { id: server.id } })).server }, { ...server })
  const error = make.error ?? change.error
  const submit = (): void => {
    if (server === null) {
      make.mutate({ body: bodyOf(draft) })
      return
    }
    const body = changeOf(draft, server)
    void theirs.save({ ...body }, () => change.mutate({ params: { id: server.id }, body }))
  }
  const field = fieldsOf(draft, put, error)
  return (
    <Dialog title={server === null ? "New MCP server" : `Change ${server.name}`} wide onClose={onClose} onSubmit={submit}>
      <div className="grid-fields">
        <TextField label="Name" {...field("name")} required hint="The prefix of its tools: letters, digits and -" />
        <TextField label="Description" {...field("description")} />
        <SelectField label="Reached by" value={draft.transport} choices={transports} disabled={server !== null} onChange={(value) => put({ transport: value === "stdio" ? "stdio" : "http" })} wrong={wrongWith(error, "transport")} />
        <SelectField label="Offered to" value={draft.access} choices={accesses} onChange={(value) => put({ access: value === "open" ? "open" : "keys" })} wrong={wrongWith(error, "access")} />
      </div>
      {draft.transport === "http" ? (
        <>
          <TextField label="URL" {...field("url")} required placeholder="https://" />
          <AreaField label="Headers" rows={2} {...field("headers")} hint="Name: value, one a line. [redacted] keeps the stored value" />
        </>
      ) : (
        <>
          <TextField label="Program" {...field("command")} required />
          <AreaField label="Arguments" rows={2} {...field("args")} hint="One a line" />
          <AreaField label="Variables" rows={2} {...field("env")} hint="NAME=value, one a line. [redacted] keeps the stored value" />
        </>
      )}
      <div className="grid-fields">
        <AreaField label="Tools that are offered" rows={2} {...field("allowedTools")} hint="Names or patterns with *, one a line; empty: all" />
        <AreaField label="Tools that are never offered" rows={2} {...field("blockedTools")} hint="The same; it wins" />
        <TextField label="A call may take, seconds" type="number" {...field("timeout")} wrong={wrongWith(error, "timeoutMs")} />
      </div>
      <Submit failed="The server was not stored" of={[make, change]} theirs={theirs} onClose={onClose}>{server === null ? "Add the server" : "Save"}</Submit>
    </Dialog>
  )
}
