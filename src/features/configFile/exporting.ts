/** Records of the management API as a configuration file: only what differs from its default, and no secret. */
import type * as Schema from "effect/Schema"
import type { RecordKind } from "#schemas/FileOwned.ts"
import { catalogue } from "#schemas/flagCatalogue.ts"
import { REDACTED } from "#src/management/redact.ts"
import { listAt, textAt } from "#src/management/inner/Inner.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import { builtin } from "#src/providers/Registry.ts"
import { environmentVariable } from "#src/routing/oneShotPlaces.ts"
import type { Exported } from "./api.ts"
import * as Kinds from "./kinds.ts"
import { sections } from "./read.ts"

type Json = Schema.Json
type Fields = Readonly<Record<string, Json>>
type Records = ReadonlyMap<RecordKind, ReadonlyArray<Json>>

/** Members of providerSpecificData that the gateway itself writes. */
const ownData: ReadonlySet<string> = new Set([environmentVariable, "prefix", "apiType", "nodeName", "chatPath", "modelsPath"])
/** Kinds of webhooks whose address is their secret. */
const secretAddress: ReadonlySet<string> = new Set(["slack", "discord"])

const same = (left: Json | undefined, right: Json | undefined): boolean => JSON.stringify(left ?? null) === JSON.stringify(right ?? null)
const isObject = (value: Json | undefined): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

const sortedBy = (record: Fields): string => textAt(record, "prefix") || textAt(record, "name") || textAt(record, "description") || textAt(record, "url")

/** The members that are named by `defaults` and differ from them. */
const different = (record: Fields, defaults: Fields): Fields =>
  Object.fromEntries(Object.entries(defaults).flatMap(([field, usual]) => same(record[field], usual) || record[field] === undefined ? [] : [[field, record[field]]]))

/** What a start reads by itself: a secret under such a name would be taken for a setting, or for the key of a vendor. */
const readAtStart: ReadonlyArray<string> = [...Settings.names, ...catalogue.map(({ key }) => key), ...builtin.all.flatMap(({ env }) => env)]

/** The variable of the environment that a connection was made from. */
const ownVariable = (connection: Fields): string | null => {
  const data = connection["providerSpecificData"]
  const name = isObject(data) ? data[environmentVariable] : undefined
  return typeof name === "string" ? name : null
}

/** Names of variables, each once. */
class Variables {
  readonly all: Array<{ readonly name: string; readonly path: string }> = []
  /** Names that no other secret gets, whichever entry comes first. */
  readonly #kept: ReadonlySet<string>

  constructor(ofConnections: ReadonlyArray<string>) {
    this.#kept = new Set([...readAtStart, ...ofConnections])
  }

  for(...path: ReadonlyArray<string>): string {
    const wanted = path.join("_").toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_").replace(/^(?=\d)/, "_")
    let name = wanted
    for (let more = 2; this.#kept.has(name) || this.all.some((one) => one.name === name); more++) name = `${wanted}_${more}`
    return this.#told(name, path)
  }

  /** One of the names that are kept. */
  kept(name: string, ...path: ReadonlyArray<string>): string {
    return this.all.some((one) => one.name === name) ? `\${${name}}` : this.#told(name, path)
  }

  #told(name: string, path: ReadonlyArray<string>): string {
    this.all.push({ name, path: path.join(".") })
    return `\${${name}}`
  }
}

/** A text that the file would take for a variable. */
const escaped = (value: Json): Json => typeof value === "string"
  ? value.replaceAll("${", () => "$${")
  : Array.isArray(value)
  ? value.map(escaped)
  : isObject(value)
  ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, escaped(member)]))
  : value

const free = (entries: Readonly<Record<string, Json>>, ...wanted: ReadonlyArray<string>): string => {
  const found = wanted.find((name) => !Object.hasOwn(entries, name))
  if (found !== undefined) return found
  const last = wanted.at(-1) ?? ""
  for (let more = 2; ; more++) if (!Object.hasOwn(entries, `${last}-${more}`)) return `${last}-${more}`
}

const withoutNulls = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** Members of a document, of which those that are masked are variables. */
const unmasked = (members: Fields, variables: Variables, entry: string): Fields =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, value === REDACTED ? variables.for(entry, name) : escaped(value)]))

type Entries = Record<string, Json>

/** What the sections share while a file is made. */
interface Making {
  readonly variables: Variables
  readonly leftOut: Array<Exported["leftOut"][number]>
  /** Prefixes of nodes by their ids. */
  readonly prefixes: Map<string, string>
  /** Names in the file of connections by their ids. */
  readonly connections: Map<string, string>
}
type Entry = (entries: Entries, record: Fields, making: Making) => void

const flag: Entry = (entries, record) => {
  if (record["source"] === "db") entries[textAt(record, "key")] = record["effectiveValue"] ?? ""
}

const node: Entry = (entries, record, { prefixes, variables }) => {
  const prefix = textAt(record, "prefix")
  prefixes.set(textAt(record, "id"), prefix)
  const headers = isObject(record["customHeaders"]) ? record["customHeaders"] : {}
  const { customHeaders: _headers, ...others } = different(record, Kinds.nodeDefaults)
  entries[prefix] = {
    type: record["type"] ?? "", ...(record["name"] === prefix ? {} : { name: escaped(record["name"] ?? "") }), baseUrl: escaped(record["baseUrl"] ?? ""),
    ...escaped(others) as Fields,
    ...(Object.keys(headers).length === 0 ? {} : { customHeaders: unmasked(headers, variables, prefix) })
  }
}

const connection: Entry = (entries, record, { connections, leftOut, prefixes, variables }) => {
  const name = textAt(record, "name")
  const prefix = prefixes.get(textAt(record, "provider"))
  const provider = prefix ?? textAt(record, "provider")
  if (record["authType"] !== "apikey" && record["authType"] !== "none") {
    leftOut.push({ kind: "connection", name, why: `${provider} is signed in to; sign in again where the file is applied` })
    return
  }
  const entry = free(entries, name, `${provider}-${name}`)
  connections.set(textAt(record, "id"), entry)
  const given = isObject(record["providerSpecificData"]) ? record["providerSpecificData"] : {}
  const data = Object.fromEntries(Object.entries(given).filter(([member]) => !ownData.has(member) && !(prefix !== undefined && member === "baseUrl")))
  const variable = ownVariable(record)
  entries[entry] = {
    provider, ...(entry === name ? {} : { name }),
    ...(record["hasApiKey"] !== true ? {} : { apiKey: variable === null ? variables.for(entry, "api_key") : variables.kept(variable, entry, "api_key") }),
    ...escaped(different(record, Kinds.connectionDefaults)) as Fields,
    ...(Object.keys(data).length === 0 ? {} : { providerSpecificData: escaped(data) })
  }
}

/** A step in its shortest form. */
const stepOf = (step: Json, connections: ReadonlyMap<string, string>): Json => {
  if (!isObject(step)) return step
  const { connectionId = null, id: _id, kind, model = "", weight = 0, ...rest } = step
  const more = withoutNulls(Object.fromEntries(Object.entries(rest).filter(([, value]) => !same(value, []))))
  const weighs = weight === 0 ? {} : { weight }
  if (kind === "combo-ref") return { kind, ...more, ...weighs }
  if (connectionId === null && weight === 0 && Object.keys(more).every((field) => field === "provider")) {
    const provider = more["provider"]
    return provider === undefined || String(model).startsWith(`${String(provider)}/`) ? model : `${String(provider)}/${String(model)}`
  }
  return { ...more, model, ...weighs, ...(connectionId === null ? {} : { connection: connections.get(String(connectionId)) ?? connectionId }) }
}

const combo: Entry = (entries, record, { connections }) => {
  const { models: _models, ...fields } = different(record, Kinds.comboDefaults)
  entries[textAt(record, "name")] = { ...escaped(fields) as Fields, models: escaped(listAt(record, "models").map((step) => stepOf(step, connections))) }
}

const key: Entry = (entries, record, { connections, leftOut, variables }) => {
  const name = textAt(record, "name")
  const why = textAt(record, "issuerId") !== "" ? "another key issued it" : textAt(record, "revokedAt") !== "" ? "it is revoked" : null
  if (why !== null) {
    leftOut.push({ kind: "key", name, why })
    return
  }
  const entry = free(entries, name)
  const { scopes, ...fields } = different(record, Kinds.keyDefaults)
  const named = Object.fromEntries(["allowedConnections", "preferredConnections"].flatMap((field) => {
    const ids = fields[field]
    return Array.isArray(ids) ? [[field, ids.map((id: Json) => connections.get(String(id)) ?? id)]] : []
  }))
  entries[entry] = {
    ...(entry === name ? {} : { name }), key: variables.for(entry, "key"),
    ...escaped({ ...fields, ...named, ...(scopes === undefined || same(scopes, [Kinds.ownUse]) ? {} : { scopes }) }) as Fields
  }
}

const webhook: Entry = (entries, record, { variables }) => {
  const kind = textAt(record, "kind")
  const entry = free(entries, textAt(record, "description") || kind)
  const { metadata, ...fields } = different(record, Kinds.webhookDefaults)
  entries[entry] = {
    url: secretAddress.has(kind) ? variables.for(entry, "url") : escaped(record["url"] ?? ""),
    secret: variables.for(entry, "secret"),
    ...escaped(fields) as Fields,
    ...(record["enabled"] === false ? { enabled: false } : {}),
    ...(isObject(metadata) ? { metadata: unmasked(metadata, variables, entry) } : {})
  }
}

/** In the order of the file: what others refer to comes first. */
const entryOf = { flags: flag, nodes: node, providers: connection, combos: combo, keys: key, webhooks: webhook } as const satisfies Readonly<Record<keyof typeof sections, Entry>>

/** The file's content, section by section; pure. */
export const contentOf = (records: Records): Pick<Exported, "variables" | "leftOut"> & { readonly content: Fields } => {
  const kept = (records.get(sections.providers) ?? []).flatMap((record) => isObject(record) ? ownVariable(record) ?? [] : [])
  const making: Making = { variables: new Variables(kept), leftOut: [], prefixes: new Map(), connections: new Map() }
  const content: Record<string, Entries> = {}
  for (const section of Object.keys(entryOf) as ReadonlyArray<keyof typeof entryOf>) {
    const entries: Entries = {}
    // By name, so that a file of the same records reads the same.
    const sorted = ((records.get(sections[section]) ?? []) as ReadonlyArray<Fields>).toSorted((a, b) => sortedBy(a) < sortedBy(b) ? -1 : 1)
    for (const record of sorted) entryOf[section](entries, record, making)
    if (Object.keys(entries).length > 0) content[section] = entries
  }
  return { content, variables: making.variables.all, leftOut: making.leftOut }
}

const head = (variables: Exported["variables"], leftOut: Exported["leftOut"]): string => [
  " Flags, nodes, connections, combos, keys and webhooks of a gateway. Start a gateway with GATEWAY_CONFIG set to this file.",
  ...(variables.length === 0 ? [] : [" Set these variables there:", ...variables.map(({ name, path }) => `   ${name} (${path})`)]),
  ...(leftOut.length === 0 ? [] : [" Left out:", ...leftOut.map(({ kind, name, why }) => `   ${kind} ${JSON.stringify(name)}: ${why}`)])
].join("\n")

export const toFile = async (records: Records): Promise<Exported> => {
  const { Document } = await import("yaml")
  const { content, leftOut, variables } = contentOf(records)
  const document = new Document(content)
  document.commentBefore = head(variables, leftOut)
  return { yaml: document.toString({ lineWidth: 0 }), variables, leftOut }
}
