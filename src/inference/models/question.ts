/** A question to the catalogue of models: admitted as inference is, answered from the snapshot in the words of the client that asks. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { reservedPaths } from "#schemas/api/RouteTable.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as Intake from "#src/inference/lane/Intake.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import { unknownRoute } from "#src/inference/lane/unknownRoutes.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import * as ModelCatalog from "#src/routing/models/modelCatalog.ts"
import { variantsOf } from "#src/routing/models/resolverView.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import { client as generateContentClient } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json/json.ts"
import { client as messagesClient } from "#src/wire/messages/index.ts"

export interface Asked {
  readonly view: ModelCatalog.CatalogView
  readonly options: ModelCatalog.CatalogOptions
  readonly query: URLSearchParams
  /** What stands in the path after the route's prefix, decoded. */
  readonly rest: string
  /** The JSON object of a request that has one. */
  readonly body: Readonly<Record<string, unknown>>
  /** The format that the client reads. */
  readonly format: Format
}

/** Formats that lists of one path are told in; the first is that of clients that name none. */
export type Format = "chat-completions" | "messages" | "generateContent"

const errorBodies: Readonly<Record<Format, (error: PublicError) => string>> = {
  "chat-completions": errorBody, "messages": messagesClient.errorBody, "generateContent": generateContentClient.errorBody
}

/** By the headers that a vendor's SDKs send with every call, and no other client. */
const formatOf = ({ headers }: HttpServerRequest.HttpServerRequest): Format =>
  headers["anthropic-version"] !== undefined ? "messages" : headers["x-goog-api-client"] !== undefined ? "generateContent" : "chat-completions"

const pathRest = (url: string, prefix: string): string => {
  const path = url.split("?", 1)[0] as string
  try {
    return decodeURIComponent(path.slice(prefix.length))
  } catch {
    return path.slice(prefix.length)
  }
}

export interface Caller {
  readonly key: ApiKey | null
  readonly inference: Inference["Service"]
}

export interface Place {
  /** The path up to what varies; an encoded variant of it is another, unknown route. */
  readonly prefix: string
  /** How errors are written for this list's clients. */
  readonly errorBody?: (error: PublicError) => string
  /** The list is told to each vendor's SDKs in their own format. */
  readonly perFormat?: boolean
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
export const make = ({ errorBody: ownErrors, perFormat, prefix, takesBody, tokenAt }: Place, answer: (asked: Asked, visible: (entry: ModelCatalog.ModelEntry) => boolean, caller: Caller) => object | PublicError) =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const format = perFormat === true ? formatOf(request) : "chat-completions"
    const errorText = ownErrors ?? errorBodies[format]
    const inference = yield* Inference
    const { admission } = inference
    const configuration = yield* Configuration
    const flags = yield* Flags
    const [path = "", search = ""] = request.url.split("?", 2)
    // The router decodes paths, but an encoded variant of this path is another, unknown route; so is one whose id is empty.
    if (!path.startsWith(prefix) || path === `${prefix}/` || reservedPaths.has(path)) return unknownRoute(request.method, request.url)
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
        prefixMode: ModelCatalog.prefixMode(query.get("prefix"), flags.value("MODELS_CATALOG_PREFIX_MODE") as ModelCatalog.PrefixMode),
        includeNames: flags.isOn("MODEL_CATALOG_INCLUDE_NAMES"),
        ...variantsOf(flags)
      },
      query,
      rest: pathRest(request.url, prefix),
      body,
      format
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
