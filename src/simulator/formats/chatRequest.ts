/**
 * What strict readers of requests share: the refusal they throw, its words in the chat vocabulary, and readers of single fields.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Body, SimulatedRefusal, RequestHead } from "./Format.ts"

export class Bad {
  readonly refusal: SimulatedRefusal
  constructor(message: string, param: string | null, code: string | null = null, status = 400) {
    this.refusal = { status, message, type: "invalid_request_error", param, code }
  }
}

const typeName = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`

export const invalidType = (param: string, expected: string, value: unknown): Bad =>
  new Bad(`Invalid type for '${param}': expected ${expected}, but got ${typeName(value)} instead.`, param, "invalid_type")

export const invalidValue = (param: string, value: unknown, supported: ReadonlyArray<string>): Bad =>
  new Bad(
    `Invalid value: '${String(value)}'. Supported values are: ${supported.map((one) => `'${one}'`).join(", ")}.`,
    param,
    "invalid_value"
  )

export const optionalNumber = (body: Body, name: string, minimum: number, maximum: number, integer = false): number | null => {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (!Predicate.isNumber(value) || (integer && !Number.isInteger(value))) throw invalidType(name, integer ? "an integer" : "a decimal", value)
  if (value < minimum) {
    throw new Bad(`Invalid '${name}': integer below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`, name, "integer_below_min_value")
  }
  if (value > maximum) {
    throw new Bad(`Invalid '${name}': integer above maximum value. Expected a value <= ${maximum}, but got ${value} instead.`, name, "integer_above_max_value")
  }
  return value
}

export const optionalBoolean = (body: Body, name: string): boolean => {
  const value = body[name]
  if (value === undefined || value === null) return false
  if (!Predicate.isBoolean(value)) throw invalidType(name, "a boolean", value)
  return value
}

export const requiredModel = (body: Body): string => {
  const model = body["model"]
  if (model === undefined || model === null || model === "") throw new Bad("you must provide a model parameter", null)
  if (!Predicate.isString(model)) throw invalidType("model", "a string", model)
  return model
}

export const missing = (param: string): Bad => new Bad(`Missing required parameter: '${param}'.`, param, "missing_required_parameter")

/** The first member that is none of `known`; the vendor refuses what it does not know. */
export const refuseUnknown = (record: Body, known: ReadonlySet<string>, at: string): void => {
  for (const key in record) {
    if (known.has(key)) continue
    const param = at === "" ? key : `${at}.${key}`
    throw new Bad(`Unknown parameter: '${param}'.`, param, "unknown_parameter")
  }
}

export const optionalString = (body: Body, name: string, allowed?: ReadonlyArray<string>): string | null => {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (!Predicate.isString(value)) throw invalidType(name, "a string", value)
  if (allowed !== undefined && !allowed.includes(value)) throw invalidValue(name, value, allowed)
  return value
}

/** Runs a strict reader; the first `Bad` it meets is the refusal. */
export const strictly = <A>(reader: (body: Body, request: RequestHead) => A) => (body: Body, request: RequestHead): Result.Result<A, SimulatedRefusal> => {
  try {
    return Result.succeed(reader(body, request))
  } catch (error) {
    if (error instanceof Bad) return Result.fail(error.refusal)
    throw error
  }
}
