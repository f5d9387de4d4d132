/**
 * The one table of what a client may store: every field of every record, every setting and every flag, and whether it acts. The
 * management API refuses by it, GET /api/system/capabilities shows it, and docs/known-limits.md is made from it.
 */
import type * as Schema from "effect/Schema"
import { combo, comboLayers } from "./combos.ts"
import * as Records from "./records.ts"
import type { Row, Rows } from "#schemas/acting/row.ts"
import * as Settings from "./settings.ts"

export interface Table {
  /** The record, as pages and replies call it. */
  readonly record: string
  /** The calls that write it. */
  readonly writtenBy: ReadonlyArray<string>
  readonly rows: Rows
}

const table = (record: string, rows: Rows, ...writtenBy: ReadonlyArray<string>): Table => ({ record, rows, writtenBy })

const below = (path: string, rows: Rows): Rows => Object.fromEntries(Object.entries(rows).map(([name, row]) => [`${path}.${name}`, row]))

export const settings = table(
  "Setting", { ...Settings.settings, ...below("modelLockout", Settings.modelLockout), ...comboLayers },
  "PATCH /api/settings", "PUT /api/settings", "PATCH /api/settings/combo-defaults"
)
export const cacheConfig = table("Cache setting", Settings.cacheConfig, "PUT /api/settings/cache-config")
export const resilience = table("Resilience setting", Settings.resilience, "PATCH /api/resilience")
export const apiKey = table("API key", Records.apiKey, "POST /api/keys", "PATCH /api/keys/:id")
export const connection = table(
  "Connection", Records.connection, "POST /api/providers", "POST /api/providers/bulk", "POST /api/providers/import", "PUT /api/providers/:id"
)
export const paramFilters = table("Parameter filter", Records.paramFilters, "PUT /api/providers/:id/param-filters")
export const interceptionRules = table("Interception rule", Records.interceptionRules, "PUT /api/providers/:id/interception-rules")
export const node = table("Provider node", Records.node, "POST /api/provider-nodes", "PUT /api/provider-nodes/:id")
export const customModel = table(
  "Custom model", Records.customModel, "POST /api/provider-models", "PUT /api/provider-models", "POST /api/provider-models/validate-and-add"
)
export const combos = table("Combo", combo, "POST /api/combos", "PUT /api/combos/:id")
export const mapping = table("Model-combo mapping", Records.mapping, "POST /api/model-combo-mappings", "PUT /api/model-combo-mappings/:id")
export const webhook = table("Webhook", Records.webhook, "POST /api/webhooks", "PUT /api/webhooks/:id")
export const budget = table("Budget", Records.budget, "POST /api/usage/budget")
export const tokenLimit = table("Token limit", Records.tokenLimit, "POST /api/usage/token-limits")

export const tables: ReadonlyArray<Table> = [
  settings, cacheConfig, resilience, apiKey, connection, paramFilters, interceptionRules, node, customModel, combos, mapping, webhook, budget,
  tokenLimit
]

export interface Inert {
  /** Dotted path in what was sent. */
  readonly field: string
  readonly row: Extract<Row, { readonly acts: false }>
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value)

/** Null, an empty text, an empty list and an empty object all say nothing. */
const isEmpty = (value: unknown): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0)

/** Whether a value asks for nothing beyond what happens anyway. */
const isNeutral = (value: unknown, neutral: Schema.Json): boolean =>
  JSON.stringify(value) === JSON.stringify(neutral) || (isEmpty(value) && isEmpty(neutral))

const at = (value: unknown, path: ReadonlyArray<string>, walked: ReadonlyArray<string>, found: (value: unknown, field: string) => void): void => {
  const [name, ...rest] = path
  if (name === undefined) return found(value, walked.join("."))
  if (!isObject(value)) return
  for (const key of name === "*" ? Object.keys(value) : [name]) {
    if (value[key] !== undefined) at(value[key], rest, [...walked, key], found)
  }
}

const inertRows = new WeakMap<Table, ReadonlyArray<{ readonly path: ReadonlyArray<string>; readonly row: Inert["row"] }>>()

const inertRowsOf = (from: Table) => {
  const known = inertRows.get(from)
  if (known !== undefined) return known
  const rows = Object.entries(from.rows).flatMap(([field, row]) => row.acts ? [] : [{ path: field.split("."), row }])
  inertRows.set(from, rows)
  return rows
}

/** The fields of an input that do not act and ask for something. */
export const inertIn = (from: Table, input: object): ReadonlyArray<Inert> => {
  const found: Array<Inert> = []
  for (const { path, row } of inertRowsOf(from)) {
    at(input, path, [], (value, field) => {
      if (!isNeutral(value, row.neutral)) found.push({ field, row })
    })
  }
  return found
}
