/** The records that calls send back whole, read through the GET of the same path. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Refusal from "#schemas/api/Refusal.ts"
import { SentBack, sentBack, type SentBackRule } from "#schemas/api/SentBack.ts"
import * as Shown from "./shown.ts"

type Query = Readonly<Record<string, string>>

/** What a call's body may leave to its record. */
export interface ReadBack {
  /** `read` answers what GET of the same path answers for a query. */
  readonly body: <E, R>(text: string, read: (query: Query) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) => Effect.Effect<string, E | Refusal.Refusal, R>
}

const structsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  ast._tag === "Union" ? ast.types.flatMap(structsOf) : ast._tag === "Suspend" ? structsOf(ast.thunk()) : [ast]

/** Null when the body is no record, or takes any member. Made with the first body of an endpoint. */
const takenBy = Function.memoize((endpoint: HttpApiEndpoint.Top): Shown.Taken | null => {
  const structs = [...endpoint.payload.values()].flatMap(({ schemas }) => schemas.flatMap(({ ast }) => structsOf(ast)))
  const checks = new Map<string, Array<(value: unknown) => boolean>>()
  for (const ast of structs) {
    if (ast._tag !== "Objects") continue
    if (ast.indexSignatures.length > 0) return null
    for (const { name, type } of ast.propertySignatures) {
      const decode = Schema.decodeUnknownResult(Schema.make<Schema.Codec<unknown>>(type), { onExcessProperty: "error" })
      checks.set(String(name), [...checks.get(String(name)) ?? [], (value) => Result.isSuccess(decode(value))])
    }
  }
  return checks.size === 0 ? null : new Map(Array.from(checks, ([name, all]) => [name, (value: unknown) => all.some((check) => check(value))]))
})

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const answered = ({ body }: HttpServerResponse.HttpServerResponse): Schema.Json =>
  body._tag === "Uint8Array" ? JSON.parse(new TextDecoder().decode(body.body)) as Schema.Json : null

const queryOf = (body: Shown.Document, { asked }: SentBackRule): Query =>
  Object.fromEntries(asked.flatMap((name) => typeof body[name] === "string" ? [[name, body[name]]] : []))

/** Null when no record is sent to this call. */
export const of = (endpoint: HttpApiEndpoint.Top): ReadBack | null => {
  const given = Context.getOrUndefined(endpoint.annotations, SentBack)
  if (given === undefined && endpoint.method !== "PUT" && endpoint.method !== "PATCH") return null
  const rule = given ?? sentBack({})
  const moves = new Set(rule.moves)
  return {
    body: (text, read) => Effect.suspend(() => {
      const taken = takenBy(endpoint)
      const body = jsonOf(text)
      if (taken === null || !Shown.isDocument(body) || !Shown.isWider(body, taken)) return Effect.succeed(text)
      return Effect.flatMap(read(queryOf(body, rule)), (response) => {
        const record = Shown.recordIn(answered(response), body, rule)
        if (record === null) return Effect.succeed(text)
        const left = Shown.withoutShown(body, record, taken, moves)
        return left.changed.length > 0 ? Effect.fail(Refusal.invalidFields(left.changed)) : Effect.succeed(JSON.stringify(left.body))
      })
    })
  }
}
