/** What the generated schemas leave unsaid: types of query parameters, formats of strings, names of sets of words, and no bounds that bound nothing. */
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Schema from "effect/Schema"
import { Format } from "#schemas/api/Explanation.ts"
import { Strategy, StrategyName } from "#schemas/records/Combo.ts"
import { Outcome } from "#schemas/records/LedgerRow.ts"
import { NodeApiType } from "#schemas/records/ProviderNode.ts"
import { Mode } from "#schemas/words/Compression.ts"
import * as TranslatorApi from "#src/features/translator/api.ts"
import { isObject, type Json, type JsonObject, member, rewrite } from "./json.ts"
import { ref } from "./operation.ts"

/** Every whole number that JSON can hold exactly. */
const widest = Number.MAX_SAFE_INTEGER

/** Formats by the name of a property that is a string: times are ISO 8601 everywhere in the management API. */
const formatOf = (name: string): string | null => {
  if (name.endsWith("At")) return "date-time"
  if (/(^u|U)rl$/.test(name)) return "uri"
  return null
}

/** How the generator spells the numbers that JSON cannot hold; no body holds them. */
const isNoNumber = (choice: Json): boolean => isObject(choice) && JSON.stringify(choice["enum"]) === "[\"Infinity\",\"-Infinity\",\"NaN\"]"

/** The generator repeats a choice that two types share. */
const distinct = (choices: ReadonlyArray<Json>): ReadonlyArray<Json> => [...new Map(choices.map((choice) => [JSON.stringify(choice), choice])).values()]

/** One schema without what says nothing. */
export const tidy = (schema: JsonObject, name: string): JsonObject => {
  const choices = schema["anyOf"]
  if (Array.isArray(choices)) {
    if ((choices as ReadonlyArray<Json>).some((choice) => isObject(choice) && Object.keys(choice).length === 0)) return {}
    const left = distinct((choices as ReadonlyArray<Json>).filter((choice) => !isNoNumber(choice)))
    const { anyOf: _anyOf, ...rest } = schema
    const [only] = left
    return left.length === 1 && isObject(only) ? { ...rest, ...only } : { ...rest, anyOf: left }
  }
  if (schema["type"] === "integer" && schema["minimum"] === -widest && schema["maximum"] === widest) {
    const { maximum: _maximum, minimum: _minimum, ...rest } = schema
    return { ...rest, format: "int64" }
  }
  const format = schema["type"] === "string" && schema["format"] === undefined && schema["enum"] === undefined ? formatOf(name) : null
  return format === null ? schema : { ...schema, format }
}

export const tidied = (spec: JsonObject): JsonObject => rewrite(spec as Json, tidy) as JsonObject

/** Schemas of query parameters as a handler sees them, by method and path: a number in a query is a string on the wire only. */
const queriesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>): ReadonlyMap<string, JsonObject> => {
  const found = new Map<string, JsonObject>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      if (endpoint.query === undefined) return
      const { schema } = Schema.toJsonSchemaDocument(Schema.toType(endpoint.query as Schema.Top))
      found.set(`${endpoint.method} ${endpoint.path.replaceAll(/:(\w+)/g, "{$1}")}`, member(schema, "properties"))
    }
  })
  return found
}

export const typedQueries = <Id extends string, Groups extends HttpApiGroup.Constraint>(spec: JsonObject, api: HttpApi.HttpApi<Id, Groups>): JsonObject => {
  const queries = queriesOf(api)
  const paths = Object.fromEntries(Object.entries(member(spec, "paths")).map(([path, methods]) => [path, Object.fromEntries(
    Object.entries(isObject(methods) ? methods : {}).map(([method, operation]) => {
      const typed = queries.get(`${method.toUpperCase()} ${path}`)
      if (typed === undefined || !isObject(operation) || !Array.isArray(operation["parameters"])) return [method, operation]
      const parameters = (operation["parameters"] as ReadonlyArray<JsonObject>).map((parameter) => {
        const schema = parameter["in"] === "query" ? typed[String(parameter["name"])] : undefined
        return isObject(schema) && schema["$ref"] === undefined ? { ...parameter, schema } : parameter
      })
      return [method, { ...operation, parameters }]
    })
  )]))
  return { ...spec, paths }
}

/** Sets of words, by the name of their component. An identifier on the schema itself would hide the words from messages of errors. */
const words: Readonly<Record<string, Schema.Top>> = {
  CallFormat: Format,
  CallOutcome: Outcome,
  ComboStrategy: Strategy,
  ComboStrategyName: StrategyName,
  CompressionMode: Mode,
  ConversationFamily: TranslatorApi.family,
  ConversationFormat: TranslatorApi.format,
  ProviderNodeApiType: NodeApiType
}

/** The description with a reference in each place of such a set. */
export const namedWords = (spec: JsonObject): JsonObject => {
  const nameOf = new Map<string, string>()
  const sets: Record<string, Json> = {}
  for (const [name, schema] of Object.entries(words)) {
    const set = Schema.toJsonSchemaDocument(schema).schema as Json
    nameOf.set(JSON.stringify(set), name)
    sets[name] = set
  }
  const named = rewrite(spec as Json, (object) => {
    const name = nameOf.get(JSON.stringify(object))
    return name === undefined ? object : ref(name)
  }) as JsonObject
  const components = member(named, "components")
  return { ...named, components: { ...components, schemas: { ...member(components, "schemas"), ...sets } } }
}
