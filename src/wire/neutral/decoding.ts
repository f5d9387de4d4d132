/** From an unknown body to a typed wire shape: an Effect schema, and the first issue in the client's own terms. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { PublicError } from "#schemas/errors.ts"
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
    const issue = format(result.failure.issue).issues[0]
    const path = (issue?.path ?? []).map((part) => typeof part === "object" ? part.key : part)
    const param = path.length === 0 ? "body" : pathText(path)
    return invalid(param, `Field '${param}': ${(issue?.message ?? "is not valid").slice(0, longestMessage)}.`)
  }
}
