/** Tools, tool choice and structured output of a chat-completions request, read as strictly as the vendor does. */
import * as Predicate from "effect/Predicate"
import { Bad, invalidType, invalidValue, missing, refuseUnknown } from "#src/simulator/formats/chatRequest.ts"
import type { Body, SimulatedCall, Tool } from "#src/simulator/formats/Format.ts"

const MAX_TOOLS = 128
const TOOL_MEMBERS = new Set(["type", "function", "custom"])
const FUNCTION_MEMBERS = new Set(["name", "description", "parameters", "strict"])
const CUSTOM_MEMBERS = new Set(["name", "description", "format"])

const readName = (name: unknown, param: string): string => {
  if (Predicate.isString(name) && /^[a-zA-Z0-9_-]{1,64}$/.test(name)) return name
  throw new Bad(
    `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`, param, "invalid_value"
  )
}

/** What strict mode wants of every object of a schema. */
const checkStrict = (schema: unknown, where: string, param: string, path: ReadonlyArray<string> = []): void => {
  if (!Predicate.isObject(schema)) return
  const refuse = (why: string): Bad =>
    new Bad(`Invalid schema for ${where}: In context=(${path.map((one) => `'${one}'`).join(", ")}), ${why}`, param, "invalid_function_parameters")
  const properties = schema["properties"]
  if (schema["type"] === "object" || properties !== undefined) {
    if (schema["additionalProperties"] !== false) throw refuse("'additionalProperties' is required to be supplied and to be false.")
    const names = Predicate.isObject(properties) ? Object.keys(properties) : []
    const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
    const absent = names.find((name) => !required.includes(name))
    if (absent !== undefined) {
      throw refuse(`'required' is required to be supplied and to be an array including every key in properties. Missing '${absent}'.`)
    }
    if (Predicate.isObject(properties)) for (const name of names) checkStrict(properties[name], where, param, [...path, "properties", name])
  }
  checkStrict(schema["items"], where, param, [...path, "items"])
}

const readFunction = (fn: unknown, at: string): Tool => {
  if (!Predicate.isObject(fn)) throw missing(at)
  refuseUnknown(fn as Body, FUNCTION_MEMBERS, at)
  const name = readName(fn["name"], `${at}.name`)
  const { parameters, strict } = fn as Body
  if (parameters !== undefined && parameters !== null) {
    if (!Predicate.isObject(parameters)) throw invalidType(`${at}.parameters`, "an object", parameters)
    if (parameters["type"] === "object" && parameters["properties"] === undefined) {
      throw new Bad(`Invalid schema for function '${name}': In context=(), object schema missing properties.`, `${at}.parameters`, "invalid_function_parameters")
    }
    if (strict === true) checkStrict(parameters, `function '${name}'`, `${at}.parameters`)
  }
  if (strict !== undefined && strict !== null && !Predicate.isBoolean(strict)) throw invalidType(`${at}.strict`, "a boolean", strict)
  return { name, parameters }
}

export interface ToolsRead {
  readonly tools: ReadonlyArray<Tool>
  /** Names of those that take free text. */
  readonly custom: ReadonlyArray<string>
}

/** `vendor`: the model is one of the vendor's own. */
export const readTools = (body: Body, vendor: boolean): ToolsRead => {
  const { functions, tools } = body
  if (tools === undefined || tools === null) {
    return { tools: Array.isArray(functions) ? functions.map((fn: unknown, i) => readFunction(fn, `functions[${i}]`)) : [], custom: [] }
  }
  if (!Array.isArray(tools)) throw invalidType("tools", "an array of objects", tools)
  if (tools.length === 0 || tools.length > MAX_TOOLS) {
    throw new Bad(`Invalid 'tools': expected an array with 1 to ${MAX_TOOLS} entries, but got ${tools.length} instead.`, "tools")
  }
  const custom: Array<string> = []
  const read = tools.map((tool: unknown, i): Tool => {
    const at = `tools[${i}]`
    if (!Predicate.isObject(tool)) throw invalidType(at, "an object", tool)
    if (vendor) refuseUnknown(tool as Body, TOOL_MEMBERS, at)
    if (tool["type"] === "function") return readFunction(tool["function"], `${at}.function`)
    if (tool["type"] !== "custom") throw invalidValue(`${at}.type`, tool["type"], ["function", "custom"])
    const body = tool["custom"]
    if (!Predicate.isObject(body)) throw missing(`${at}.custom`)
    refuseUnknown(body as Body, CUSTOM_MEMBERS, `${at}.custom`)
    const name = readName(body["name"], `${at}.custom.name`)
    const format = body["format"]
    if (Predicate.isObject(format) && format["type"] === "grammar" && !Predicate.isObject(format["grammar"])) throw missing(`${at}.custom.format.grammar`)
    custom.push(name)
    return { name, parameters: undefined }
  })
  return { tools: read, custom }
}

const namedTool = (name: unknown, tools: ReadonlyArray<Tool>): string => {
  if (Predicate.isString(name) && tools.some((tool) => tool.name === name)) return name
  throw new Bad(`Invalid value for 'tool_choice': no function named '${String(name)}' was specified in the 'tools' parameter.`, "tool_choice")
}

const inner = (value: unknown, member: string): unknown => {
  const body = Predicate.isObject(value) ? value[member] : undefined
  return Predicate.isObject(body) ? body["name"] : undefined
}

export const readToolChoice = (choice: unknown, tools: ReadonlyArray<Tool>): SimulatedCall["toolChoice"] => {
  if (choice === undefined || choice === null) return "auto"
  if (tools.length === 0 && choice !== "none") {
    throw new Bad("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
  }
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (Predicate.isObject(choice)) {
    const type = choice["type"]
    if (type === "function" || type === "custom") return { name: namedTool(inner(choice, type), tools) }
    const allowed = choice["allowed_tools"]
    if (type === "allowed_tools" && Predicate.isObject(allowed) && Array.isArray(allowed["tools"])) {
      const names = allowed["tools"].map((tool: unknown) => namedTool(inner(tool, "function") ?? inner(tool, "custom"), tools))
      const { mode } = allowed as Body
      if (mode !== "auto" && mode !== "required") throw invalidValue("tool_choice.allowed_tools.mode", mode, ["auto", "required"])
      return mode === "required" && names[0] !== undefined ? { name: names[0] } : "auto"
    }
  }
  throw invalidValue("tool_choice", JSON.stringify(choice), ["none", "auto", "required"])
}

export const readFormat = (body: Body): SimulatedCall["json"] => {
  const format = body["response_format"]
  if (format === undefined || format === null) return null
  if (!Predicate.isObject(format)) throw invalidType("response_format", "an object", format)
  if (format["type"] === "text") return null
  if (format["type"] === "json_object") {
    if (!/json/i.test(JSON.stringify(body["messages"]))) {
      throw new Bad("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.", "messages")
    }
    return { schema: undefined }
  }
  if (format["type"] === "json_schema") {
    const schema = format["json_schema"]
    if (!Predicate.isObject(schema) || !Predicate.isString(schema["name"])) throw missing("response_format.json_schema.name")
    const name = readName(schema["name"], "response_format.json_schema.name")
    if (schema["strict"] === true) checkStrict(schema["schema"], `response_format '${name}'`, "response_format")
    return { schema: schema["schema"] }
  }
  throw invalidValue("response_format.type", format["type"], ["text", "json_object", "json_schema"])
}
