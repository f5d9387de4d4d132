/** Reads tools, the choice among them and answer schemas of a responses request as strictly as the vendor does. */
import * as Predicate from "effect/Predicate"
import { Bad, invalidType } from "#src/simulator/formats/chatRequest.ts"
import type { SimulatedCall, Tool } from "#src/simulator/formats/Format.ts"
import { invalidValue, missing, textAt } from "./responsesInput.ts"

type Object = { readonly [key: string]: unknown }

const HOSTED_TOOLS = [
  "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11", "file_search", "code_interpreter", "computer", "computer_use_preview",
  "image_generation", "mcp", "local_shell", "shell", "apply_patch", "tool_search", "programmatic_tool_calling"
]
const TOOL_TYPES = ["function", "custom", "namespace", ...HOSTED_TOOLS]
const NAME = /^[a-zA-Z0-9_-]{1,128}$/
const SCHEMA_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const SYNTAXES = ["lark", "regex"]

export interface Tools {
  readonly callable: ReadonlyArray<Tool>
  /** Names of the tools that take free text. */
  readonly custom: ReadonlySet<string>
  /** Types of the tools that the vendor runs. */
  readonly hosted: ReadonlySet<string>
}

const nameAt = (tool: Object, at: string): string => {
  const name = textAt(tool["name"], `${at}.name`)
  if (!NAME.test(name)) {
    throw new Bad(`Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`, `${at}.name`, "invalid_value")
  }
  return name
}

export const readTools = (tools: unknown): Tools => {
  const callable: Array<Tool> = []
  const custom = new Set<string>()
  const hosted = new Set<string>()
  if (tools === undefined || tools === null) return { callable, custom, hosted }
  if (!Array.isArray(tools)) throw invalidType("tools", "an array of objects", tools)
  const read = (tool: unknown, at: string): void => {
    if (!Predicate.isObject(tool)) throw invalidType(at, "an object", tool)
    const { type } = tool
    if (type === undefined) throw missing(`${at}.type`)
    if (!Predicate.isString(type) || !TOOL_TYPES.includes(type)) throw invalidValue(`${at}.type`, type, TOOL_TYPES)
    if (type === "function") {
      const name = nameAt(tool, at)
      const parameters = tool["parameters"] ?? null
      if (parameters !== null) {
        if (!Predicate.isObject(parameters)) throw invalidType(`${at}.parameters`, "an object", parameters)
        checkSchema(parameters, tool["strict"] === true, `Invalid schema for function '${name}'`, `${at}.parameters`)
      }
      optional(tool, "strict", "boolean", `${at}.strict`)
      optional(tool, "description", "string", `${at}.description`)
      callable.push({ name, parameters: parameters ?? undefined })
    } else if (type === "custom") {
      const name = nameAt(tool, at)
      const format = tool["format"]
      if (Predicate.isObject(format) && format["type"] === "grammar" && !SYNTAXES.includes(String(format["syntax"]))) {
        throw invalidValue(`${at}.format.syntax`, format["syntax"], SYNTAXES)
      }
      custom.add(name)
      callable.push({ name, parameters: { type: "string" } })
    } else if (type === "namespace") {
      nameAt(tool, at)
      textAt(tool["description"], `${at}.description`)
      if (!Array.isArray(tool["tools"])) throw missing(`${at}.tools`)
      tool["tools"].forEach((one: unknown, i) => read(one, `${at}.tools[${i}]`))
    } else hosted.add(type)
  }
  tools.forEach((tool: unknown, i) => read(tool, `tools[${i}]`))
  return { callable, custom, hosted }
}

export const optional = (object: Object, field: string, type: "boolean" | "string", param = field): void => {
  const value = object[field]
  if (value !== undefined && value !== null && typeof value !== type) throw invalidType(param, `a ${type}`, value)
}

export const readToolChoice = (choice: unknown, tools: Tools): SimulatedCall["toolChoice"] => {
  if (choice === undefined || choice === null) return "auto"
  const names = tools.callable.map((tool) => tool.name)
  if (choice === "auto" || choice === "none") return choice
  if (choice === "required") {
    if (names.length + tools.hosted.size === 0) throw new Bad("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
    return choice
  }
  if (!Predicate.isObject(choice)) throw invalidValue("tool_choice", choice, ["none", "auto", "required"])
  const named = (one: Object): string => {
    const name = textAt(one["name"], "tool_choice.name")
    if (!names.includes(name) || tools.custom.has(name) !== (one["type"] === "custom")) throw new Bad(`Tool choice '${String(one["type"])}' not found in 'tools' parameter.`, "tool_choice")
    return name
  }
  const { mode, tools: allowed, type } = choice
  if (type === "function" || type === "custom") return { name: named(choice) }
  if (type === "allowed_tools") {
    if (mode !== "auto" && mode !== "required") throw invalidValue("tool_choice.mode", mode, ["auto", "required"])
    if (!Array.isArray(allowed) || allowed.length === 0) throw missing("tool_choice.tools")
    const wanted = allowed.filter(Predicate.isObject).filter((one) => one["type"] === "function" || one["type"] === "custom").map(named)
    const [first] = wanted
    return mode === "required" && first !== undefined ? { name: first } : "auto"
  }
  if (Predicate.isString(type) && tools.hosted.has(type)) return "auto"
  throw new Bad(`Tool choice '${String(type)}' not found in 'tools' parameter.`, "tool_choice")
}

/** `text`: the format of the answer. */
export const readFormat = (text: unknown, prompt: string): SimulatedCall["json"] => {
  if (text === undefined || text === null) return null
  if (!Predicate.isObject(text)) throw invalidType("text", "an object", text)
  const { format, verbosity } = text
  if (verbosity !== undefined && verbosity !== null && !["low", "medium", "high"].includes(String(verbosity))) throw invalidValue("text.verbosity", verbosity, ["low", "medium", "high"])
  if (format === undefined || format === null) return null
  if (!Predicate.isObject(format)) throw invalidType("text.format", "an object", format)
  switch (format["type"]) {
    case "text": return null
    case "json_object":
      if (!/json/i.test(prompt)) throw new Bad("Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.", "input")
      return { schema: undefined }
    case "json_schema": {
      const name = textAt(format["name"], "text.format.name")
      if (!SCHEMA_NAME.test(name)) throw new Bad("Invalid 'text.format.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", "text.format.name", "invalid_value")
      const { schema, strict } = format
      if (schema === undefined) throw missing("text.format.schema")
      if (!Predicate.isObject(schema)) throw invalidType("text.format.schema", "an object", schema)
      optional(format, "strict", "boolean", "text.format.strict")
      checkSchema(schema, strict === true, `Invalid schema for response_format '${name}'`, "text.format.schema")
      return { schema }
    }
    default: throw invalidValue("text.format.type", format["type"], ["json_object", "json_schema", "text"])
  }
}

/** A root must be an object; strict schemas name every property as required and allow no others. */
const checkSchema = (schema: Object, strict: boolean, words: string, param: string): void => {
  const bad = (context: string, why: string): Bad => new Bad(`${words}: In context=${context}, ${why}`, param, param.startsWith("text") ? "invalid_json_schema" : "invalid_function_parameters")
  if (schema["type"] === "object" && schema["properties"] === undefined && param.startsWith("tools")) throw bad("()", "object schema missing properties.")
  if (!strict) return
  const walk = (node: unknown, path: ReadonlyArray<string>): void => {
    if (!Predicate.isObject(node)) return
    const context = `(${path.map((one) => `'${one}'`).join(", ")})`
    if (node["type"] === "object") {
      if (node["additionalProperties"] !== false) throw bad(context, "'additionalProperties' is required to be supplied and to be false.")
      const keys = Object.keys(Predicate.isObject(node["properties"]) ? node["properties"] : {})
      const required: unknown = node["required"] ?? []
      const absent = keys.find((key) => !Array.isArray(required) || !required.includes(key))
      if (absent !== undefined) throw bad(context, `'required' is required to be supplied and to be an array including every key in properties. Missing '${absent}'.`)
      for (const key of keys) walk((node["properties"] as Object)[key], [...path, "properties", key])
    }
    walk(node["items"], [...path, "items"])
    if (Array.isArray(node["anyOf"])) node["anyOf"].forEach((one: unknown, i) => walk(one, [...path, "anyOf", String(i)]))
  }
  walk(schema, [])
}
