/**
 * Tables of what a client may store: every field of every record and every setting, and whether it acts. A feature lists its own
 * (`acting.ts`); the management API refuses by them, GET /api/system/capabilities shows them, docs/known-limits.md is made from them.
 */
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { Row, Rows } from "#schemas/acting/row.ts"

export interface Table {
  /** The record, as pages and replies call it. */
  readonly record: string
  /** The calls that write it. */
  readonly writtenBy: ReadonlyArray<string>
  readonly rows: Rows
}

/** A table of the rows of one record, with the calls that write it. */
export const make = (record: string, rows: Rows, ...writtenBy: ReadonlyArray<string>): Table => ({ record, rows, writtenBy })

/** Rows of a part of a record, by their paths in the whole. */
export const below = (path: string, rows: Rows): Rows => Object.fromEntries(Object.entries(rows).map(([name, row]) => [`${path}.${name}`, row]))

export interface Inert {
  /** Dotted path in what was sent. */
  readonly field: string
  readonly row: Extract<Row, { readonly acts: false }>
}

/** Null, an empty text, an empty list and an empty object all say nothing. */
const isEmpty = (value: unknown): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0) || (Predicate.isReadonlyObject(value) && Object.keys(value).length === 0)

/** Whether a value asks for nothing beyond what happens anyway. */
const isNeutral = (value: unknown, neutral: Schema.Json): boolean =>
  JSON.stringify(value) === JSON.stringify(neutral) || (isEmpty(value) && isEmpty(neutral))

const at = (value: unknown, path: ReadonlyArray<string>, walked: ReadonlyArray<string>, found: (value: unknown, field: string) => void): void => {
  const [name, ...rest] = path
  if (name === undefined) return found(value, walked.join("."))
  if (!Predicate.isReadonlyObject(value)) return
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
