/** The vendor's OpenAPI subset: which members it knows, and its types in the lower case of JSON schema. */
import * as Predicate from "effect/Predicate"
import { bad, camel, oneOf } from "./generateContentFields.ts"

const MEMBERS = ["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties",
  "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum",
  "ref", "defs", "additionalProperties", "prefixItems"]
const TYPES = ["TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"]

export const checkSchema = (schema: unknown, at: string): void => {
  if (!Predicate.isObject(schema) || Array.isArray(schema)) throw bad(`Invalid value at '${at}'`)
  for (const [name, value] of Object.entries(schema)) {
    if (!MEMBERS.includes(camel(name))) throw bad(`Invalid JSON payload received. Unknown name "${name}" at '${at}': Cannot find field.`)
    if (name === "type") {
      if (!Predicate.isString(value)) throw bad(`Proto field is not repeating, cannot start list at '${at}.type'.`)
      oneOf(value.toUpperCase(), TYPES, `${at}.type`)
    }
    if (name === "enum" && !(Array.isArray(value) && value.every(Predicate.isString))) throw bad(`Invalid value at '${at}.enum' (TYPE_STRING)`)
    if (name === "items") checkSchema(value, `${at}.items`)
    if (name === "properties" && Predicate.isObject(value)) {
      for (const [property, inner] of Object.entries(value)) checkSchema(inner, `${at}.properties['${property}']`)
    }
    if (camel(name) === "anyOf" && Array.isArray(value)) value.forEach((inner, i) => checkSchema(inner, `${at}.any_of[${i}]`))
  }
}

/** The vendor spells schema types in capitals. */
export const lowerTypes = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(lowerTypes)
  if (!Predicate.isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === "type" && Predicate.isString(value) ? value.toLowerCase() : lowerTypes(value)])
  )
}
