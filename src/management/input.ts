/** What a call of the management API may send, read from its endpoint: names of query parameters, and words in any case. */
import * as Context from "effect/Context"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { Access, ForeignQuery } from "#schemas/api/Access.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Spelling from "./spelling.ts"

type Query = Readonly<Record<string, string | Array<string>>>

export interface Input {
  /** The body's text with enum-like values in their documented spelling; a text that is no JSON stays as it is. */
  readonly body: (text: string) => string
  /** The query likewise, or why it is refused. */
  readonly query: (given: Query) => Query | Refusal.Refusal
}

/** Sent by clients against caches; means nothing. */
const cacheBuster = "_"

const bodyOf = (schemas: ReadonlyArray<Schema.Top>): Input["body"] => {
  const respells = schemas.map((schema) => Spelling.make(SchemaAST.toEncoded(schema.ast))).filter((respell) => respell !== null)
  if (respells.length === 0) return (text) => text
  return (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return text
    }
    return JSON.stringify(respells.reduce((spelled, respell) => respell(spelled), value))
  }
}

/** Names that a query takes; null when any will do: what a vendor sends back with a browser, and what monitors ask without a login. */
const namesOf = (endpoint: HttpApiEndpoint.Top, ast: SchemaAST.AST | null): ReadonlySet<string> | null => {
  if (Context.getOrUndefined(endpoint.annotations, ForeignQuery) === true) return null
  if (ast === null && Context.getOrUndefined(endpoint.annotations, Access)?.tier === "PUBLIC") return null
  return new Set(ast?._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : [])
}

const queryOf = (endpoint: HttpApiEndpoint.Top): Input["query"] => {
  const ast = endpoint.query === undefined ? null : SchemaAST.toEncoded(endpoint.query.ast)
  const names = namesOf(endpoint, ast)
  const respell = ast === null ? null : Spelling.make(ast)
  const taken = names === null || names.size === 0 ? "This call takes no query parameters" : `This call takes ${[...names].join(", ")}`
  return (given) => {
    const strange = names === null ? [] : Object.keys(given).filter((name) => name !== cacheBuster && !names.has(name))
    if (strange.length > 0) return Refusal.invalidFields(strange.map((field) => ({ field, message: `Unknown query parameter. ${taken}` })))
    return respell === null ? given : respell(given) as Query
  }
}

const made = new WeakMap<HttpApiEndpoint.Top, Input>()

/** Kept beside its endpoint. */
export const inputOf = (endpoint: HttpApiEndpoint.Top): Input => {
  const known = made.get(endpoint)
  if (known !== undefined) return known
  const input = { body: bodyOf([...endpoint.payload.values()].flatMap(({ schemas }) => schemas)), query: queryOf(endpoint) }
  made.set(endpoint, input)
  return input
}
