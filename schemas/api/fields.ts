/** Small field schemas that the request bodies share. */
import * as Schema from "effect/Schema"

export const text = (minimum: number, maximum: number) => Schema.String.check(Schema.isBetweenLength(minimum, maximum))
export const integer = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
export const amount = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
export const listOf = <S extends Schema.Constraint>(item: S, maximum: number) =>
  Schema.Array(item).check(Schema.isMaxLength(maximum))

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Days past the end of a month are read as days of the next one, so the day is compared with the one that was read. */
const isDay = (day: string): boolean => {
  const ms = Date.parse(day)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

/** ISO 8601 time with a zone, or a date; of a day and an hour that exist. */
export const isoTime = Schema.String.check(
  Schema.isPattern(TIME, { message: "Expected an ISO 8601 time" }),
  Schema.makeFilter((time: string) => isDay(time.slice(0, 10)) && !Number.isNaN(Date.parse(time)), { message: "Expected a day and a time that exist" })
)

/** An optional field that may also be cleared. */
export const clearable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Whole number of a query string within bounds. */
export const queryInteger = (minimum: number, maximum: number) =>
  Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum }))

export const Success = Schema.Struct({ success: Schema.Literal(true) })
export const Message = Schema.Struct({ message: Schema.String })
/** JSON object of any members. */
export const Document = Schema.Record(Schema.String, Schema.Json)

/** Of a record, what a change gives: absent members stay. */
export const partial = <F extends Schema.Struct.Fields>(schema: Schema.Struct<F>) =>
  schema.mapFields((fields) => Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, Schema.optionalKey(field as Schema.Top)])
  ) as { readonly [K in keyof F]: Schema.optionalKey<F[K] & Schema.Top> })
