/**
 * How values cross the wire: int8 and numeric as numbers, `timestamp` as UTC, text given for json taken as JSON text, and
 * one-dimensional arrays. The array types are listed, so that no connection has to ask the server for them.
 */

type Parse = (text: string) => unknown

interface DriverType {
  readonly to: number
  readonly from: Array<number>
  readonly serialize: (value: unknown) => string
  readonly parse: Parse
}

const element = (value: unknown): string => {
  if (value === null || value === undefined) return "NULL"
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value)
  const text = value instanceof Date ? value.toISOString() : typeof value === "object" ? JSON.stringify(value) : String(value)
  return `"${text.replace(/["\\]/g, "\\$&")}"`
}

/** `{1,2,NULL,"a \"quoted\" text"}`; a string is taken as such a literal. */
export const formatArray = (value: unknown): string => Array.isArray(value) ? `{${value.map(element).join(",")}}` : String(value)

/** One element of an array literal: quoted with backslash escapes, or bare. */
const elements = /"((?:[^"\\]|\\.)*)"|([^,{}]+)/gs

/** Reads a one-dimensional array literal. */
export const parseArray = (parse: Parse) => (text: string): ReadonlyArray<unknown> =>
  [...text.slice(text.indexOf("{") + 1, -1).matchAll(elements)].map(([, quoted, bare]) =>
    quoted !== undefined ? parse(quoted.replace(/\\(.)/gs, "$1")) : bare === "NULL" || bare === undefined ? null : parse(bare))

const same: Parse = (text) => text
const moment: Parse = (text) => new Date(text)
const plainMoment: Parse = (text) => new Date(text.replace(" ", "T") + "Z")

const scalar = (oids: Array<number>, parse: Parse, serialize: (value: unknown) => string = String): DriverType => ({
  to: oids[0] ?? 0,
  from: oids,
  serialize,
  parse
})

/** Array types by their oid, with the parser of their elements. */
const arrays: ReadonlyArray<readonly [oid: number, parse: Parse]> = [
  [1000, (text) => text === "t"], [1005, Number], [1007, Number], [1016, Number], [1021, Number], [1022, Number], [1231, Number],
  [1009, same], [1015, same], [1002, same], [1003, same], [2951, same],
  [1185, moment], [1115, plainMoment], [199, JSON.parse], [3807, JSON.parse]
]

/** The `types` option of postgres.js. */
export const types: Readonly<Record<string, DriverType>> = {
  whole: scalar([20], Number),
  numeric: scalar([1700], Number),
  timestamp: scalar([1114], plainMoment, (value) => value instanceof Date ? value.toISOString() : String(value)),
  json: scalar([114, 3802], JSON.parse, (value) => typeof value === "string" ? value : JSON.stringify(value)),
  ...Object.fromEntries(arrays.map(([oid, parse]) => [`array${oid}`, scalar([oid], parseArray(parse), formatArray)]))
}
