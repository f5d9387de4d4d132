/** Members of the vendor's messages: both spellings, null for absent, and its words for a name or value it does not know. */
import * as Predicate from "effect/Predicate"
import { Bad } from "#src/simulator/formats/chatRequest.ts"
import type { Body } from "#src/simulator/formats/Format.ts"

export const bad = (message: string): Bad => new Bad(message, null)

/** The look-behind keeps it linear: a run of underscores is tried from its beginning only. */
export const camel = (name: string): string => name.replace(/(?<!_)_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** A message's members by their camelCase names, without nulls; a name it does not have is refused. */
export const members = (value: unknown, known: ReadonlyArray<string>, at: string): Body => {
  if (!Predicate.isObject(value) || Array.isArray(value)) throw bad(`Invalid value at '${at}'`)
  const out: Record<string, unknown> = {}
  for (const [written, inner] of Object.entries(value)) {
    const name = known.includes(written) ? written : camel(written)
    if (!known.includes(name)) {
      throw bad(`Invalid JSON payload received. Unknown name "${written}"${at === "" ? "" : ` at '${at}'`}: Cannot find field.`)
    }
    if (inner === null) continue
    if (out[name] !== undefined) throw bad(`Invalid value at '${at}' (oneof), field '${name}' is already set.`)
    out[name] = inner
  }
  return out
}

export const messageAt = (body: Body, name: string, at: string): Body => {
  const value = body[name]
  if (value === undefined) return {}
  if (!Predicate.isObject(value) || Array.isArray(value)) throw bad(`Invalid value at '${at === "" ? "" : `${at}.`}${name}'`)
  return value as Body
}

export const listAt = (body: Body, name: string, at: string): ReadonlyArray<unknown> => {
  const value = body[name]
  if (value === undefined) return []
  if (!Array.isArray(value)) throw bad(`Invalid value at '${at === "" ? "" : `${at}.`}${name}'`)
  return value
}

/** "" when absent. */
export const textAt = (body: Body, name: string, at: string): string => {
  const value = body[name]
  if (value === undefined) return ""
  if (!Predicate.isString(value)) throw bad(`Invalid value at '${at === "" ? "" : `${at}.`}${name}' (TYPE_STRING)`)
  return value
}

export const oneOf = (value: unknown, allowed: ReadonlyArray<string>, at: string): void => {
  if (!Predicate.isString(value) || !allowed.includes(value)) throw bad(`Invalid value at '${at}' (TYPE_ENUM), ${JSON.stringify(value) ?? "undefined"}`)
}

export const numberAt = (body: Body, name: string, minimum: number, maximum: number, integer = false): number | null => {
  const value = body[name]
  if (value === undefined) return null
  if (!Predicate.isNumber(value) || (integer && !Number.isInteger(value))) throw bad(`Invalid value at 'generation_config.${name}' (${integer ? "TYPE_INT32" : "TYPE_FLOAT"})`)
  if (value < minimum || value > maximum) throw bad(`* GenerateContentRequest.generation_config.${name}: ${name} must be in the range [${minimum}, ${maximum}].\n`)
  return value
}
