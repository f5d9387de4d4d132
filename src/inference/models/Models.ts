/** GET /v1/models with its prefix modes, one entry by id, the lists per kind and provider, and the manifest of all providers. */
import * as HttpRouter from "effect/http/HttpRouter"
import * as Errors from "#schemas/errors.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import * as Manifest from "#src/providers/manifest.ts"
import * as ModelCatalog from "#src/routing/models/modelCatalog.ts"
import { SIM_PROVIDER } from "#src/routing/models/resolverView.ts"
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import * as GenerateModels from "#src/wire/generateContent/generateModels.ts"
import { client as localModelServer } from "#src/wire/localModelServer/index.ts"
import * as Tags from "#src/wire/localModelServer/tags.ts"
import * as AutoCandidates from "./autoCandidates.ts"
import * as ModelLists from "./modelLists.ts"
import * as Question from "./question.ts"

const list = (entries: ReadonlyArray<ModelCatalog.ModelEntry>) => ({ object: "list", data: entries })

/** The list, and below it one entry by an id that may hold slashes: each in the words of the client that asks. */
const models = Question.make({ prefix: "/v1/models", perFormat: true }, (asked, visible) => {
  const { format, options, query, rest, view } = asked
  if (format === "generateContent") return nativeAnswer(asked, visible)
  if (rest === "") {
    const entries = ModelCatalog.entriesOf(view, options).filter(visible)
    if (format === "messages") return ModelLists.messagesList(ModelCatalog.ofType(entries, "chat"), query)
    return query.has("client_version") ? ModelLists.codexList(ModelCatalog.ofType(entries, "chat")) : list(entries)
  }
  const id = rest.slice(1)
  const entry = ModelCatalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /v1/models.`)
    : format === "messages" ? ModelLists.messagesModel(entry) : entry
})

/** `subtype`: which models of the type; one that does not say its own is in each list. */
const ofType = (path: `/${string}`, type: ModelCatalog.EntryType, subtype?: "speech" | "transcription") =>
  Question.make({ prefix: path }, ({ options, view }, visible) => {
    const entries = ModelCatalog.ofType(ModelCatalog.entriesOf(view, options), type).filter(visible)
    return list(subtype === undefined ? entries : entries.filter((entry) => (entry.subtype ?? subtype) === subtype))
  })

const ofProvider = Question.make({ prefix: "/v1/providers/" }, ({ options, rest, view }, visible) => {
  const provider = rest.replace(/\/models$/, "")
  const entries = ModelCatalog.ofProvider(view, options, provider)
  return entries.length === 0
    ? Errors.make("model_not_found", `Provider '${provider.slice(0, 120)}' offers no models: add a connection with POST /api/providers.`)
    : list(entries.filter(visible))
})

/** The conversation models of a list, by one id each, as the formats beside chat-completions describe them. */
const conversational = (view: ModelCatalog.CatalogView, options: ModelCatalog.CatalogOptions): ReadonlyArray<ModelCatalog.ModelEntry> =>
  ModelCatalog.ofType(ModelCatalog.entriesOf(view, { ...options, prefixMode: "canonical" }), "chat")

const native = (entry: ModelCatalog.ModelEntry): GenerateModels.Model => ({
  id: entry.id,
  name: entry.name ?? null,
  contextWindow: entry.context_length ?? null,
  maxOutputTokens: entry.max_output_tokens ?? null,
  thinking: entry.capabilities === undefined ? null : entry.capabilities["reasoning"] === true
})

const autoCandidates = Question.make({ prefix: "/v1/auto-combo/" }, ({ rest }, _visible, { inference: { request, router }, key }) =>
  AutoCandidates.candidatesOf(router(), rest.slice(0, -"/candidates".length), key, request.now()))

/** The list of Google's clients, and one entry of it. */
const nativeAnswer = ({ options, query, rest, view }: Question.Asked, visible: (entry: ModelCatalog.ModelEntry) => boolean) => {
  if (rest === "") return GenerateModels.modelPage(conversational(view, options).filter(visible).map(native), query)
  const id = GenerateModels.modelIdOf(rest.slice(1))
  const entry = ModelCatalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /v1beta/models.`)
    : GenerateModels.modelEntry(native(entry))
}

const nativeModels = Question.make({ prefix: "/v1beta/models", errorBody: generateContent.errorBody }, nativeAnswer)

const local = (entry: ModelCatalog.ModelEntry): Tags.ListedModel => ({
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

const localModels = (place: Question.Place) =>
  Question.make({ ...place, errorBody: localErrors }, ({ options, view }, visible) => Tags.tags(conversational(view, options).filter(visible).map(local)))

const localVersion = (place: Question.Place) => Question.make({ ...place, errorBody: localErrors }, () => Tags.version())

/** POST /api/show: one entry of the list. */
const localModel = (place: Question.Place) => Question.make({ ...place, errorBody: localErrors, takesBody: true }, ({ body, options, view }, visible) => {
  const id = Tags.shown(body)
  if (id === null) return Errors.make("bad_request", "Field 'model' must be a non-empty string.", { extra: { param: "model" } })
  const entry = ModelCatalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /api/tags.`)
    : Tags.show(local(entry))
})

const editorModels = Question.make({ prefix: "/api/v1/editor/", tokenAt: 4 }, ({ options, view }, visible) =>
  list(ModelCatalog.entriesOf(view, options).filter(visible)))

const manifestPath = "/api/v1/provider-plugin-manifest"
const manifest = Question.make({ prefix: manifestPath }, ({ view }) => Manifest.of(view.registry, GatewayHeaders.version, SIM_PROVIDER))

/** A list with the endpoints that it answers; `pattern` where the router takes several of them at once. */
interface Served {
  readonly endpoints: readonly [Endpoint.Endpoint, ...ReadonlyArray<Endpoint.Endpoint>]
  readonly pattern?: HttpRouter.PathInput
  readonly handler: ReturnType<typeof Question.make>
}

const reading = (path: HttpRouter.PathInput): Endpoint.Endpoint => Endpoint.make("GET", path, "models")
/** One model by an id, which may hold slashes. */
const readingOne = (path: HttpRouter.PathInput): Endpoint.Endpoint => ({ ...reading(path), isOpen: true })
const asking = (path: HttpRouter.PathInput): Endpoint.Endpoint => Endpoint.make("POST", path, "models")

const served: ReadonlyArray<Served> = [
  // The router takes the list itself for its pattern, too.
  { endpoints: [reading("/v1/models"), readingOne("/v1/models/:id")], pattern: "/v1/models/*", handler: models },
  { endpoints: [reading("/v1/embeddings")], handler: ofType("/v1/embeddings", "embedding") },
  { endpoints: [reading("/v1/images/generations")], handler: ofType("/v1/images/generations", "image") },
  { endpoints: [reading("/v1/videos/generations")], handler: ofType("/v1/videos/generations", "video") },
  { endpoints: [reading("/v1/music/generations")], handler: ofType("/v1/music/generations", "music") },
  { endpoints: [reading("/v1/audio/speech")], handler: ofType("/v1/audio/speech", "audio", "speech") },
  { endpoints: [reading("/v1/audio/transcriptions")], handler: ofType("/v1/audio/transcriptions", "audio", "transcription") },
  { endpoints: [reading("/v1/rerank")], handler: ofType("/v1/rerank", "rerank") },
  { endpoints: [reading("/v1/moderations")], handler: ofType("/v1/moderations", "moderation") },
  { endpoints: [reading("/v1/ocr")], handler: ofType("/v1/ocr", "ocr") },
  { endpoints: [reading("/v1/providers/:provider/models")], handler: ofProvider },
  { endpoints: [reading("/v1/auto-combo/:channel/candidates")], handler: autoCandidates },
  { endpoints: [reading("/v1beta/models"), readingOne("/v1beta/models/:id")], pattern: "/v1beta/models/*", handler: nativeModels },
  { endpoints: [reading("/api/tags")], handler: localModels({ prefix: "/api/tags" }) },
  { endpoints: [reading("/v1/api/tags")], handler: localModels({ prefix: "/v1/api/tags" }) },
  { endpoints: [reading("/api/version")], handler: localVersion({ prefix: "/api/version" }) },
  { endpoints: [reading("/v1/api/version")], handler: localVersion({ prefix: "/v1/api/version" }) },
  { endpoints: [asking("/api/show")], handler: localModel({ prefix: "/api/show" }) },
  { endpoints: [asking("/v1/api/show")], handler: localModel({ prefix: "/v1/api/show" }) },
  { endpoints: [reading(manifestPath)], handler: manifest },
  { endpoints: [reading("/api/v1/editor/:token/"), reading("/api/v1/editor/:token/models")], handler: editorModels },
  { endpoints: [reading("/api/v1/editor/:token/api/tags")], handler: localModels({ prefix: "/api/v1/editor/", tokenAt: 4 }) },
  { endpoints: [reading("/api/v1/editor/:token/api/version")], handler: localVersion({ prefix: "/api/v1/editor/", tokenAt: 4 }) },
  { endpoints: [asking("/api/v1/editor/:token/api/show")], handler: localModel({ prefix: "/api/v1/editor/", tokenAt: 4 }) }
]

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = served.flatMap((one) => one.endpoints)

export const routes = HttpRouter.addAll(served.flatMap(({ endpoints: listed, handler, pattern }) => pattern === undefined
  ? listed.map(({ method, path }) => HttpRouter.route(method, path as HttpRouter.PathInput, handler))
  : [HttpRouter.route(listed[0].method, pattern, handler)]))
