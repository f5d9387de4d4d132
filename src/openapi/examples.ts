/** Examples made from schemas, so that every operation has one and none can grow stale: names of properties choose telling values. */
import { isObject, items, type Json, type JsonObject, member } from "./json.ts"

const time = "2026-11-22T12:00:00.000Z"

/** Values that fit by name, as far as the schema takes a value of their type. */
const telling: Readonly<Record<string, Json>> = {
  id: "3f0b7c9e-6c1d-4a52-9a0e-5b7c1d2e3f40",
  name: "main",
  provider: "openai",
  model: "openai/gpt-4o-mini",
  modelId: "gpt-4o-mini",
  baseUrl: "https://api.example.com/v1",
  url: "https://hooks.example.com/gateway",
  apiKey: "sk-...",
  prefix: "lab",
  message: "Done",
  requestId: "0a4d5c1e-7b1f-4d0c-8f57-2f7f0c6f1a11",
  password: "a long pass phrase",
  version: "0.1.0",
  scope: "read",
  pattern: "gpt-*",
  key: "sk-..."
}

const numberIn = (schema: JsonObject): number => {
  const least = schema["minimum"] ?? schema["exclusiveMinimum"]
  return typeof least === "number" && least > 0 ? (schema["exclusiveMinimum"] === undefined ? least : least + 1) : 0
}

const textIn = (schema: JsonObject, name: string): string | undefined => {
  if (schema["format"] === "date-time") return time
  if (schema["format"] === "uri") return "https://api.example.com/v1"
  const least = typeof schema["minLength"] === "number" ? schema["minLength"] : 0
  const hint = telling[name]
  const chosen = typeof hint === "string" ? hint : "text"
  const fits = schema["pattern"] === undefined || new RegExp(String(schema["pattern"])).test(chosen)
  return fits ? chosen.padEnd(least, ".") : undefined
}

/** Members that are null, and switches that are off, in the record one usually sees. */
const usuallyNull = /^(revoked|expires|deleted|lastUsed|rateLimited)|[eE]rror|^issuerId$/
const usuallyOff = /^(is)?(banned|Banned|hidden|noLog|disable|chaos|redacted)/

/** Depth at which optional members are left out, so that an example stays a page long. */
const shallow = 2

/** A value of the schema; undefined where none can be made by rule. */
export const exampleOf = (schema: Json | undefined, definitions: JsonObject, name = "", depth = 0): Json | undefined => {
  if (!isObject(schema)) return undefined
  if (schema["example"] !== undefined) return schema["example"]
  if (typeof schema["$ref"] === "string") return exampleOf(definitions[schema["$ref"].split("/").at(-1) ?? ""], definitions, name, depth)
  if (schema["const"] !== undefined) return schema["const"]
  const [first] = items(schema["enum"])
  if (first !== undefined) return first
  const nullable = items(schema["anyOf"]).some((choice) => isObject(choice) && choice["type"] === "null")
  if (nullable && usuallyNull.test(name)) return null
  const choices = [...items(schema["anyOf"]), ...items(schema["oneOf"])]
  for (const choice of choices) {
    const value = exampleOf(choice, definitions, name, depth)
    if (value !== undefined) return value
  }
  if (choices.length > 0) return undefined
  switch (Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]) {
    case "object":
      return objectOf(schema, definitions, depth)
    case "array": {
      const item = exampleOf(schema["items"], definitions, name, depth + 1)
      const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0
      return item === undefined || (depth > shallow && least === 0) ? (least === 0 ? [] : undefined) : [item]
    }
    case "integer":
    case "number":
      return numberIn(schema)
    case "boolean":
      return !usuallyOff.test(name)
    case "null":
      return null
    case "string":
      return textIn(schema, name)
    default:
      return {}
  }
}

const objectOf = (schema: JsonObject, definitions: JsonObject, depth: number): JsonObject | undefined => {
  const required = new Set(items(schema["required"]))
  const properties = Object.entries(member(schema, "properties"))
  const value: Record<string, Json> = {}
  for (const [name, inner] of properties) {
    // A request shows what it must hold, and what is simple; a reply's members are required anyway.
    if (!required.has(name) && (depth > 0 || required.size > 0)) continue
    const made = exampleOf(inner, definitions, name, depth + 1)
    if (made !== undefined) value[name] = made
    else if (required.has(name)) return undefined
  }
  return value
}
