/** Other MCP servers whose tools the gateway offers: how each stands on this node, its tools, and its record. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { type Server, ServerForm } from "./ServerForm.tsx"

const EVERY_MS = 5_000

const Health = ({ state }: { readonly state: Server["state"] }) => {
  switch (state.status) {
    case "off":
      return <Status tone="off" word="Off" title={state.reason ?? undefined} />
    case "connecting":
      return <Status tone="info" word="Connecting" />
    case "connected":
      return <><Status tone="ok" word="Connected" /> <span className="small muted">{state.server === null ? "" : `${state.server.name} ${state.server.version}, `}since <Ago at={state.since} /></span></>
    case "failing":
      return (
        <>
          <Status tone="bad" word="Failing" /> <span className="small muted number">{count(state.failures)} times in a row{state.nextTryAt === null ? null : <>, tried again in <Countdown until={state.nextTryAt} /></>}</span>
          <p className="small wrap">{state.error}</p>
        </>
      )
  }
}

const Tools = ({ onClose, server }: { readonly server: Server; readonly onClose: () => void }) => {
  const params = { id: server.id }
  const read = useRead("GET /api/mcp/servers/:id/tools", { params }, { everyMs: EVERY_MS })
  const refresh = useChange("POST /api/mcp/servers/:id/refresh", ["GET /api/mcp/servers", "GET /api/mcp/servers/:id/tools"])
  return (
    <Dialog title={`Tools of ${server.name}`} wide onClose={onClose}>
      <div className="row-wide">
        <div role="status"><Health state={server.state} /></div>
        <Button kind="small" disabled={refresh.isPending} onClick={() => refresh.mutate({ params })}>Connect and read again</Button>
      </div>
      <Failure what="The server was not asked" error={refresh.error} />
      <Loaded read={read} what="The tools of the server">
        {({ leftOut, tools }) => (
          <>
            {tools.length === 0 ? <Empty icon="agents" title="No tool is offered" /> : (
              <Table label="Offered tools">
                <Head of={["Name for clients", "Name at its server", "Description"]} />
                <tbody>{tools.map((tool) => <tr key={tool.name}><td className="mono wrap">{tool.name}</td><td className="mono wrap">{tool.tool}</td><td className="wrap">{tool.description ?? "–"}</td></tr>)}</tbody>
              </Table>
            )}
            {leftOut.length === 0 ? null : (
              <Table label="Tools that are left out">
                <Head of={["Left out", "Why"]} />
                <tbody>{leftOut.map((each) => <tr key={each.tool}><td className="mono wrap">{each.tool}</td><td className="wrap">{each.why}</td></tr>)}</tbody>
              </Table>
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

type Act = "tools" | "change" | "delete"

const Row = ({ onAct, server }: { readonly server: Server; readonly onAct: (act: Act) => void }) => {
  const { name } = server
  const params = { id: server.id }
  const toggle = useChange("PATCH /api/mcp/servers/:id", ["GET /api/mcp/servers"], undefined, {
    said: ({ server: { enabled } }) => enabled ? `The tools of ${name} are offered.` : `The server ${name} is off.`,
    undo: (_, { body }) => () => call("PATCH /api/mcp/servers/:id", { params, body: { enabled: body?.enabled !== true } })
  })
  return (
    <tr>
      <td>
        <strong className="mono wrap">{name}</strong>
        {server.description === null || server.description === "" ? null : <p className="small wrap">{server.description}</p>}
        <p className="small muted wrap">{server.url ?? [server.command, ...server.args ?? []].join(" ")}</p>
        {toggle.error === null ? null : <p className="small" role="alert">{toggle.error.message}</p>}
      </td>
      <td><Health state={server.state} /></td>
      <td className="end">{count(server.state.tools)}</td>
      <td>{server.access === "open" ? "Every key" : "Keys that list them"}</td>
      <Actions>
        <Button kind="small" onClick={() => onAct("tools")} aria-label={`Tools of ${name}`}>Tools</Button>
        <Button kind="small" onClick={() => onAct("change")} aria-label={`Change ${name}`}>Change</Button>
        <IconButton icon="trash" word="Delete" of={name} onClick={() => onAct("delete")} />
        <Switch checked={server.enabled} label={`${name} is used`} disabled={toggle.isPending} onChange={(enabled) => toggle.mutate({ params, body: { enabled } })} />
      </Actions>
    </tr>
  )
}

/** What the record would be made of again; null when a part of it is masked. */
const remakeOf = ({ access, allowedTools, args, blockedTools, command, description, enabled, env, headers, name, scopes, timeoutMs, transport, url }: Server) => {
  if (Object.keys({ ...headers, ...env }).length > 0 || url?.includes("?") === true) return null
  const common = { name, description, enabled, access, allowedTools, blockedTools, scopes, timeoutMs, transport }
  return () => call("POST /api/mcp/servers", { body: { ...common, ...(url === null ? { command: command ?? "", args: args ?? [] } : { url }) } })
}

const Delete = ({ onClose, server }: { readonly server: Server; readonly onClose: () => void }) => {
  const remove = useChange("DELETE /api/mcp/servers/:id", ["GET /api/mcp/servers"], onClose, { said: `The server ${server.name} is deleted.`, undo: () => remakeOf(server) })
  return (
    <Confirm
      title="Delete the MCP server?" confirm="Delete the server" pending={remove.isPending} onClose={onClose} onConfirm={() => remove.mutate({ params: { id: server.id } })}
      failed="The server was not deleted" error={remove.error}
    >
      <p>Its session ends, and its tools are offered no more.{remakeOf(server) === null ? " Its credentials are deleted, too: it cannot be taken back." : ""}</p>
    </Confirm>
  )
}

export const Servers = () => {
  const read = useRead("GET /api/mcp/servers", {}, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<{ readonly act: Act; readonly server: Server } | "new" | null>(null)
  const close = (): void => setOpen(null)
  const add = <Button kind="small" onClick={() => setOpen("new")}><Icon name="plus" size={16} />New MCP server</Button>
  return (
    <Panel title="Tools of other servers" actions={add}>
      <Loaded read={read} what="The MCP servers">
        {({ servers }) => servers.length === 0 ? <Empty icon="agents" title="No other MCP server yet">The gateway offers the tools of other MCP servers under its own address, to the keys that may use them.</Empty> : (
          <Table label="MCP servers">
            <Head of={["Server", "On this node", ">Tools", "Offered to", ""]} />
            <tbody>{servers.map((server) => <Row key={server.id} server={server} onAct={(act) => setOpen({ act, server })} />)}</tbody>
          </Table>
        )}
      </Loaded>
      {open === null ? null : open === "new" ? <ServerForm server={null} onClose={close} />
        : open.act === "tools" ? <Tools server={read.data?.servers.find(({ id }) => id === open.server.id) ?? open.server} onClose={close} />
          : open.act === "change" ? <ServerForm server={open.server} onClose={close} />
            : <Delete server={open.server} onClose={close} />}
    </Panel>
  )
}
