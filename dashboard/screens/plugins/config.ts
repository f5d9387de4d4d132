/** A plugin's configuration as a form: fields by its schema, their texts, and what a save would send. Pure. */
import type { Answer } from "../../api/contract.ts"
import type { Difference } from "../../parts/edit/Changes.tsx"

export type Plugin = Answer<"GET /api/plugins">["plugins"][number]
export type Config = Plugin["config"]
type Value = Config[string]

export interface Field {
  readonly name: string
  readonly type: "string" | "number" | "boolean" | "select"
  readonly label: string
  readonly hint: string
  /** Null: anything of the type. */
  readonly options: ReadonlyArray<Value> | null
}

/** Texts of the form by field; a switch is `true` or `false`. */
export type Draft = ReadonlyMap<string, string>

const isRecord = (value: unknown): value is Config => typeof value === "object" && value !== null && !Array.isArray(value)
const text = (value: unknown): string => typeof value === "string" ? value : ""
const sentence = (words: string): string => words === "" || /[.!?]$/.test(words) ? words : `${words}.`

export const textOf = (value: Value | undefined): string => value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value)

const bounds = (type: string, min: unknown, max: unknown): string => {
  const unit = type === "string" ? " characters" : ""
  if (typeof min === "number" && typeof max === "number") return `${min} to ${max}${unit}.`
  return typeof min === "number" ? `At least ${min}${unit}.` : typeof max === "number" ? `At most ${max}${unit}.` : ""
}

export const fieldsOf = (schema: Config): ReadonlyArray<Field> => Object.entries(schema).flatMap(([name, one]) => {
  if (!isRecord(one)) return []
  const type = one["type"] === "number" || one["type"] === "boolean" || one["type"] === "select" ? one["type"] : "string"
  const shipped = one["default"] === undefined || type === "boolean" ? "" : `Default: ${textOf(one["default"]) || "empty"}.`
  return [{
    name, type, label: text(one["label"]) || name, options: Array.isArray(one["enum"]) ? one["enum"] : null,
    hint: [sentence(text(one["description"])), bounds(type, one["min"], one["max"]), shipped].filter((part) => part !== "").join(" ")
  }]
})

export const draftOf = (fields: ReadonlyArray<Field>, config: Config): Draft => new Map(fields.map(({ name, type }) => [name, type === "boolean" ? String(config[name] === true) : textOf(config[name])]))

/** Undefined: the default. */
const valueOf = ({ options, type }: Field, given: string): Value | undefined => {
  const option = options?.find((one) => textOf(one) === given)
  if (option !== undefined) return option
  if (type === "boolean") return given === "true"
  if (type === "number") return given.trim() === "" || Number.isNaN(Number(given)) ? undefined : Number(given)
  return options !== null && given === "" ? undefined : given
}

export const changedOf = (fields: ReadonlyArray<Field>, draft: Draft, stored: Config): ReadonlyArray<Field> => {
  const before = draftOf(fields, stored)
  return fields.filter(({ name }) => draft.get(name) !== before.get(name))
}

/** The whole configuration, as a save replaces it; what is left out has its default. */
export const wholeOf = (changed: ReadonlyArray<Field>, draft: Draft, stored: Config): Config => {
  const whole = new Map(Object.entries(stored))
  for (const field of changed) {
    const value = valueOf(field, draft.get(field.name) ?? "")
    if (value === undefined) whole.delete(field.name)
    else whole.set(field.name, value)
  }
  return Object.fromEntries(whole)
}

export const differencesOf = (changed: ReadonlyArray<Field>, draft: Draft, stored: Config): ReadonlyArray<Difference> => changed.map((field) => {
  const value = valueOf(field, draft.get(field.name) ?? "")
  return { what: field.name, before: textOf(stored[field.name]), after: value === undefined ? "its default" : textOf(value) }
})

/** Undefined: it is no JSON object. */
export const objectOf = (json: string): Config | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const hooksOf = ({ hooks }: Plugin): ReadonlyArray<string> => Object.keys(hooks).filter((name) => hooks[name] === true)

export const example = {
  manifest: JSON.stringify({ name: "house-rules", version: "1.0.0", hooks: { onRequest: true }, configSchema: { word: { type: "string", default: "confidential" } } }, null, 2),
  code: "export const onRequest = ({ body }, { config }) =>\n  JSON.stringify(body).includes(config.word) ? { refuse: { message: `No ${config.word} texts.` } } : null\n"
}
