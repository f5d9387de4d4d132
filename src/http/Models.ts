/** GET /v1/models with its prefix modes, one entry by id, and the lists per kind and provider (inference document, Models). */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as GatewayHeaders from "#src/http/GatewayHeaders.ts"
import { Inference } from "#src/http/Inference.ts"
import * as InferenceCall from "#src/http/InferenceCall.ts"
import { catalogView } from "#src/routing/catalogView.ts"
import * as Catalog from "#src/routing/modelCatalog.ts"
import * as KeyPolicy from "#src/stages/keyPolicy.ts"
import { unknownRoute } from "#src/http/UnknownRoutes.ts"
import { errorBody } from "#src/wire/chatCompletions.ts"

interface Asked {
  readonly view: Catalog.CatalogView
  readonly options: Catalog.CatalogOptions
  readonly query: URLSearchParams
  /** What stands in the path after the route's prefix, decoded. */
  readonly rest: string
}

const pathRest = (url: string, prefix: string): string => {
  const path = url.split("?", 1)[0] as string
  try {
    return decodeURIComponent(path.slice(prefix.length))
  } catch {
    return path.slice(prefix.length)
  }
}

/** One GET of the catalogue: admission as for inference, then a pure answer over the snapshot. */
const get = (prefix: string, answer: (asked: Asked, visible: (entry: Catalog.ModelEntry) => boolean) => object | PublicError) =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { admission } = yield* Inference
    const configuration = yield* Configuration
    const flags = yield* Flags
    const [path = "", search = ""] = request.url.split("?", 2)
    // The router decodes; an encoded variant of the path is another, unknown route (decisions 16).
    if (!path.startsWith(prefix)) return unknownRoute(request.method, request.url)
    const head: InferenceCall.CallHead = {
      query: search,
      header: (name) => request.headers[name],
      remoteAddress: addressOf(request)
    }
    const tags = InferenceCall.tagsOf(head, admission)
    const key = yield* Effect.callback<ApiKey | null | PublicError>((resume) => {
      InferenceCall.admit(head, "models", admission, (result) => resume(Effect.succeed(result)))
    })
    const query = new URLSearchParams(search)
    const result = key instanceof PublicError ? key : answer({
      view: catalogView(configuration.current()),
      options: {
        prefixMode: Catalog.prefixMode(query.get("prefix"), flags.value("MODELS_CATALOG_PREFIX_MODE") as Catalog.PrefixMode),
        includeNames: flags.isOn("MODEL_CATALOG_INCLUDE_NAMES"),
        noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED")
      },
      query,
      rest: pathRest(request.url, prefix)
    }, (entry) => key === null || KeyPolicy.admitModel(key, entry.id, entry.root) === null)
    if (result instanceof PublicError) {
      return HttpServerResponse.text(errorBody(result), { status: result.status, contentType: "application/json", headers: record(GatewayHeaders.ofError(tags, result, 0)) })
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

/** The list, and below it one entry by an id that may hold slashes. */
const models = get("/v1/models", ({ options, rest, view }, visible) => {
  if (rest === "") return list(Catalog.entriesOf(view, options).filter(visible))
  const id = rest.slice(1)
  const entry = Catalog.entryById(view, options, id)
  return entry === null || !visible(entry)
    ? Errors.make("model_not_found", `Model '${id.slice(0, 120)}' is not offered: see GET /v1/models.`)
    : entry
})

const ofType = (path: `/${string}`, type: Catalog.EntryType) =>
  get(path, ({ options, view }, visible) => list(Catalog.ofType(Catalog.entriesOf(view, options), type).filter(visible)))

const ofProvider = get("/v1/providers/", ({ options, rest, view }, visible) => {
  const provider = rest.replace(/\/models$/, "")
  const entries = Catalog.ofProvider(view, options, provider)
  return entries.length === 0
    ? Errors.make("model_not_found", `Provider '${provider.slice(0, 120)}' offers no models: add a connection with POST /api/providers.`)
    : list(entries.filter(visible))
})

export const routes = HttpRouter.addAll([
  // The router takes `/v1/models` itself for this pattern too.
  HttpRouter.route("GET", "/v1/models/*", models),
  HttpRouter.route("GET", "/v1/embeddings", ofType("/v1/embeddings", "embedding")),
  HttpRouter.route("GET", "/v1/images/generations", ofType("/v1/images/generations", "image")),
  HttpRouter.route("GET", "/v1/providers/:provider/models", ofProvider)
])
