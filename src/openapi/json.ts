/** Plain JSON as the description handles it: members that are not understood are kept. */
import * as Predicate from "effect/Predicate"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [member: string]: Json | undefined
}

export const isObject = (value: unknown): value is JsonObject => Predicate.isReadonlyObject(value)

export const member = (value: unknown, key: string): JsonObject => {
  const found = isObject(value) ? value[key] : undefined
  return isObject(found) ? found : {}
}

export const items = (value: Json | undefined): ReadonlyArray<Json> => Array.isArray(value) ? value as ReadonlyArray<Json> : []

/** Rebuilds every object below `value`, the deepest first. `name`: the property that holds a schema, empty elsewhere. */
export const rewrite = (value: Json, change: (object: JsonObject, name: string) => JsonObject, name = ""): Json => {
  if (Array.isArray(value)) return (value as ReadonlyArray<Json>).map((item) => rewrite(item, change, name))
  if (!isObject(value)) return value
  const rebuilt: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    rebuilt[key] = key === "properties" && isObject(inner)
      ? Object.fromEntries(Object.entries(inner).map(([property, schema]) => [property, rewrite(schema ?? null, change, property)]))
      : rewrite(inner, change, key === "anyOf" || key === "oneOf" || key === "allOf" ? name : "")
  }
  return change(rebuilt, name)
}
