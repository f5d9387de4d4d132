/** GET /v1/models with its prefix modes, one entry by id, and the lists per kind and provider. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { reservedPaths } from "#schemas/api/RouteTable.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as AutoCandidates from "./autoCandidates.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import * as GatewayHeaders from "#src/inference/lane/GatewayHeaders.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import * as Intake from "#src/inference/lane/Intake.ts"
import * as ModelLists from "./modelLists.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import * as Catalog from "#src/routing/models/modelCatalog.ts"
import { unknownRoute } from "#src/inference/lane/UnknownRoutes.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import { client as messagesClient } from "#src/wire/messages/index.ts"
import * as GenerateModels from "#src/wire/generateContent/models.ts"
import * as Json from "#src/wire/json/json.ts"
import { client as localModelServer } from "#src/wire/localModelServer/index.ts"
import * as LocalTags from "#src/wire/localModelServer/tags.ts"

interface Asked {
  readonly view: Catalog.CatalogView
  readonly options: Catalog.CatalogOptions
  readonly query: URLSearchParams
  /** What stands in the path after the route's prefix, decoded. */
  readonly rest: string
  /** The JSON object of a request that has one. */
  readonly body: Readonly<Record<string, unknown>>
  /** The client speaks the messages format. */
  readonly messages: boolean
}

/** What the messages vendor's SDKs send with every call, and no other client. */
const speaksMessages = (request: HttpServerRequest.HttpServerRequest): boolean => request.headers["anthropic-version"] !== undefined

const pathRest = (url: string, prefix: string): string => {
  const path = url.split("?", 1)[0] as string
  try {
    return decodeURIComponent(path.slice(prefix.length))
  } catch {
    return path.slice(prefix.length)
  }
}

interface Caller {
  readonly key: ApiKey | null
  readonly inference: Inference["Service"]
}

interface Place {
  /** The path up to what varies; an encoded variant of it is another, unknown route. */
  readonly prefix: string
  /** How this list's clients are told of an error. */
  readonly errorBody?: (error: PublicError) => string
  /** The list is told to clients of the messages format too, in their words. */
  readonly forMessages?: boolean
  /** Which segment of the path is the key. */
  readonly tokenAt?: number
  /** The question stands in the body. */
  readonly takesBody?: boolean
}

const bodyOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Readonly<Record<string, unknown>> | PublicError> =>
  Effect.match(request.arrayBuffer, {
    onSuccess: (bytes) => {
      const body = Buffer.from(bytes)
      return Intake.excessive(body) ?? Json.parseRecord(body.toString("utf8")) ?? {}
    },
    onFailure: ({ reason }) => reason._tag !== "RequestParseError" || request.headers["content-encoding"] === undefined
      ? {}
      : Errors.make("bad_request", `The request body could not be read: ${reason.description ?? ""}.`)
  })

/** One question to the catalogue: admission as for inference, then a pure answer over the snapshot. */
const get = ({ errorBody: ownErrors = errorBody, forMessages, prefix, takesBody, tokenAt }: Place, answer: (asked: Asked, visible: (entry: Catalog.ModelEntry) => boolean, caller: Caller) => object | PublicError) =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const messages = forMessages === true && speaksMessages(request)
    const errorText = messages ? messagesClient.errorBody : ownErrors
    const inference = yield* Inference
    const { admission } = inference
    const configuration = yield* Configuration
    const flags = yield* Flags
    const [path = "", search = ""] = request.url.split("?", 2)
    // The router decodes paths, but an encoded variant of this path is another, unknown route.
    if (!path.startsWith(prefix) || reservedPaths.has(path)) return unknownRoute(request.method, request.url)
    const sent: InferenceCall.CallHead = {
      query: search,
      header: (name) => request.headers[name],
      remoteAddress: addressOf(request)
    }
    const head = tokenAt === undefined ? sent : Intake.withToken(sent, Paths.segment(path, tokenAt))
    const tags = InferenceCall.tagsOf(head, admission)
    const key = yield* Effect.callback<ApiKey | null | PublicError>((resume) => {
      InferenceCall.admit(head, "models", admission, (result) => resume(Effect.succeed(result)))
    })
    const query = new URLSearchParams(search)
    const body = takesBody !== true || key instanceof PublicError
      ? {}
      : (key === null ? Pages.bodyRefusal(request.headers["content-type"]) : null) ?? (yield* bodyOf(request))
    const result = key instanceof PublicError ? key : body instanceof PublicError ? body : answer({
      view: catalogView(configuration.current()),
      options: {
        prefixMode: Catalog.prefixMode(query.get("prefix"), flags.value("MODELS_CATALOG_PREFIX_MODE") as Catalog.PrefixMode),
        includeNames: flags.isOn("MODEL_CATALOG_INCLUDE_NAMES"),
        noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED"),
        thinkingLevels: !flags.isOn("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS")
      },
      query,
      rest: pathRest(request.url, prefix),
      body,
      messages
    }, (entry) => key === null || inference.router().admits(key, entry.id), { key, inference })
    if (result instanceof PublicError) {
      return HttpServerResponse.text(errorText(result), { status: result.status, contentType: "application/json", headers: record(GatewayHeaders.ofError(tags, result, 0)) })
    }
    return HttpServerResponse.text(JSON.stringify(result), {
      contentType: "application/json",
      headers: { "X-Gateway-Request-Id": tags.requestId, "X-Gateway-Version": GatewayHeaders.version }
    })
  })

const addressOf = (request: HttpServerRequest.HttpServerRequest): string => Option.getOrElse(request.remoteAddress, () => "")

const record = (flat: ReadonlyArray<string>): Record<string, string> => {
  const headers: Record<string, string> = {}
  for (let i = 0; i < flat.length; i += 2) headers[flat[i] as string] = flat[i + 1] as string
  return headers
}

const list = (entries: ReadonlyArray<Catalog.ModelEntry>) => ({ object: "list", data: entries })

/** The list, and below it one entry by an id that may hold slashes: each in the words of the client that asks. */
const models = get({ prefix: "/v1/models", forMessages: true }, ({ messages, options, query, rest, view }, visible) => {
  if (rest === "") {
    const entries = Catalog.entriesOf(view, options).filter(visible)
    if (messages) return ModelLists.messagesList(Catalog.ofType(entries, "chat"), query)
    return query.has("client_version") ? ModelLists.codexList(Catalog.ofType(entries, "chat")) : list(entries)
  }
  const id = rest.slice(1)
  const entry = Catalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /v1/models.`)
    : messages ? ModelLists.messagesModel(entry) : entry
})

const ofType = (path: `/${string}`, type: Catalog.EntryType) =>
  get({ prefix: path }, ({ options, view }, visible) => list(Catalog.ofType(Catalog.entriesOf(view, options), type).filter(visible)))

const ofProvider = get({ prefix: "/v1/providers/" }, ({ options, rest, view }, visible) => {
  const provider = rest.replace(/\/models$/, "")
  const entries = Catalog.ofProvider(view, options, provider)
  return entries.length === 0
    ? Errors.make("model_not_found", `Provider '${provider.slice(0, 120)}' offers no models: add a connection with POST /api/providers.`)
    : list(entries.filter(visible))
})

/** The conversation models of a list, by one id each, as the formats beside chat-completions describe them. */
const conversational = (view: Catalog.CatalogView, options: Catalog.CatalogOptions): ReadonlyArray<Catalog.ModelEntry> =>
  Catalog.ofType(Catalog.entriesOf(view, { ...options, prefixMode: "canonical" }), "chat")

const native = (entry: Catalog.ModelEntry): GenerateModels.Model => ({
  id: entry.id,
  name: entry.name ?? null,
  contextWindow: entry.context_length ?? null,
  maxOutputTokens: entry.max_output_tokens ?? null,
  thinking: entry.capabilities === undefined ? null : entry.capabilities["reasoning"] === true
})

const autoCandidates = get({ prefix: "/v1/auto-combo/" }, ({ rest }, _visible, { inference: { request, router }, key }) =>
  AutoCandidates.candidatesOf(router(), rest.slice(0, -"/candidates".length), key, request.now()))

const generateErrors = { prefix: "/v1beta/models", errorBody: generateContent.errorBody }

/** GET /v1beta/models and one entry. */
const nativeModels = get(generateErrors, ({ options, rest, view }, visible) => {
  if (rest === "") return GenerateModels.modelList(conversational(view, options).filter(visible).map(native))
  const id = GenerateModels.modelIdOf(rest.slice(1))
  const entry = Catalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /v1beta/models.`)
    : GenerateModels.modelEntry(native(entry))
})

const local = (entry: Catalog.ModelEntry): LocalTags.ListedModel => ({
  id: entry.id,
  provider: entry.owned_by,
  createdAt: entry.created,
  contextLength: entry.context_length ?? null,
  maxOutputTokens: entry.max_output_tokens ?? null,
  tools: entry.capabilities?.["tools"] === true,
  vision: entry.capabilities?.["vision"] === true,
  thinking: entry.capabilities?.["reasoning"] === true
})

const localErrors = localModelServer.errorBody

const localModels = (place: Place) =>
  get({ ...place, errorBody: localErrors }, ({ options, view }, visible) => LocalTags.tags(conversational(view, options).filter(visible).map(local)))

/** POST /v1/api/show: one entry of the list. */
const localModel = (place: Place) => get({ ...place, errorBody: localErrors, takesBody: true }, ({ body, options, view }, visible) => {
  const id = LocalTags.shown(body)
  if (id === null) return Errors.make("bad_request", "Field 'model' must be a non-empty string.", { extra: { param: "model" } })
  const entry = Catalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /api/tags.`)
    : LocalTags.show(local(entry))
})

const editorModels = get({ prefix: "/api/v1/editor/", tokenAt: 4 }, ({ options, view }, visible) =>
  list(Catalog.entriesOf(view, options).filter(visible)))

/** A list with the endpoints that it answers; `pattern` where the router takes several of them at once. */
interface Served {
  readonly endpoints: readonly [Endpoint.Endpoint, ...ReadonlyArray<Endpoint.Endpoint>]
  readonly pattern?: HttpRouter.PathInput
  readonly handler: ReturnType<typeof get>
}

const reading = (path: HttpRouter.PathInput): Endpoint.Endpoint => Endpoint.make("GET", path, "models")
const asking = (path: HttpRouter.PathInput): Endpoint.Endpoint => Endpoint.make("POST", path, "models")

const served: ReadonlyArray<Served> = [
  // The router takes the list itself for its pattern, too.
  { endpoints: [reading("/v1/models"), reading("/v1/models/:id")], pattern: "/v1/models/*", handler: models },
  { endpoints: [reading("/v1/embeddings")], handler: ofType("/v1/embeddings", "embedding") },
  { endpoints: [reading("/v1/images/generations")], handler: ofType("/v1/images/generations", "image") },
  { endpoints: [reading("/v1/providers/:provider/models")], handler: ofProvider },
  { endpoints: [reading("/v1/auto-combo/:channel/candidates")], handler: autoCandidates },
  { endpoints: [reading("/v1beta/models"), reading("/v1beta/models/:id")], pattern: "/v1beta/models/*", handler: nativeModels },
  { endpoints: [reading("/api/tags")], handler: localModels({ prefix: "/api/tags" }) },
  { endpoints: [reading("/v1/api/tags")], handler: localModels({ prefix: "/v1/api/tags" }) },
  { endpoints: [reading("/v1/api/version")], handler: get({ prefix: "/v1/api/version", errorBody: localErrors }, () => LocalTags.version()) },
  { endpoints: [asking("/v1/api/show")], handler: localModel({ prefix: "/v1/api/show" }) },
  { endpoints: [reading("/api/v1/editor/:token/"), reading("/api/v1/editor/:token/models")], handler: editorModels },
  { endpoints: [reading("/api/v1/editor/:token/api/tags")], handler: localModels({ prefix: "/api/v1/editor/", tokenAt: 4 }) },
  { endpoints: [reading("/api/v1/editor/:token/api/version")], handler: get({ prefix: "/api/v1/editor/", tokenAt: 4 }, () => LocalTags.version()) },
  { endpoints: [asking("/api/v1/editor/:token/api/show")], handler: localModel({ prefix: "/api/v1/editor/", tokenAt: 4 }) }
]

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = served.flatMap((one) => one.endpoints)

export const routes = HttpRouter.addAll(served.flatMap(({ endpoints: listed, handler, pattern }) => pattern === undefined
  ? listed.map(({ method, path }) => HttpRouter.route(method, path as HttpRouter.PathInput, handler))
  : [HttpRouter.route(listed[0].method, pattern, handler)]))
