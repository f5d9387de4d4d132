/** Which errors each management operation can answer, as references to shared responses. */
import type { AccessRule } from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { isObject, type JsonObject, member } from "./json.ts"

const error = (description: string, headers?: JsonObject): JsonObject => ({
  description,
  ...(headers === undefined ? {} : { headers }),
  content: { "application/json": { schema: { $ref: "#/components/schemas/ManagementError" } } }
})

const retryAfter = { "Retry-After": { description: "Seconds until a repetition may succeed.", schema: { type: "integer", minimum: 1 } } }

/** Names of shared responses by status. */
const shared = {
  400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Gone", 413: "PayloadTooLarge",
  415: "UnsupportedMediaType", 422: "Unprocessable", 429: "TooManyRequests", 500: "InternalError", 502: "BadGateway", 503: "Unavailable"
} as const
type Status = keyof typeof shared

const sharedResponses: JsonObject = {
  BadRequest: error("The body, the query or a rule of this endpoint was not met; `details` names the fields."),
  Unauthorized: error("No credential came with the call, or it is not accepted here."),
  Forbidden: error("The credential does not allow this call, or a browser sent it from another origin (AUTH_CSRF)."),
  NotFound: error("There is no record of this id."),
  Conflict: error("The record stands in conflict with another one."),
  Gone: error("The value existed once and cannot be recovered."),
  PayloadTooLarge: error("The body is larger than 1 MiB."),
  UnsupportedMediaType: error("The body is not application/json."),
  Unprocessable: error("What is asked for cannot be done on this machine; `containerEphemeralTarget` says that its container would lose it."),
  TooManyRequests: error("Too many attempts.", retryAfter),
  InternalError: error("Unexpected failure; the log holds the request id."),
  BadGateway: error("The provider that was asked did not answer as it should."),
  Unavailable: error("A store cannot be reached, or the gateway is starting or draining.")
}

/** Beyond what follows from an operation's shape: by operation id. */
const special: Readonly<Record<string, ReadonlyArray<Status>>> = {
  "auth.login": [401, 429],
  "auth.setRequireLogin": [429],
  "auth.postRequireLogin": [429],
  "tokens.connect": [401, 429],
  "selfUsage.read": [401],
  "sync.bundle": [401],
  "plugins.marketplace": [502, 503],
  "plugins.installMarketplace": [404, 409, 422, 502, 503],
  "skills.marketplace": [502, 503],
  "skills.skillssh": [502, 503],
  "skills.installMarketplace": [404, 409, 422, 502, 503],
  "skills.installSkillssh": [404, 409, 422, 502, 503],
  "sync.createToken": [409],
  "sync.initialize": [409, 422, 502],
  "sync.changeCloud": [409, 422, 502],
  "cloud.resolve": [404],
  "cloud.updateCredentials": [404, 409],
  "keys.reveal": [410],
  "webhooks.replay": [409, 410],
  "memory.create": [409],
  "memory.update": [409],
  "memory.reindex": [409],
  "memory.summarize": [409, 502],
  "transfer.import": [409],
  "registeredKeys.issue": [409, 429],
  "oidc.login": [502],
  "oidc.callback": [401, 429, 502],
  "oauth.callback": [410, 502],
  "oauth.exchange": [410, 502],
  "oauth.poll": [410, 502],
  "providers.create": [404],
  "providers.models": [502],
  "providers.syncModels": [502],
  "providers.refresh": [400, 502],
  "providerNodes.create": [409],
  "providerNodes.update": [409],
  "providerModels.update": [404],
  "models.aliases": [404],
  "models.removeAlias": [404],
  "combos.create": [409],
  "combos.update": [409],
  "combos.test": [404],
  "drills.start": [409],
  "environment.repair": [409, 422],
  "evals.createSuite": [409],
  "evals.run": [404, 409],
  "resilience.protect": [404],
  "usage.comboHealth": [404],
  "tunnels.status": [404],
  "tunnels.act": [404, 409, 422],
  "tunnels.install": [422],
  "tunnels.login": [409, 422],
  "tunnels.enable": [409, 422],
  "tunnels.startDaemon": [409, 422],
  "cliTools.apply": [409, 422],
  "cliTools.codexSettings": [409, 422],
  "cliTools.geminiSettings": [409, 422],
  "cliTools.qwenSettings": [409, 422],
  "cliTools.piSettings": [409, 422],
  "cliTools.backUp": [404, 409, 422],
  "cliTools.backups": [409],
  "acp.add": [409],
  "acp.remove": [404, 409],
  "a2a.send": [429],
  "a2a.cancel": [409]
}

/** Operations whose errors are JSON-RPC frames. */
const framed: ReadonlySet<string> = new Set(["a2a.send"])

const frameSchema = {
  type: "object", required: ["jsonrpc", "id", "error"],
  properties: { jsonrpc: { const: "2.0" }, id: { type: "null" }, error: { type: "object", required: ["code", "message"], properties: { code: { type: "integer" }, message: { type: "string" }, data: { type: "object" } } } }
}

const errorOf = (id: string, status: Status): JsonObject => framed.has(id)
  ? { description: String(member(sharedResponses, shared[status])["description"]), content: { "application/json": { schema: frameSchema } } }
  : { $ref: `#/components/responses/${shared[status]}` }

const statusesOf = (id: string, operation: JsonObject, access: AccessRule | null): ReadonlyArray<Status> => {
  const parameters = Array.isArray(operation["parameters"]) ? operation["parameters"] as ReadonlyArray<JsonObject> : []
  const has = (place: string) => parameters.some((parameter) => parameter["in"] === place)
  const body = operation["requestBody"] !== undefined
  const statuses = new Set<Status>(special[id] ?? [])
  // Only public calls without a query take parameters that they do not know.
  if (body || has("query") || access?.tier !== "PUBLIC") statuses.add(400)
  if (body) statuses.add(413).add(415)
  if (has("path")) statuses.add(404)
  if (access?.tier !== "PUBLIC") statuses.add(401)
  // A browser of another origin and a foreign Host are refused everywhere.
  return [...statuses.add(403).add(500).add(503)].sort((a, b) => a - b)
}

const isError = (status: string): boolean => status.startsWith("4") || status.startsWith("5")

/** Replaces the list of all errors, which the generator gives every operation, by its own ones. */
export const ownErrors = (spec: JsonObject, routes: ReadonlyArray<RouteRule>): JsonObject => {
  const access = new Map(routes.map((route) => [`${route.method.toLowerCase()} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`, route.access]))
  const paths = Object.fromEntries(Object.entries(member(spec, "paths")).map(([path, methods]) => [path, Object.fromEntries(
    Object.entries(isObject(methods) ? methods : {}).map(([method, operation]) => {
      if (!isObject(operation)) return [method, operation]
      const successes = Object.entries(member(operation, "responses")).filter(([status]) => !isError(status))
      const errors = statusesOf(String(operation["operationId"]), operation, access.get(`${method} ${path}`) ?? null)
        .map((status) => [String(status), errorOf(String(operation["operationId"]), status)])
      return [method, { ...operation, responses: Object.fromEntries([...successes, ...errors]) }]
    })
  )]))
  const { ManagementError404: body, ...schemas } = Object.fromEntries(
    Object.entries(member(member(spec, "components"), "schemas")).filter(([name]) => !name.startsWith("ManagementError") || name === "ManagementError404")
  )
  const { description: _description, ...errorBody } = isObject(body) ? body : {}
  return {
    ...spec,
    paths,
    components: { ...member(spec, "components"), schemas: { ...schemas, ManagementError: errorBody }, responses: sharedResponses }
  }
}
