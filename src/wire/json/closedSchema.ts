/** Schemas of strict tools: what one vendor calls strict needs objects that another never asked to be closed. */
import * as Json from "./json.ts"

type Schema = Readonly<Record<string, unknown>>

const lists = ["anyOf", "allOf", "oneOf", "prefixItems"] as const
const records = ["$defs", "definitions"] as const

const isObject = ({ properties, type }: Schema): boolean =>
  type === "object" || (Array.isArray(type) && type.includes("object")) || Json.isRecord(properties)

/**
 * The schema with every object closed; null when closing would change what it allows. `allRequired`: the vendor wants every property
 * to be required, too, so that an optional one is null as well.
 */
export const closedSchema = (schema: Schema, allRequired: boolean): Schema | null => {
  const closed: Record<string, unknown> = { ...schema }
  const { items, properties, required } = schema
  const inner = (value: unknown): unknown => Json.isRecord(value) ? closedSchema(value, allRequired) : value
  if (isObject(schema)) {
    if ((schema["additionalProperties"] ?? false) !== false) return null
    closed["additionalProperties"] = false
    const members = innerRecord(properties ?? {}, inner)
    if (members === null) return null
    if (allRequired) {
      const names = new Set<unknown>(Array.isArray(required) ? required : [])
      if (Object.keys(members).some((name) => !names.has(name))) return null
    }
    closed["properties"] = members
  }
  if (items !== undefined) closed["items"] = inner(items)
  if (closed["items"] === null) return null
  for (const key of lists) {
    const list = schema[key]
    if (!Array.isArray(list)) continue
    const given = list.map(inner)
    if (given.includes(null)) return null
    closed[key] = given
  }
  for (const key of records) {
    if (schema[key] === undefined) continue
    const members = innerRecord(schema[key], inner)
    if (members === null) return null
    closed[key] = members
  }
  return closed
}

const innerRecord = (value: unknown, inner: (value: unknown) => unknown): Record<string, unknown> | null => {
  const members: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(Json.isRecord(value) ? value : {})) {
    const said = inner(member)
    if (said === null) return null
    members[name] = said
  }
  return members
}
