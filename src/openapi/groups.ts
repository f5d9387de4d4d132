/** The groups of the description, with the calls of each. */
import type { Described } from "#src/management/Assembled.ts"
import { document } from "./document.ts"
import { isObject, type Json, type JsonObject, member } from "./json.ts"

const objects = (value: Json | undefined): ReadonlyArray<JsonObject> => Array.isArray(value) ? value.filter(isObject) : []
const textOf = (value: Json | undefined): string => typeof value === "string" ? value : ""

export const groups = (): Described["groups"] => {
  const whole = document()
  const operations = Object.entries(member(whole, "paths")).flatMap(([path, methods]) => isObject(methods)
    ? Object.entries(methods).flatMap(([method, operation]) => isObject(operation)
      ? [{ tags: operation["tags"], one: { method: method.toUpperCase(), path, summary: textOf(operation["summary"]) } }]
      : [])
    : [])
  return objects(whole["tags"]).map((tag) => ({
    name: textOf(tag["name"]), description: textOf(tag["description"]),
    operations: operations.flatMap(({ one, tags }) => Array.isArray(tags) && tags[0] === tag["name"] ? [one] : [])
  }))
}
