/** What the lines of the programs say. Pure; a line that says nothing of use is answered with none. */
import * as Json from "#src/wire/json/json.ts"
import type { Heard, Kind } from "./Tunnel.ts"

/** Characters of a program's words that are kept. */
const WORDS_MAX = 500

type Reader = (line: string) => ReadonlyArray<Heard>

const problem = (message: string): Heard => ({ _tag: "Problem", message })
const url = (address: string): Heard => ({ _tag: "Url", url: address.replace(/\/+$/, "") })
const connected: Heard = { _tag: "Connected" }
const needsAuth = (message: string, authUrl: string | null = null): Heard => ({ _tag: "NeedsAuth", message, authUrl })

/** On one line, without what stands for a credential. */
export const words = (text: string, secret: string | null): string => {
  const shown = secret === null ? text : text.replaceAll(secret, "[redacted]")
  return shown.replace(/\s+/g, " ").replace(/\b((?:auth)?token\s*[:=]\s*)\S+/gi, "$1[redacted]").trim().slice(0, WORDS_MAX)
}

const quick = /https:\/\/(?!api\.)[a-z0-9-]+\.trycloudflare\.com\b/
const unauthorized = /tunnel token is not valid|Invalid tunnel secret|Unauthorized: |tunnel not found/i

/** Hosts of a configuration that came from Cloudflare and whose service is ours; the port tells. */
const hostIn = (line: string, target: string): Heard | null => {
  const [, quoted] = /\bconfig=("(?:[^"\\]|\\.)*")/.exec(line) ?? []
  if (quoted === undefined) return null
  const text = Json.parseRecord(`{"of":${quoted}}`)?.["of"]
  const rules: unknown = typeof text === "string" ? Json.parseRecord(text)?.["ingress"] : null
  const hosts = (Array.isArray(rules) ? rules as ReadonlyArray<unknown> : []).flatMap((rule) => Json.isRecord(rule) && typeof rule["hostname"] === "string" && typeof rule["service"] === "string"
      ? [{ hostname: rule["hostname"], port: URL.parse(rule["service"])?.port }] : [])
  const own = hosts.find(({ port }) => port === URL.parse(target)?.port)
  return own === undefined ? problem(`No public hostname of the tunnel leads to ${target}: give one that service in Cloudflare's dashboard`) : url(`https://${own.hostname}`)
}

/** `2026-11-29T12:00:00Z INF words key=value`; what ends it at once is said without time and level. */
const cloudflared = (target: string): Reader => (line) => {
  const [, level, said] = /^\S+\s+(DBG|INF|WRN|ERR|FTL)\s+(.*)$/.exec(line) ?? [undefined, "ERR", line]
  if (said === undefined || said.trim() === "") return []
  const found = quick.exec(said)
  if (found !== null) return [url(found[0])]
  if (/\bregistered tunnel connection\b|\bConnection \S+ registered\b/i.test(said)) return [connected]
  if (said.startsWith("Updated to new configuration")) {
    const host = hostIn(said, target)
    return host === null ? [] : [host]
  }
  if (unauthorized.test(said)) return [needsAuth(`${said}: set GATEWAY_CLOUDFLARED_TOKEN to the tunnel's token`)]
  return level === "ERR" || level === "FTL" ? [problem(said)] : []
}

/** Codes of ngrok that a token of an account mends. */
const tokenCodes = /ERR_NGROK_(?:105|106|107|302|4018)\b/

const asked = (said: unknown): ReadonlyArray<Heard> => typeof said !== "string" ? [] :
  [tokenCodes.test(said) ? needsAuth(`${said.trim()}: set GATEWAY_NGROK_AUTHTOKEN to the token of an account`) : problem(said)]

/** Lines of JSON; what comes before the log is said as `ERROR: words`. */
const ngrok: Reader = (line) => {
  const entry = Json.parseRecord(line)
  if (entry === null) return asked(/^ERROR:\s*(.+)$/.exec(line)?.[1])
  const { err, lvl, msg, url: address } = entry
  if (msg === "started tunnel" && typeof address === "string" && address.startsWith("https://")) return [url(address), connected]
  if (lvl !== "eror" && lvl !== "crit") return []
  return asked(typeof err === "string" && err !== "<nil>" ? err : msg)
}

const asks = "Tailscale asks for a sign-in or for consent: POST /api/tunnels/tailscale/login and GET /api/tunnels/tailscale/check tell the address to open"

/** Sentences, and addresses that stand alone on their lines. */
const tailscale: Reader = (line) => {
  const said = line.trim()
  const [, address] = /^(?:Log in at:\s*)?(https?:\/\/\S+)$/.exec(said) ?? []
  if (address !== undefined) {
    return URL.parse(address)?.hostname.endsWith(".ts.net") === true && !said.startsWith("Log in") ? [url(address), connected] : [needsAuth(asks, address)]
  }
  if (/^Logged out\.|^Tailscale is stopped\.|is not enabled on your tailnet|NeedsLogin/.test(said)) return [needsAuth(`${said} ${asks}`)]
  return /\b(?:error|failed|denied|cannot|must|not)\b/i.test(said) ? [problem(said)] : []
}

/** `target`: the address that the tunnel leads to. */
export const readerOf = (kind: Kind, target: string): Reader => kind === "cloudflared" ? cloudflared(target) : kind === "ngrok" ? ngrok : tailscale
