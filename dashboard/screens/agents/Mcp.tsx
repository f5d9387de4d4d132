/** The MCP server: whether it answers and over which transport, its tools with their scopes, and a call of one of them. */
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { gatewayAddress } from "../../app/place.ts"
import { call, Problem } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import { count, duration, percent } from "../../format/numbers.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { AreaField, SelectField, Switch, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { callTool, type CallResult, draftOf, listTools } from "./mcp.ts"

const EVERY_MS = 5_000

type McpStatus = Answer<"GET /api/mcp/status">
type Tool = Answer<"GET /api/mcp/tools">["tools"][number]

const transports = [
  { value: "stdio", word: "Standard input, by gateway mcp" }, { value: "streamable-http", word: "Streamable HTTP" }, { value: "sse", word: "HTTP with SSE" }
] as const

const useSetting = (before: Body<"PATCH /api/settings">) => useChange("PATCH /api/settings", ["GET /api/mcp/status", "GET /api/a2a/status", "GET /api/settings"], undefined, {
  said: "The setting is changed.", undo: () => () => call("PATCH /api/settings", { body: before })
})

const State = ({ status }: { readonly status: McpStatus }) => {
  const save = useSetting({ mcpEnabled: status.enabled, mcpTransport: status.transport })
  const { activity } = status
  const address = status.httpTransport === null ? null : `${gatewayAddress}${status.httpTransport}`
  return (
    <>
      <div className="panel-body">
        <div className="row-wide">
          <p><Status tone={status.online ? "ok" : status.enabled ? "warn" : "off"} word={status.online ? "Answers" : status.enabled ? "On, but no client is connected" : "Off"} /> <span className="small muted">{status.heartbeat === null ? "" : "last sign of life "}{status.heartbeat === null ? null : <Ago at={status.heartbeat.at} />}</span></p>
          <Switch label="MCP is served" checked={status.enabled} disabled={save.isPending} onChange={(mcpEnabled) => save.mutate({ body: { mcpEnabled } })} />
        </div>
        <div className="grid-fields">
          <SelectField
            label="Transport" value={status.transport} disabled={save.isPending} choices={transports} onChange={(mcpTransport) => save.mutate({ body: { mcpTransport } })}
            hint="Clients reach it over this one alone"
          />
        </div>
        {address === null ? <CodeBlock label="command for clients" text="npx gateway mcp" /> : <CodeBlock label="address for clients" text={address} />}
        <Failure what="The setting was not changed" error={save.error} />
      </div>
      <dl className="tiles">
        <div className="tile"><dt>Calls, 24 hours</dt><dd>{count(activity.totalCalls24h)}</dd></div>
        <div className="tile"><dt>Succeeded</dt><dd>{activity.totalCalls24h === 0 ? "–" : percent(activity.successRate)}</dd></div>
        <div className="tile"><dt>A call takes</dt><dd>{activity.totalCalls24h === 0 ? "–" : duration(activity.avgDurationMs)}</dd></div>
        <div className="tile"><dt>Last call</dt><dd className="unit">{activity.lastCallTool ?? "none"} <Ago at={activity.lastCallAt} never="" /></dd></div>
      </dl>
    </>
  )
}

const CallTool = ({ onClose, tool }: { readonly tool: Tool; readonly onClose: () => void }) => {
  const schemas = useQuery({ queryKey: ["mcp tools"], queryFn: listTools, staleTime: 60_000, retry: false })
  const known = schemas.data?.find(({ name }) => name === tool.name)
  const [written, setWritten] = useState<string | null>(null)
  const [wrong, setWrong] = useState<string | undefined>(undefined)
  const args = written ?? (known === undefined ? "{}" : draftOf(known.schema))
  const run = useMutation<CallResult, Error, Readonly<Record<string, unknown>>>({
    mutationFn: (given) => callTool(tool.name, given),
    onSettled: () => Promise.all(["GET /api/mcp/audit", "GET /api/mcp/audit/stats", "GET /api/mcp/status"].map((read) => queryClient.invalidateQueries({ queryKey: [read] })))
  })
  const submit = (): void => {
    try {
      const given: unknown = JSON.parse(args)
      if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("Expected a JSON object")
      setWrong(undefined)
      run.mutate(given as Readonly<Record<string, unknown>>)
    } catch (error) {
      setWrong(`Not a JSON object: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return (
    <Dialog title={tool.name} wide onClose={onClose} onSubmit={submit}>
      <p className="wrap">{tool.description}</p>
      <p className="small muted wrap">Needs {tool.scopes.length === 0 ? "no scope" : tool.scopes.join(", ")}. Asks {tool.sourceEndpoints.length === 0 ? "nothing else" : tool.sourceEndpoints.join(", ")}.</p>
      {schemas.error === null ? null : <Failure what="The tools cannot be reached over HTTP" error={schemas.error instanceof Problem ? schemas.error : new Problem(String(schemas.error), 0, "mcp")} />}
      {known === undefined ? null : (
        <details>
          <summary>Schema of its arguments</summary>
          <pre className="well well-scroll" tabIndex={0} aria-label="Schema of the arguments">{JSON.stringify(known.schema, null, 2)}</pre>
        </details>
      )}
      <AreaField label="Arguments, JSON" rows={6} value={args} onChange={setWritten} wrong={wrong} />
      <Failure what="The call failed" error={run.error} />
      {run.data === undefined ? null : (
        <section className="stack-tight" aria-label="Answer of the tool">
          <p role="status"><Status tone={run.data.isError ? "bad" : "ok"} word={run.data.isError ? "The tool reports an error" : "Answered"} /> <span className="small muted number">{duration(run.data.tookMs)}</span></p>
          <pre className="well well-scroll" tabIndex={0} aria-label="What the tool says">{run.data.text}</pre>
        </section>
      )}
      <div className="dialog-foot"><Button type="submit" kind="primary" disabled={run.isPending}>{run.isPending ? "Calling" : "Call the tool"}</Button></div>
    </Dialog>
  )
}

export const Mcp = () => {
  const status = useRead("GET /api/mcp/status", {}, { everyMs: EVERY_MS })
  const tools = useRead("GET /api/mcp/tools")
  const [search, setSearch] = useState("")
  const [open, setOpen] = useState<Tool | null>(null)
  const wanted = search.toLowerCase()
  const isRemote = status.error instanceof Problem && status.error.code === "LOCAL_ONLY"
  return (
    <>
      <Panel title="MCP server">
        {isRemote ? <Empty icon="agents" title="Shown on the gateway's own machine only">What reads and calls tools answers loopback alone. Open this page there, or over a tunnel such as <code>ssh -L</code>.</Empty> : <Loaded read={status} what="The state of the MCP server">{(known) => <State status={known} />}</Loaded>}
      </Panel>
      {isRemote ? null : (
        <Panel title="Tools">
          <Loaded read={tools} what="The tools">
            {(found) => {
              const shown = found.tools.filter(({ description, name, scopes }) => `${name} ${description} ${scopes.join(" ")}`.toLowerCase().includes(wanted))
              return (
                <>
                  <div className="panel-head">
                    <div className="filters"><TextField className="field-wide" label="Find a tool" type="search" value={search} placeholder="Name, words or scope" onChange={setSearch} /></div>
                    <span className="muted small number">{shown.length} of {found.total}</span>
                  </div>
                  {shown.length === 0 ? <Empty icon="search" title="No tool fits" action={<Button onClick={() => setSearch("")}>Show all</Button>} /> : (
                    <Table label="Tools">
                      <Head of={["Tool", "Scopes", "Audited", ""]} />
                      <tbody>
                        {shown.map((tool) => (
                          <tr key={tool.name}>
                            <td><strong className="mono wrap">{tool.name}</strong><p className="small muted wrap">{tool.description}</p></td>
                            <td className="wrap">{tool.scopes.map((scope) => <span key={scope} className="tag">{scope}</span>)}</td>
                            <td>{tool.auditLevel}</td>
                            <td className="actions"><Button kind="small" disabled={status.data?.enabled !== true || status.data.transport !== "streamable-http"} title={status.data?.transport === "streamable-http" ? undefined : "The page calls tools over streamable HTTP: choose that transport"} onClick={() => setOpen(tool)} aria-label={`Call ${tool.name}`}>Call</Button></td>
                          </tr>
                        ))}
                      </tbody>
                    </Table>
                  )}
                </>
              )
            }}
          </Loaded>
        </Panel>
      )}
      {open === null ? null : <CallTool tool={open} onClose={() => setOpen(null)} />}
    </>
  )
}
