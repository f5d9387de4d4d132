/** Where a server is, from what an operator wrote and for what an operator reads. Pure. */
import type { HttpAddress, McpAddress, McpTransport, StdioAddress } from "./ports/McpServer.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { keepRedacted, REDACTED } from "#src/management/redact.ts"
import type { McpServerChange } from "./api.ts"

type Fields = Pick<McpServerChange, "url" | "headers" | "command" | "args" | "env">

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
/** The gateway's own; the protocol and the connection stand on them. */
const ownHeaders: ReadonlySet<string> = new Set([
  "host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding", "te", "upgrade", "expect", "keep-alive",
  "mcp-session-id", "mcp-protocol-version", "last-event-id", "trailer", "proxy-connection"
])
const envName = /^[A-Za-z_][A-Za-z0-9_]*$/

export const isHttp = (address: McpAddress): address is HttpAddress => "url" in address

const shownUrl = (text: string): string => {
  const url = new URL(text)
  return `${url.origin}${url.pathname}${url.search === "" ? "" : `?${REDACTED}`}`
}

const masked = (words: Readonly<Record<string, string>>): Record<string, string> => Object.fromEntries(Object.keys(words).map((name) => [name, REDACTED]))

/** What an operator reads: no value of a header, a variable or a query. */
export const viewOf = (address: McpAddress) => isHttp(address)
  ? { url: shownUrl(address.url), headers: masked(address.headers), command: null, args: null, env: null }
  : { url: null, headers: null, command: address.command, args: address.args, env: masked(address.env) }

const http = ({ headers, url }: Fields, before: HttpAddress | null): HttpAddress | Refusal.Refusal => {
  const given = url === undefined || (before !== null && url === shownUrl(before.url)) ? before?.url : url
  if (given === undefined) return Refusal.invalidField("url", "Expected the address of the server: transport http needs it")
  const parsed = URL.parse(given)
  if (parsed === null) return Refusal.invalidField("url", "Expected an http or https URL")
  const kept = headers === undefined ? before?.headers ?? {} : keepRedacted(headers, before?.headers ?? {})
  for (const [name, value] of Object.entries(kept)) {
    if (!headerName.test(name) || !headerValue.test(value)) return Refusal.invalidField(`headers.${name}`, "Expected a header's name and a value without line breaks")
    if (ownHeaders.has(name.toLowerCase())) return Refusal.invalidField(`headers.${name}`, "The gateway sets this header itself")
  }
  parsed.hash = ""
  return { url: parsed.href, headers: kept }
}

const stdio = ({ args, command, env }: Fields, before: StdioAddress | null): StdioAddress | Refusal.Refusal => {
  const program = command ?? before?.command
  if (program === undefined) return Refusal.invalidField("command", "Expected the program: transport stdio needs it")
  const kept = env === undefined ? before?.env ?? {} : keepRedacted(env, before?.env ?? {})
  for (const [name, value] of Object.entries(kept)) {
    if (!envName.test(name) || value.includes("\0")) return Refusal.invalidField(`env.${name}`, "Expected the name of a variable and a value without NUL")
  }
  const words = args ?? before?.args ?? []
  const foreign = [program, ...words].findIndex((word) => word.includes("\0"))
  if (foreign >= 0) return Refusal.invalidField(foreign === 0 ? "command" : `args.${foreign - 1}`, "Expected text without NUL")
  return { command: program, args: words, env: kept }
}

/** Whether values of headers that the change does not bring go along to the URL that it does. */
export const keepsHeaders = ({ headers }: Fields, before: HttpAddress, after: HttpAddress): boolean =>
  Object.entries(after.headers).some(([name, value]) => before.headers[name] === value && (headers === undefined || headers[name] === REDACTED))

/** `before`: what is stored, for a change. */
export const addressOf = (transport: McpTransport, fields: Fields, before: McpAddress | null): McpAddress | Refusal.Refusal => {
  const others = transport === "http" ? ["command", "args", "env"] as const : ["url", "headers"] as const
  const foreign = others.find((field) => fields[field] !== undefined)
  if (foreign !== undefined) return Refusal.invalidField(foreign, `It has no meaning for a server over ${transport}`)
  return transport === "http"
    ? http(fields, before !== null && isHttp(before) ? before : null)
    : stdio(fields, before !== null && !isHttp(before) ? before : null)
}
