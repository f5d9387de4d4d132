/**
 * JSON Schemas of skills: which ones are taken, and whether a value fits one. References, patterns and `uniqueItems` are not
 * taken: with them a small text keeps the gateway busy for long.
 */
import * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import { messageOf } from "#actors/thrown.ts"

/** Characters of one schema. */
const SCHEMA_MAX = 16_384
const untaken = ["$ref", "$dynamicRef", "$defs", "definitions", "pattern", "patternProperties", "uniqueItems"]

const untakenIn = (value: unknown): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, inner] of Object.entries(value)) {
    // A property may have any name; what stands for a keyword there is refused, too, which is safe.
    const found = !Array.isArray(value) && untaken.includes(name) ? name : untakenIn(inner)
    if (found !== undefined) return found
  }
  return undefined
}

const imported = (schema: object): Schema.Top => SchemaRepresentation.fromJsonSchemaDocument(JsonSchema.fromSchemaDraft2020_12({ ...schema }))
/** Why a schema is not taken; null when it is. */
export const problemOf = (schema: object): string | null => {
  if (JSON.stringify(schema).length > SCHEMA_MAX) return `A schema has at most ${SCHEMA_MAX} characters`
  const keyword = untakenIn(schema)
  if (keyword !== undefined) return `${keyword} is not supported`
  try {
    imported(schema)
    return null
  } catch (error) {
    return messageOf(error).slice(0, 500)
  }
}

/** Why a value does not fit a schema; null when it does. */
export const misfitOf = (schema: object, value: unknown): string | null => {
  try {
    Schema.asserts(imported(schema), value)
    return null
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    return (SchemaIssue.isIssue(cause) ? new Schema.SchemaError(cause).message : messageOf(error)).slice(0, 1_000)
  }
}
