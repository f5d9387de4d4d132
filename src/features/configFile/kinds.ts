/**
 * How each kind of record is listed, made, changed and removed through the management API, so that the file meets the same checks and
 * leaves the same audit entries as an operator. A change sends every field: what the file does not say goes back to its default.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { defaultPolicy } from "#schemas/records/ApiKey.ts"
import type { RecordKind } from "#schemas/FileOwned.ts"
import { type Inner, listAt, numberAt, textAt, type ToolFailure } from "#src/management/inner/Inner.ts"
import { builtin } from "#src/providers/Registry.ts"
import { environmentVariable } from "#src/routing/oneShotPlaces.ts"
import type { Declared } from "./read.ts"

type Json = Schema.Json
type Fields = Readonly<Record<string, Json>>
type Done<A> = Effect.Effect<A, ToolFailure>

/** What names in the file stand for at this moment. */
export interface Names {
  /** Of a connection; the name itself when it is none. */
  readonly connectionId: (name: string) => string
  /** Ids under which connections of a provider may be stored. */
  readonly providerIds: (provider: string) => ReadonlySet<string>
}

export interface Kind {
  readonly kind: RecordKind
  readonly list: (inner: Inner) => Done<ReadonlyArray<Json>>
  readonly idOf: (record: Json) => string
  /** What a change cannot change. */
  readonly fixed: (fields: Fields) => string
  /** Two records cannot have one name: to be replaced, the old one goes first. */
  readonly isNameTaken: boolean
  /** The fields with names in place of which records have ids. */
  readonly resolved: (fields: Fields, names: Names) => Fields
  /** Whether an operator's record is the one that is declared. */
  readonly means: (record: Json, declared: Declared, names: Names) => boolean
  /** Answers the id. */
  readonly create: (inner: Inner, name: string, fields: Fields) => Done<string>
  /** `gone`: members of providerSpecificData that were declared before. */
  readonly change: (inner: Inner, id: string, name: string, fields: Fields, gone: ReadonlyArray<string>) => Done<unknown>
  readonly remove: (inner: Inner, id: string) => Done<unknown>
}

const at = (path: string, id: string): string => `${path}/${encodeURIComponent(id)}`
const idOf = (record: Json): string => textAt(record, "id")
const asIs = (fields: Fields): Fields => fields
const nothing = (): string => ""

const flag: Kind = {
  kind: "flag",
  isNameTaken: true,
  list: (inner) => Effect.map(inner.get("/api/settings/feature-flags"), (answer) => listAt(answer, "flags")),
  idOf: (record) => textAt(record, "key"),
  fixed: nothing,
  resolved: asIs,
  means: (record, { name }) => textAt(record, "key") === name,
  create: (inner, name, { value = "" }) => Effect.as(inner.send("PUT", "/api/settings/feature-flags", { key: name, value }), name),
  change: (inner, _id, name, { value = "" }) => inner.send("PUT", "/api/settings/feature-flags", { key: name, value }),
  remove: (inner, id) => inner.send("PUT", "/api/settings/feature-flags", { key: id })
}

const nodes = "/api/provider-nodes"
export const nodeDefaults: Fields = {
  apiType: null, chatPath: null, modelsPath: null, iconUrl: null, customHeaders: {}, dailyQuotaResetTimezone: null, dailyQuotaResetHour: null
}
const node: Kind = {
  kind: "node",
  isNameTaken: true,
  list: (inner) => Effect.map(inner.get(nodes), (answer) => listAt(answer, "nodes")),
  idOf,
  fixed: ({ type = null }) => String(type),
  resolved: asIs,
  means: (record, { fields, name }) => textAt(record, "prefix") === name && textAt(record, "type") === fields["type"],
  create: (inner, name, fields) => Effect.map(inner.send("POST", nodes, { name, ...fields, prefix: name }), (answer) => textAt(answer, "node", "id")),
  change: (inner, id, name, fields) => inner.send("PUT", at(nodes, id), { ...nodeDefaults, name, ...fields, prefix: name }),
  remove: (inner, id) => inner.send("DELETE", at(nodes, id))
}

const providers = "/api/providers"
export const connectionDefaults: Fields = {
  priority: 1, globalPriority: null, defaultModel: null, projectId: null, isActive: true, proxyEnabled: true, perKeyProxyEnabled: true,
  quotaVisible: true, rateLimitProtection: false, healthCheckInterval: null, group: null, maxConcurrent: null, quotaWindowThresholds: null,
  rateLimitOverrides: null
}
/** Fields that a new connection takes at once; the others follow. */
const atFirst: ReadonlySet<string> = new Set(["provider", "name", "apiKey", "priority", "globalPriority", "defaultModel", "providerSpecificData"])
const connection: Kind = {
  kind: "connection",
  isNameTaken: false,
  list: (inner) => Effect.map(inner.get(providers), (answer) => listAt(answer, "connections")),
  idOf,
  fixed: ({ apiKey, provider = null }) => `${String(provider)}${apiKey === undefined ? " without a key" : ""}`,
  resolved: asIs,
  means: (record, { fields, keyVariable, name }, { providerIds }) => providerIds(String(fields["provider"])).has(textAt(record, "provider")) &&
    // A key of a usual variable was made a connection at the start: the entry with that variable means it.
    (textAt(record, "name") === (fields["name"] ?? name) || (keyVariable !== null && textAt(record, "providerSpecificData", environmentVariable) === keyVariable)),
  create: Effect.fnUntraced(function*(inner, name, fields) {
    const entries = Object.entries({ name, ...fields })
    const first = Object.fromEntries(entries.filter(([field]) => atFirst.has(field)))
    const rest = Object.fromEntries(entries.filter(([field]) => !atFirst.has(field)))
    const id = textAt(yield* inner.send("POST", providers, first), "connection", "id")
    if (Object.keys(rest).length > 0) yield* inner.send("PUT", at(providers, id), rest)
    return id
  }),
  change: (inner, id, name, { provider: _provider, providerSpecificData, ...fields }, gone) => inner.send("PUT", at(providers, id), {
    ...connectionDefaults, name, ...fields,
    ...(providerSpecificData === undefined && gone.length === 0 ? {} : {
      providerSpecificData: { ...Object.fromEntries(gone.map((member) => [member, null])), ...providerSpecificData as Fields | undefined }
    })
  }),
  remove: (inner, id) => inner.send("DELETE", at(providers, id))
}

const combos = "/api/combos"
export const comboDefaults: Fields = {
  description: null, models: [], strategy: "priority", config: {}, allowedProviders: [], system_message: null, tool_filter_regex: null,
  context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false
}
const isObject = (value: Json): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)
const combo: Kind = {
  kind: "combo",
  isNameTaken: true,
  list: (inner) => Effect.map(inner.get(combos), (answer) => listAt(answer, "combos")),
  idOf,
  fixed: nothing,
  resolved: ({ models, ...fields }, { connectionId }) => !Array.isArray(models) ? fields : {
    ...fields,
    models: models.map((step: Json) => {
      if (!isObject(step) || !("connection" in step)) return step
      const { connection: named, ...rest } = step
      return { ...rest, connectionId: typeof named === "string" ? connectionId(named) : null }
    })
  },
  means: (record, { name }) => textAt(record, "name") === name,
  create: (inner, name, fields) => Effect.map(inner.send("POST", combos, { ...fields, name }), idOf),
  change: (inner, id, name, fields) => inner.send("PUT", at(combos, id), { ...comboDefaults, ...fields, name }),
  remove: (inner, id) => inner.send("DELETE", at(combos, id))
}

const keys = "/api/keys"
const KEYS_PAGE = 1_000
/** A list that is given without its mode restricts, as in the API. */
const modeOf = (mode: Json | undefined, list: Json | undefined): Json => mode ?? (Array.isArray(list) && list.length > 0 ? "restricted" : "all")
export const keyDefaults = defaultPolicy as unknown as Fields
/** Every key may read its own use. */
export const ownUse = "self:usage"
const key: Kind = {
  kind: "key",
  isNameTaken: false,
  list: Effect.fnUntraced(function*(inner) {
    const all: Array<Json> = []
    for (;;) {
      const page = yield* inner.get(keys, { limit: KEYS_PAGE, offset: all.length })
      const found = listAt(page, "keys")
      all.push(...found)
      if (found.length === 0 || all.length >= numberAt(page, "total")) return all
    }
  }),
  idOf,
  fixed: nothing,
  resolved: (fields, { connectionId }) => ({
    ...fields,
    ...Object.fromEntries(["allowedConnections", "preferredConnections"].flatMap((field) => {
      const named = fields[field]
      return Array.isArray(named) ? [[field, named.map((name: Json) => connectionId(String(name)))]] : []
    }))
  }),
  means: (record, { fields, name }) => textAt(record, "name") === (fields["name"] ?? name) && textAt(record, "issuerId") === "",
  create: (inner, name, fields) => Effect.map(inner.send("POST", keys, { name, ...fields }), idOf),
  change: (inner, id, name, fields) => {
    const scopes = fields["scopes"]
    return inner.send("PATCH", at(keys, id), {
      ...keyDefaults, name, ...fields,
      scopes: [...new Set([...(Array.isArray(scopes) ? scopes as ReadonlyArray<string> : []), ownUse])],
      modelAccessMode: modeOf(fields["modelAccessMode"], fields["allowedModels"]),
      connectionAccessMode: modeOf(fields["connectionAccessMode"], fields["allowedConnections"])
    })
  },
  remove: (inner, id) => inner.send("DELETE", at(keys, id))
}

const webhooks = "/api/webhooks"
export const webhookDefaults: Fields = { events: ["*"], description: null, kind: "custom", metadata: null }
const webhook: Kind = {
  kind: "webhook",
  isNameTaken: false,
  list: (inner) => Effect.map(inner.get(webhooks), (answer) => listAt(answer, "webhooks")),
  idOf,
  fixed: nothing,
  resolved: asIs,
  means: (record, { fields }) => textAt(record, "url") === fields["url"],
  create: (inner, _name, fields) => Effect.map(inner.send("POST", webhooks, fields), (answer) => textAt(answer, "webhook", "id")),
  change: (inner, id, _name, { active, enabled, secret, ...fields }) => inner.send("PUT", at(webhooks, id), {
    ...webhookDefaults, ...fields, enabled: enabled ?? active ?? true, ...(typeof secret === "string" ? { secret } : {})
  }),
  remove: (inner, id) => inner.send("DELETE", at(webhooks, id))
}

/** In the order in which they are applied; what is dropped goes the other way. */
export const kinds: ReadonlyArray<Kind> = [flag, node, connection, combo, key, webhook]

/** `ids`: of connections by their names in the file. */
export const namesOf = (inner: Inner, ids: ReadonlyMap<string, string>): Done<Names> => Effect.gen(function*() {
  const byName = new Map<string, string>()
  for (const record of yield* connection.list(inner)) byName.set(textAt(record, "name"), idOf(record))
  const nodeIds = new Map((yield* node.list(inner)).map((record) => [textAt(record, "prefix"), idOf(record)]))
  return {
    connectionId: (name) => ids.get(name) ?? byName.get(name) ?? name,
    providerIds: (provider) => new Set([provider, builtin.byPrefix.get(provider)?.id ?? provider, nodeIds.get(provider) ?? provider])
  }
})
