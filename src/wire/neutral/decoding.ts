/** From an unknown body to a typed wire shape: an Effect schema, and the first issue in the client's own terms. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { PublicError } from "#schemas/errors.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()
const longestMessage = 300

/** `messages[0].content[2].text` from a path. */
export const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((text, key) => typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`, "")

/** A decoder of one wire schema; unknown fields are allowed and left out of the result. */
export const decoder = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S): (body: unknown) => S["Type"] | PublicError => {
  const decode = Schema.decodeUnknownResult(schema)
  return (body) => {
    const result = decode(body)
    if (Result.isSuccess(result)) return result.success
    const { message, path } = foremost(format(result.failure.issue).issues.map((issue) => ({ message: issue.message, path: keysOf(issue.path) })))
    const param = path.length === 0 ? "body" : pathText(path)
    return invalid(param, `Field '${param}': ${inWords(message)}.`)
  }
}

interface Issue {
  readonly message: string
  readonly path: ReadonlyArray<PropertyKey>
}

const keysOf = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> = []): ReadonlyArray<PropertyKey> =>
  path.map((part) => typeof part === "object" ? part.key : part)

/** The first one. Where it says only that no member of a union fits, another says what is wrong inside. */
const foremost = (issues: ReadonlyArray<Issue>): Issue => {
  const [first] = issues
  if (first === undefined) return { message: "is not valid", path: [] }
  return issues.find(({ path }) => path.length > first.path.length && first.path.every((key, i) => key === path[i])) ?? first
}

/** An object as the schema's message draws it. */
const drawnObject = /^\{ readonly "([^"]+)": .*\}$/s

/** A schema's message without its type system: every drawn object becomes "an object with a '<first member>'", said once. */
const inWords = (message: string): string => {
  if (!message.startsWith("Expected ") || !message.includes("{ readonly ")) return shortened(message)
  const said = new Set<string>()
  for (const one of message.slice("Expected ".length).split(" | ")) {
    const member = drawnObject.exec(one)?.[1]
    if (member !== undefined) said.add(`an object with a '${member}'`)
    else if (one !== "undefined") said.add(one)
  }
  // A union of objects may end in one that takes any.
  if ([...said].some((one) => one.startsWith("an object "))) said.delete("object")
  return shortened(`Expected ${[...said].join(" or ")}`)
}

/** Cut between two words. */
const shortened = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, text.lastIndexOf(" ", longestMessage) + 1 || longestMessage)}...`

/** Shorter lists are decoded whole. */
const fewest = 8

/**
 * The same decoder for bodies whose long list (messages, contents ...) holds mostly items that `isPlain` knows by hand to be what the
 * schema would make of them: only the others go through it. When one of those is wrong the whole list is read, for the right path.
 */
export const sparing = <Key extends string, Request extends { readonly [K in Key]?: string | ReadonlyArray<unknown> | null | undefined }>(
  decode: (body: unknown) => Request | PublicError,
  key: Key,
  isPlain: (item: unknown) => boolean
) =>
(body: Readonly<Record<string, unknown>>): Request | PublicError => {
  const list: unknown = body[key]
  if (!Array.isArray(list) || list.length < fewest) return decode(body)
  const rest: Array<unknown> = []
  // The first one stands for all that are plain: an empty list would be another request.
  const isKnown = list.map((item: unknown, i) => {
    const known = i > 0 && isPlain(item)
    if (!known) rest.push(item)
    return known
  })
  if (rest.length > list.length / 2) return decode(body)
  const request = decode({ ...body, [key]: rest })
  if (request instanceof PublicError) return decode(body)
  const decoded = request[key] as ReadonlyArray<unknown>
  let next = 0
  const whole = list.map((item: unknown, i) => isKnown[i] === true ? item : decoded[next++])
  return { ...request, [key]: whole }
}

/** An object with just these members, one to three. Named one by one: a list of them costs more than the look at the object. */
export const hasOnly = (item: unknown, one: string, two: string | null = null, three: string | null = null): item is Readonly<Record<string, unknown>> => {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false
  let count = 0
  for (const key in item) {
    if (key !== one && key !== two && key !== three) return false
    count++
  }
  return count === (two === null ? 1 : three === null ? 2 : 3)
}
