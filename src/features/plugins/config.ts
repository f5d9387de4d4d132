/** A plugin's configuration by its configSchema: which schemas are taken, and what a configuration becomes. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

type Document = Readonly<Record<string, Schema.Json>>

/** What is wrong, and where: a dotted path below what was given. */
export interface Problem {
  readonly field: string
  readonly message: string
}

/** Fields of one plugin. */
const FIELDS_MAX = 50
/** Characters of one value. */
const TEXT_MAX = 10_000
const OPTIONS_MAX = 100

const opt = Schema.optionalKey
const ConfigField = Schema.Struct({
  type: Schema.Literals(["string", "number", "boolean", "select"]),
  default: opt(Schema.Json),
  /** Least number, or fewest characters. */
  min: opt(Schema.Finite),
  max: opt(Schema.Finite),
  enum: opt(Schema.Array(Schema.Union([Schema.String, Schema.Finite])).check(Schema.isBetweenLength(1, OPTIONS_MAX))),
  label: opt(Schema.String.check(Schema.isMaxLength(200))),
  description: opt(Schema.String.check(Schema.isMaxLength(500)))
})
type ConfigField = typeof ConfigField.Type

const decode = Schema.decodeUnknownResult(ConfigField, { onExcessProperty: "error" })
const named = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

const ofLength = (length: number, { max, min }: ConfigField): boolean => (min === undefined || length >= min) && (max === undefined || length <= max)

const bounds = ({ max, min }: ConfigField): string => `${min === undefined ? "" : ` from ${min}`}${max === undefined ? "" : ` up to ${max}`}`

/** Why a value is not one of the field; null when it is. */
const misfitOf = (field: ConfigField, value: Schema.Json): string | null => {
  const { enum: options, type } = field
  switch (type) {
    case "boolean":
      return typeof value === "boolean" ? null : "Expected true or false"
    case "number":
      if (typeof value !== "number" || !ofLength(value, field)) return `Expected a number${bounds(field)}`
      break
    case "string":
      if (typeof value !== "string" || value.length > TEXT_MAX) return `Expected a text of at most ${TEXT_MAX} characters`
      if (!ofLength(value.length, field)) return `Expected a length${bounds(field)}`
      break
    case "select":
      break
  }
  return options === undefined || options.some((option) => option === value) ? null : `Expected one of ${options.map((option) => JSON.stringify(option)).join(", ").slice(0, 500)}`
}

const fieldIn = (schema: Document, name: string): ConfigField | null =>
  Object.hasOwn(schema, name) ? Result.getOrElse(decode(schema[name]), () => null) : null

/** What is wrong with a schema; empty when it is taken. */
export const problemsOf = (schema: Document): ReadonlyArray<Problem> => {
  const names = Object.keys(schema)
  if (names.length > FIELDS_MAX) return [{ field: "configSchema", message: `At most ${FIELDS_MAX} fields` }]
  return names.flatMap((name): ReadonlyArray<Problem> => {
    const at = `configSchema.${name}`
    if (!named.test(name)) return [{ field: at, message: "Expected a name of letters, digits, hyphens and underscores that begins with a letter" }]
    const decoded = decode(schema[name])
    if (Result.isFailure(decoded)) return [{ field: at, message: decoded.failure.message.slice(0, 500) }]
    const field = decoded.success
    if (field.type === "select" && field.enum === undefined) return [{ field: `${at}.enum`, message: "A select needs its options" }]
    if (field.min !== undefined && field.max !== undefined && field.min > field.max) return [{ field: `${at}.min`, message: "Expected at most max" }]
    const misfit = field.default === undefined ? null : misfitOf(field, field.default)
    return misfit === null ? [] : [{ field: `${at}.default`, message: misfit }]
  })
}

/** The configuration with its defaults, or what is wrong with it. `schema` has no problems. */
export const checked = (schema: Document, given: Document): Result.Result<Document, ReadonlyArray<Problem>> => {
  const problems: Array<Problem> = []
  const config: Record<string, Schema.Json> = {}
  for (const [name, value] of Object.entries(given)) {
    const field = fieldIn(schema, name)
    const misfit = field === null ? "The plugin has no such field" : misfitOf(field, value)
    if (misfit !== null) problems.push({ field: `config.${name}`, message: misfit })
  }
  if (problems.length > 0) return Result.fail(problems)
  for (const name of Object.keys(schema)) {
    const value = Object.hasOwn(given, name) ? given[name] : fieldIn(schema, name)?.default
    if (value !== undefined) config[name] = value
  }
  return Result.succeed(config)
}
