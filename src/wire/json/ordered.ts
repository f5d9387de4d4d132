import type * as Schema from "effect/Schema"

/** With the members of objects in the order of their names, at any depth: what says the same becomes the same text. Lists keep their order. Pure. */
export const ordered = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map((item: Schema.Json) => ordered(item))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1).map(([name, member]) => [name, ordered(member as Schema.Json)]))
}
