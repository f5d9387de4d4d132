/** What strict readers of searches share: the fields of bodies and queries, and the pages that are found. */
import * as Predicate from "effect/Predicate"
import { Bad } from "#src/simulator/formats/chatRequest.ts"
import type { Body } from "#src/simulator/formats/Format.ts"

/** What a field may be. */
export type Check = (value: unknown) => boolean

export const isText: Check = (value) => Predicate.isString(value) && value !== ""
export const isFlag: Check = Predicate.isBoolean
export const isCode: Check = (value) => Predicate.isString(value) && /^[A-Za-z]{2}(?:-[A-Za-z]{2})?$/.test(value)
export const isDate: Check = (value) => Predicate.isString(value) && /^\d{4}-\d{2}-\d{2}$/.test(value)
export const oneOf = (...words: ReadonlyArray<unknown>): Check => (value) => words.includes(value)
export const listOf = (check: Check, most = 500): Check => (value) => Array.isArray(value) && value.length > 0 && value.length <= most && value.every(check)
/** In a query numbers are texts. */
export const within = (least: number, most: number): Check => (value) => {
  const number = Predicate.isString(value) && /^\d+$/.test(value) ? Number(value) : value
  return Number.isInteger(number) && (number as number) >= least && (number as number) <= most
}

export type Fields = Readonly<Record<string, Check>>

/** Refuses the first field that is unknown or wrong, and those that are missing. */
export const check = (body: Body, fields: Fields, ...required: ReadonlyArray<string>): Body => {
  for (const name of required) if (body[name] === undefined) throw new Bad(`${name} is required`, name)
  for (const [name, value] of Object.entries(body)) {
    if (fields[name] === undefined) throw new Bad(`Unknown field: ${name}`, name)
    if (!fields[name](value)) throw new Bad(`Invalid value of ${name}: ${JSON.stringify(value)}`, name, "invalid_value", 422)
  }
  return body
}

/** The parameters of a query as a body. */
export const ofQuery = (query: string): Body => Object.fromEntries(new URLSearchParams(query))

export interface Page {
  readonly title: string
  readonly url: string
  readonly text: string
  readonly rank: number
}

/** As many pages as are asked for; a search for `nothing` finds none. */
export const pagesOf = (query: unknown, count: unknown, usual: number): ReadonlyArray<Page> =>
  query === "nothing" ? [] : Array.from({ length: Number(count ?? usual) }, (_, i) => ({
    title: `Page ${i + 1} about ${String(query)}`, url: `https://www.example.com/pages/${i + 1}`, text: `What page ${i + 1} says about ${String(query)}.`, rank: i + 1
  }))
