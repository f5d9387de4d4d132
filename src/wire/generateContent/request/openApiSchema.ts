/** From the vendor's OpenAPI subset to a JSON schema: types in lower case, `nullable` as a type, counts as numbers. */
import { isRecord } from "#src/wire/json/json.ts"

type JsonSchema = Readonly<Record<string, unknown>>

/** Members that hold one schema, a list of schemas, a record of schemas. */
const single = new Set(["items", "additionalProperties"])
const lists = new Set(["anyOf", "prefixItems"])
const records = new Set(["properties", "$defs", "defs"])
/** The vendor's JSON writes 64-bit counts as text. */
const counts = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"])
const deepest = 64

export const jsonSchemaOf = (schema: JsonSchema, depth = 0): JsonSchema => {
  if (depth > deepest) return schema
  const out: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (name === "type" && typeof value === "string") {
      if (value !== "TYPE_UNSPECIFIED") out["type"] = value.toLowerCase()
    } else if (counts.has(name) && typeof value === "string" && /^\d+$/.test(value)) out[name] = Number(value)
    else if (single.has(name)) out[name] = inner(value, depth)
    else if (lists.has(name)) out[name] = Array.isArray(value) ? value.map((one: unknown) => inner(one, depth)) : value
    else if (records.has(name)) out[name] = isRecord(value) ? ordered(value, schema["propertyOrdering"], depth) : value
    // An enumeration is marked by a format that JSON schema does not know.
    else if (name === "nullable" || name === "propertyOrdering" || (name === "format" && value === "enum")) continue
    else out[name] = value
  }
  if (schema["nullable"] === true) {
    if (typeof out["type"] === "string") out["type"] = [out["type"], "null"]
    else if (Array.isArray(out["anyOf"])) out["anyOf"] = [...out["anyOf"] as ReadonlyArray<unknown>, { type: "null" }]
    if (Array.isArray(out["enum"]) && !out["enum"].includes(null)) out["enum"] = [...out["enum"] as ReadonlyArray<unknown>, null]
  }
  return out
}

const inner = (value: unknown, depth: number): unknown => isRecord(value) ? jsonSchemaOf(value, depth + 1) : value

/** Properties in the order the client asked for: models write them in the order of the schema. */
const ordered = (properties: Record<string, unknown>, ordering: unknown, depth: number): Record<string, unknown> => {
  const first = Array.isArray(ordering) ? ordering.filter((name): name is string => typeof name === "string" && Object.hasOwn(properties, name)) : []
  return Object.fromEntries([...new Set([...first, ...Object.keys(properties)])].map((name) => [name, inner(properties[name], depth)]))
}
