/**
 * The list of a proxy subscription as its server says it. Pure: a line or an entry that is no proxy is left out and counted.
 *
 * Text has one proxy a line: `host:port`, `host:port:user:password`, `user:password@host:port`, or one of them behind `http://`,
 * `https://`, `socks5://` or `socks5h://`; blank lines and those that begin with `#` say nothing. JSON is an array of such texts or
 * of objects, or an object that holds it as `proxies`, `data`, `items` or `results`.
 */
import type { ProxyType } from "#schemas/egress/Proxy.ts"
import * as Address from "#src/features/proxies/address.ts"
import * as Json from "#src/wire/json/json.ts"

/** Proxies that are read of one list; further ones are skipped. */
export const ENTRIES_MAX = 500
const LINE_MAX = 4_096
const CREDENTIAL_MAX = 2_000

export interface Entry {
  readonly type: ProxyType
  readonly host: string
  readonly port: number
  readonly username: string | null
  readonly password: string | null
}

export interface ListRead {
  readonly entries: ReadonlyArray<Entry>
  readonly skipped: number
}

const types: ReadonlyMap<string, ProxyType> = new Map([["http", "http"], ["https", "https"], ["socks5", "socks5"], ["socks5h", "socks5"]])

const portOf = (given: unknown): number | null => {
  const port = typeof given === "number" ? given : typeof given === "string" && /^\d{1,5}$/.test(given) ? Number(given) : 0
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null
}

const credentialOf = (given: unknown): string | null => typeof given === "string" && given !== "" && given.length <= CREDENTIAL_MAX ? given : null

const entry = (type: ProxyType, host: unknown, port: unknown, username: unknown, password: unknown): Entry | null => {
  const [name, number] = [typeof host === "string" ? Address.hostOf(host) : null, portOf(port)]
  return name === null || number === null ? null : { type, host: name, port: number, username: credentialOf(username), password: credentialOf(password) }
}

const decoded = (text: string | undefined): string | null => {
  if (text === undefined) return null
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const place = String.raw`(\[[0-9a-fA-F:.]+\]|[^\s:@/\[\]]+):(\d{1,5})`
const withScheme = /^([a-z0-9]+):\/\/(.*)$/i
const behindCredentials = new RegExp(`^(?:([^@]*)@)?${place}/?$`)
const beforeCredentials = new RegExp(`^${place}:([^:]*)(?::(.*))?$`)

const ofText = (line: string, fallback: ProxyType): Entry | null => {
  if (line.length > LINE_MAX) return null
  const [, scheme, rest = line] = withScheme.exec(line) ?? []
  const type = scheme === undefined ? fallback : types.get(scheme.toLowerCase())
  if (type === undefined) return null
  const behind = behindCredentials.exec(rest)
  if (behind !== null) {
    const [, credentials, host, port] = behind
    const colon = credentials?.indexOf(":") ?? -1
    // Only a URL has its credentials escaped.
    const plain = (text: string | undefined) => scheme === undefined ? text : decoded(text)
    return entry(type, host, port, plain(colon < 0 ? credentials : credentials?.slice(0, colon)), plain(colon < 0 ? undefined : credentials?.slice(colon + 1)))
  }
  const before = beforeCredentials.exec(rest)
  return before === null ? null : entry(type, before[1], before[2], before[3], before[4])
}

/** The first of these members that is there. */
const first = (record: Readonly<Record<string, unknown>>, ...names: ReadonlyArray<string>): unknown =>
  record[names.find((name) => Object.hasOwn(record, name)) ?? ""]

const ofJson = (one: unknown, fallback: ProxyType): Entry | null => {
  if (typeof one === "string") return ofText(one.trim(), fallback)
  if (!Json.isRecord(one)) return null
  const named = first(one, "type", "protocol", "scheme")
  const type = typeof named === "string" ? types.get(named.toLowerCase()) : fallback
  return type === undefined ? null : entry(type, first(one, "host", "ip", "server", "address", "proxy_address"), first(one, "port"), first(one, "username", "user"), first(one, "password", "pass"))
}

const inJson = (text: string): ReadonlyArray<unknown> | null => {
  try {
    const said: unknown = JSON.parse(text)
    const list = Json.isRecord(said) ? first(said, "proxies", "data", "items", "results") : said
    return Array.isArray(list) ? list : null
  } catch {
    return null
  }
}

/** `type`: of entries that do not say theirs. An entry that is there twice counts once. */
export const read = (given: string, type: ProxyType): ListRead => {
  const text = given.trim()
  const json = /^[[{]/.test(text) ? inJson(text) : null
  const found = json === null
    ? text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#")).map((line) => ofText(line, type))
    : json.map((one) => ofJson(one, type))
  const entries = new Map<string, Entry>()
  for (const one of found) if (one !== null && entries.size < ENTRIES_MAX) entries.set(JSON.stringify(one), one)
  return { entries: [...entries.values()], skipped: found.length - entries.size }
}
