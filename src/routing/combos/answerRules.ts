/** A combo's responseValidation as a check of answers: rules in a fixed order, the first broken one is named. Pure. */
import { type AnswerCheck, notEmpty } from "#actors/request/ports/AnswerCheck.ts"
import * as JsonPath from "#schemas/jsonPath.ts"
import type { ComboConfig } from "#schemas/records/Combo.ts"

type Rules = NonNullable<ComboConfig["responseValidation"]>
type Predicate = NonNullable<Rules["jsonPathPredicates"]>[number]

const isFilled = (value: unknown): boolean => {
  if (value === undefined || value === null || value === "") return false
  if (typeof value !== "object") return true
  return (Array.isArray(value) ? value : Object.keys(value)).length > 0
}

/** A predicate without a value compares with null; a place that does not exist equals nothing. */
const predicateOf = ({ condition, path, value = null }: Predicate): (document: unknown) => boolean => {
  const place = JsonPath.parse(path)
  const at = (document: unknown) => place === null ? undefined : JsonPath.read(document, place)
  switch (condition) {
    case "exists":
      return (document) => at(document) !== undefined
    case "nonEmpty":
      return (document) => isFilled(at(document))
    case "equals":
      return (document) => JsonPath.isEqual(at(document), value)
    case "notEquals":
      return (document) => !JsonPath.isEqual(at(document), value)
  }
}

/** `notEmpty` alone when there are no rules. An answer that calls tools need not say anything. */
export const checkOf = (rules: Rules | undefined): AnswerCheck => {
  const { forbiddenSubstrings = [], jsonPathPredicates = [], minContentLength = 0, requiredSubstrings = [] } = rules ?? {}
  if (forbiddenSubstrings.length + jsonPathPredicates.length + requiredSubstrings.length === 0 && minContentLength === 0) return notEmpty
  const predicates = jsonPathPredicates.map(predicateOf)
  return {
    holds: true,
    rules,
    broken: (view) => {
      const { content } = view
      const forbidden = forbiddenSubstrings.findIndex((text) => content.includes(text))
      if (forbidden >= 0) return `forbiddenSubstrings[${forbidden}]`
      const silent = content === "" && view.calls
      const missing = silent ? -1 : requiredSubstrings.findIndex((text) => !content.includes(text))
      if (missing >= 0) return `requiredSubstrings[${missing}]`
      if (!silent && content.length < minContentLength) return "minContentLength"
      const document = predicates.length === 0 ? null : view.document()
      const failing = predicates.findIndex((holds) => !holds(document))
      if (failing >= 0) return `jsonPathPredicates[${failing}]`
      return notEmpty.broken(view)
    }
  }
}
