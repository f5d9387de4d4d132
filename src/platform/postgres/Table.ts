/** A record's fields as columns of a table: camelCase to snake_case, structures as json, the rest as they are. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { StoreError } from "#actors/ports/StoreError.ts"

export interface Table<A> {
  /** Select list that names every column by its field. */
  readonly columns: string
  /** A row for `sql.insert` and `sql.update`; only the given fields. */
  readonly toRow: (record: Partial<A>) => Record<string, unknown>
  /** Decodes a row of `columns`; a value that no longer fits is `corrupt` and names the row. */
  readonly fromRow: (row: object) => Effect.Effect<A, StoreError>
}

/** `apiKeyId` to `api_key_id`. */
export const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export interface TableOptions<A> {
  /** Fields kept as json text. */
  readonly json?: ReadonlyArray<keyof A & string>
  /** Names a row in an error; default its `id`. */
  readonly nameOf?: (row: object) => string
}

const nameById = (row: object): string => String(Reflect.get(row, "id"))

/** Derives the mapping from a record's schema. */
export const make = <S extends Schema.Struct<Schema.Struct.Fields>>(
  store: string,
  schema: S & { readonly DecodingServices: never },
  options: TableOptions<S["Type"]> = {}
): Table<S["Type"]> => {
  const fields = Object.keys(schema.fields)
  const json = new Set<string>(options.json ?? [])
  const decode = Schema.decodeUnknownEffect(schema)
  const nameOf = options.nameOf ?? nameById
  return {
    columns: fields.map((field) => `"${columnOf(field)}" AS "${field}"`).join(", "),
    toRow: (record) => {
      const row: Record<string, unknown> = {}
      for (const [field, value] of Object.entries(record)) {
        row[columnOf(field)] = json.has(field) && value !== null ? JSON.stringify(value) : value
      }
      return row
    },
    fromRow: (row) =>
      Effect.mapError(decode(row), (error) =>
        new StoreError({
          store,
          operation: "read",
          reason: "corrupt",
          message: `${store}: the row of ${nameOf(row)} no longer fits its record: ${error.message}`,
          cause: error
        }))
  }
}
