/** Records of the management API as a configuration file: only what differs from its default, and no secret. */
import type * as Schema from "effect/Schema"
import type { RecordKind } from "#schemas/FileOwned.ts"
import { REDACTED } from "#src/management/redact.ts"
import { listAt, textAt } from "#src/management/inner/Inner.ts"
import type { Exported } from "./api.ts"
import * as Kinds from "./kinds.ts"

type Json = Schema.Json
type Fields = Readonly<Record<string, Json>>
type Records = ReadonlyMap<RecordKind, ReadonlyArray<Json>>

/** Members of providerSpecificData that the gateway itself writes. */
const ownData: ReadonlySet<string> = new Set(["environmentVariable", "prefix", "apiType", "nodeName", "chatPath", "modelsPath"])
/** Kinds of webhooks whose address is their secret. */
const secretAddress: ReadonlySet<string> = new Set(["slack", "discord"])

const same = (left: Json | undefined, right: Json | undefined): boolean => JSON.stringify(left ?? null) === JSON.stringify(right ?? null)
const isObject = (value: Json | undefined): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

const sortedBy = (record: Fields): string => textAt(record, "prefix") || textAt(record, "name") || textAt(record, "description") || textAt(record, "url")

/** The members that are named by `defaults` and differ from them. */
const different = (record: Fields, defaults: Fields): Fields =>
  Object.fromEntries(Object.entries(defaults).flatMap(([field, usual]) => same(record[field], usual) || record[field] === undefined ? [] : [[field, record[field]]]))

/** Names of variables, each once. */
class Variables {
  readonly all: Array<{ readonly name: string; readonly path: string }> = []
  for(...path: ReadonlyArray<string>): string {
    const wanted = path.join("_").toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_").replace(/^(?=\d)/, "_")
    let name = wanted
    for (let more = 2; this.all.some((one) => one.name === name); more++) name = `${wanted}_${more}`
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

export interface Section {
  readonly entries: Record<string, Json>
  readonly leftOut: Array<Exported["leftOut"][number]>
}

const free = (entries: Readonly<Record<string, Json>>, ...wanted: ReadonlyArray<string>): string => {
  const found = wanted.find((name) => !(name in entries))
  if (found !== undefined) return found
  const last = wanted.at(-1) ?? ""
  for (let more = 2; ; more++) if (!(`${last}-${more}` in entries)) return `${last}-${more}`
}

const withoutNulls = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** The file's content, section by section; pure. */
export const contentOf = (records: Records): Pick<Exported, "variables" | "leftOut"> & { readonly content: Fields } => {
  const variables = new Variables()
  const leftOut: Array<Exported["leftOut"][number]> = []
  // By name, so that a file of the same records reads the same.
  const of = (kind: RecordKind) => ((records.get(kind) ?? []) as ReadonlyArray<Fields>).toSorted((a, b) => sortedBy(a) < sortedBy(b) ? -1 : 1)
  const content: Record<string, Record<string, Json>> = {}
  const sectionOf = (name: string) => content[name] ??= {}

  for (const flag of of("flag")) if (flag["source"] === "db") sectionOf("flags")[textAt(flag, "key")] = flag["effectiveValue"] ?? ""

  const prefixes = new Map<string, string>()
  for (const node of of("node")) {
    const prefix = textAt(node, "prefix")
    prefixes.set(textAt(node, "id"), prefix)
    const headers = isObject(node["customHeaders"]) ? node["customHeaders"] : {}
    const { customHeaders: _headers, ...others } = different(node, Kinds.nodeDefaults)
    sectionOf("nodes")[prefix] = {
      type: node["type"] ?? "", ...(node["name"] === prefix ? {} : { name: escaped(node["name"] ?? "") }), baseUrl: escaped(node["baseUrl"] ?? ""), ...escaped(others) as Fields,
      ...(Object.keys(headers).length === 0 ? {} : {
        customHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value === REDACTED ? variables.for(prefix, name) : escaped(value)]))
      })
    }
  }

  const connections = new Map<string, string>()
  for (const connection of of("connection")) {
    const name = textAt(connection, "name")
    const provider = prefixes.get(textAt(connection, "provider")) ?? textAt(connection, "provider")
    if (connection["authType"] !== "apikey" && connection["authType"] !== "none") {
      leftOut.push({ kind: "connection", name, why: `${provider} is signed in to; sign in again where the file is applied` })
      continue
    }
    const entries = sectionOf("providers")
    const entry = free(entries, name, `${provider}-${name}`)
    connections.set(textAt(connection, "id"), entry)
    const given = isObject(connection["providerSpecificData"]) ? connection["providerSpecificData"] : {}
    const isNode = provider !== textAt(connection, "provider")
    const data = Object.fromEntries(Object.entries(given).filter(([member]) => !ownData.has(member) && !(isNode && member === "baseUrl")))
    const variable = given["environmentVariable"]
    entries[entry] = {
      provider, ...(entry === name ? {} : { name }),
      ...(connection["hasApiKey"] !== true ? {} : { apiKey: typeof variable === "string" ? `\${${variable}}` : variables.for(entry, "api_key") }),
      ...escaped(different(connection, Kinds.connectionDefaults)) as Fields,
      ...(Object.keys(data).length === 0 ? {} : { providerSpecificData: escaped(data) })
    }
  }

  for (const combo of of("combo")) {
    const step = (one: Json): Json => {
      if (!isObject(one)) return one
      const { connectionId = null, id: _id, kind, model = "", weight = 0, ...rest } = one
      const more = withoutNulls(Object.fromEntries(Object.entries(rest).filter(([, value]) => !same(value, []))))
      const weighs = weight === 0 ? {} : { weight }
      if (kind === "combo-ref") return { kind, ...more, ...weighs }
      if (connectionId === null && weight === 0 && Object.keys(more).every((field) => field === "provider")) {
        const provider = more["provider"]
        return provider === undefined || String(model).startsWith(`${String(provider)}/`) ? model : `${String(provider)}/${String(model)}`
      }
      return { ...more, model, ...weighs, ...(connectionId === null ? {} : { connection: connections.get(String(connectionId)) ?? connectionId }) }
    }
    const { models: _models, ...fields } = different(combo, Kinds.comboDefaults)
    sectionOf("combos")[textAt(combo, "name")] = { ...escaped(fields) as Fields, models: escaped(listAt(combo, "models").map(step)) }
  }

  for (const key of of("key")) {
    const name = textAt(key, "name")
    if (textAt(key, "issuerId") !== "") {
      leftOut.push({ kind: "key", name, why: "another key issued it" })
      continue
    }
    if (textAt(key, "revokedAt") !== "") {
      leftOut.push({ kind: "key", name, why: "it is revoked" })
      continue
    }
    const entries = sectionOf("keys")
    const entry = free(entries, name)
    const fields = { ...different(key, Kinds.keyDefaults) } as Record<string, Json>
    if (same(fields["scopes"], [Kinds.ownUse])) delete fields["scopes"]
    for (const field of ["allowedConnections", "preferredConnections"]) {
      const ids = fields[field]
      if (Array.isArray(ids)) fields[field] = ids.map((id: Json) => connections.get(String(id)) ?? id)
    }
    entries[entry] = { ...(entry === name ? {} : { name }), key: variables.for(entry, "key"), ...escaped(fields) as Fields }
  }

  for (const webhook of of("webhook")) {
    const kind = textAt(webhook, "kind")
    const entries = sectionOf("webhooks")
    const entry = free(entries, textAt(webhook, "description") || kind)
    const metadata = isObject(webhook["metadata"]) ? webhook["metadata"] : null
    const { metadata: _metadata, ...fields } = different(webhook, Kinds.webhookDefaults)
    entries[entry] = {
      url: secretAddress.has(kind) ? variables.for(entry, "url") : escaped(webhook["url"] ?? ""),
      secret: variables.for(entry, "secret"),
      ...escaped(fields) as Fields,
      ...(webhook["enabled"] === false ? { enabled: false } : {}),
      ...(metadata === null ? {} : { metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, value === REDACTED ? variables.for(entry, name) : escaped(value)])) })
    }
  }
  return { content, variables: variables.all, leftOut }
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
