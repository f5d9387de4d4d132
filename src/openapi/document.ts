/** The whole description of the HTTP surface: management generated from its API, inference from the wire schemas. */
import * as OpenApi from "effect/http-api/OpenApi"
import { managementRoutes, ManagementApi } from "#src/ManagementApi.ts"
import type { AccessRule } from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { inferenceRoutes } from "#src/inferenceRoutes.ts"
import { exampleOf } from "./examples.ts"
import * as Batches from "./batches.ts"
import * as Files from "./files.ts"
import * as Inference from "./inference.ts"
import { isObject, items, type Json, type JsonObject, member } from "./json.ts"
import { sharedAnswers, sharedErrors } from "./operation.ts"
import { ownErrors } from "./responses.ts"
import { namedWords, tidied, typedQueries } from "./schemas.ts"

const pathOf = (route: RouteRule): string => route.path.replaceAll(/:(\w+)/g, "{$1}")

const callers = (access: AccessRule | null): string => {
  if (access === null) return "Served to no caller."
  if (access.tier === "PUBLIC") return "Open to every caller."
  if (access.tier === "CLIENT_API") return "For API keys, by their own rules, and for signed-in operators."
  const keys = access.sessionOnly ? "no API key or access token" : access.adminKey ? "an API key with scope `admin`" : "an API key with scope `manage` or `admin`"
  const tokens = access.sessionOnly ? "" : `, an access token with scope \`${access.token}\``
  const where = access.tier === "LOCAL_ONLY" ? " From the gateway's own machine only." : ""
  const always = access.tier === "ALWAYS_PROTECTED" ? " Needed even while requireLogin is off." : ""
  return access.sessionOnly ? `For a signed-in session only: ${keys} will do.${where}${always}` : `For a signed-in session, ${keys}${tokens}.${where}${always}`
}

const paged = (operation: JsonObject): string => {
  const names = new Set((Array.isArray(operation["parameters"]) ? operation["parameters"] as ReadonlyArray<JsonObject> : []).map((parameter) => parameter["name"]))
  return names.has("limit") && names.has("offset") ? " `limit` and `offset` page through the list." : ""
}

const withExample = (content: JsonObject, definitions: JsonObject): JsonObject => Object.fromEntries(Object.entries(content).map(([type, media]) => {
  if (!isObject(media) || media["example"] !== undefined || type !== "application/json") return [type, media]
  const example = exampleOf(media["schema"], definitions)
  return [type, example === undefined ? media : { ...media, example }]
}))

/** Adds the description and the examples that follow from an operation's access rule and schemas. */
const described = (operation: JsonObject, access: AccessRule | null, definitions: JsonObject): JsonObject => {
  const body = member(operation, "requestBody")
  const responses = Object.fromEntries(Object.entries(member(operation, "responses")).map(([status, response]) =>
    isObject(response) && response["content"] !== undefined && status.startsWith("2")
      ? [status, { ...response, content: withExample(member(response, "content"), definitions) }]
      : [status, response]))
  return {
    ...operation,
    // Viewers show the summary above it.
    description: `${operation["description"] === undefined ? "" : `${String(operation["description"])}. `}${callers(access)}${paged(operation)}`.replace("..", "."),
    ...(body["content"] === undefined ? {} : { requestBody: { ...body, content: withExample(member(body, "content"), definitions) } }),
    responses
  }
}

/** Who calls nearly every management operation: said once for the whole document; an operation that says nothing has it. */
const usualSecurity = [{ session: [] }, { bearer: [] }, { localToken: [] }]
const usualText = JSON.stringify(usualSecurity)

/** A parameter without what OpenAPI reads into its absence. */
const briefParameter = (parameter: Json): Json => {
  if (!isObject(parameter) || parameter["required"] !== false) return parameter
  const { required: _required, ...rest } = parameter
  return rest
}

/** An operation without what the document says once for all, and without what OpenAPI reads into absence. */
const brief = ({ parameters, security, ...operation }: JsonObject): JsonObject => ({
  ...operation,
  ...(items(parameters).length === 0 ? {} : { parameters: items(parameters).map(briefParameter) }),
  ...(security === undefined || JSON.stringify(security) === usualText ? {} : { security })
})

/** Names what several operations say alike, by the first of them: `webhooks.create` gives `WebhooksCreate`. */
class Repeated {
  private readonly first = new Map<string, { readonly name: string; times: number }>()
  private readonly place: string
  readonly components: Record<string, Json> = {}
  constructor(place: string, known: JsonObject) {
    this.place = place
    for (const [name, value] of Object.entries(known)) this.first.set(JSON.stringify(value), { name, times: 2 })
  }
  count(operation: JsonObject, suffix: string, value: Json): void {
    const text = JSON.stringify(value)
    const seen = this.first.get(text)
    if (seen !== undefined) seen.times++
    else this.first.set(text, { name: `${String(operation["operationId"]).replaceAll(/(?:^|\W)(\w)/g, (_, letter: string) => letter.toUpperCase())}${suffix}`, times: 1 })
  }
  shared(value: Json): Json {
    const seen = this.first.get(JSON.stringify(value))
    if (seen === undefined || seen.times < 2) return value
    this.components[seen.name] = value
    return { $ref: `#/components/${this.place}/${seen.name}` }
  }
}

/** Says whole bodies and answers of several operations once, as components. */
const saidOnce = (paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>) => {
  const responses = new Repeated("responses", sharedAnswers)
  const bodies = new Repeated("requestBodies", {})
  const whole = (value: Json | undefined): value is JsonObject => isObject(value) && value["$ref"] === undefined
  for (const methods of Object.values(paths)) {
    for (const operation of Object.values(methods)) {
      if (whole(operation["requestBody"])) bodies.count(operation, "", operation["requestBody"])
      for (const [status, response] of Object.entries(member(operation, "responses"))) if (whole(response)) responses.count(operation, status, response)
    }
  }
  const once = (operation: JsonObject): JsonObject => ({
    ...operation,
    ...(whole(operation["requestBody"]) ? { requestBody: bodies.shared(operation["requestBody"]) } : {}),
    responses: Object.fromEntries(Object.entries(member(operation, "responses")).map(([status, response]) => [status, whole(response) ? responses.shared(response) : response]))
  })
  return {
    paths: Object.fromEntries(Object.entries(paths).map(([path, methods]) => [path, Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, once(operation)]))])),
    responses: responses.components,
    requestBodies: bodies.components
  }
}

const sorted = <A>(record: Readonly<Record<string, A>>): Record<string, A> => Object.fromEntries(Object.entries(record).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0))

/** The shared responses that an operation refers to; a component that no operation uses is an error for linters. */
const usedOf = (responses: JsonObject, paths: JsonObject): JsonObject => {
  const text = JSON.stringify(paths)
  return Object.fromEntries(Object.entries(responses).filter(([name]) => text.includes(`"#/components/responses/${name}"`)))
}

/** OpenAPI 3.1. */
export const document = (): JsonObject => {
  const routes = managementRoutes()
  const management = namedWords(ownErrors(tidied(typedQueries(OpenApi.fromApi(ManagementApi) as unknown as JsonObject, ManagementApi)), routes))
  const components = member(management, "components")
  const schemas = { ...member(components, "schemas"), ...Inference.componentSchemas() }
  const paths: Record<string, Record<string, JsonObject>> = {}
  const put = (path: string, method: string, operation: JsonObject): void => {
    (paths[path] ??= {})[method.toLowerCase()] = brief(operation)
  }
  for (const route of routes) {
    const operation = described(member(member(member(management, "paths"), pathOf(route)), route.method.toLowerCase()), route.access, schemas)
    put(pathOf(route), route.method, Batches.overlaid(route.method, route.path, Files.overlaid(route.method, route.path, operation)))
  }
  for (const route of inferenceRoutes) {
    const operation = Inference.operationOf(route.method, route.path)
    if (operation !== null) put(Inference.pathOf(route.path), route.method, { ...operation, "x-access-tier": route.access?.tier ?? "" })
  }
  const once = saidOnce(sorted(paths))
  return {
    openapi: management["openapi"],
    info: {
      title: "Gateway API",
      version: member(management, "info")["version"] ?? "",
      description: "Inference in the wire formats of the common SDKs, and the administration of the gateway.\n\n"
        + "Management errors are `{error:{message, type, code, details?}, requestId}`; inference errors have the form of the client's own format. "
        + "Every reply carries `x-request-id` and `X-Gateway-Version`. A known path with another method answers 405 with `Allow`. "
        + "Lists take `limit` and `offset`; times are ISO 8601 in UTC; amounts are US dollars.",
      license: { name: "MIT", identifier: "MIT" }
    },
    servers: [{ url: "http://127.0.0.1:20128", description: "The default address" }],
    tags: [...Inference.tagsOfInference, ...(Array.isArray(management["tags"]) ? management["tags"] as ReadonlyArray<Json> : [])],
    security: usualSecurity,
    paths: once.paths,
    components: {
      schemas,
      responses: { ...member(components, "responses"), ...usedOf(sharedErrors, paths), ...once.responses },
      requestBodies: once.requestBodies,
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key of this gateway; also `x-api-key`, `x-goog-api-key`, or the query parameter `key`." },
        ...member(components, "securitySchemes")
      }
    }
  }
}

/** As the file holds it: a line an operation and a line a component, so that a change shows as the lines it touches. */
export const textOf = (spec: JsonObject): string => {
  const block = (value: Json | undefined, levels: number, indent: string): string => {
    if (levels === 0 || !isObject(value)) return JSON.stringify(value)
    const inner = `${indent}  `
    const members = Object.entries(value).map(([key, each]) => `${inner}${JSON.stringify(key)}: ${block(each, levels - 1, inner)}`)
    return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${indent}}`
  }
  return `${block(spec, 3, "")}\n`
}
