/** Model lists and token counts of the format, as pure functions; the HTTP layer knows the models. */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { isRecord } from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import { decodeRequest } from "#src/wire/generateContent/request/decodeRequest.ts"
import type { Json } from "#src/wire/WireFormat.ts"

export interface Model {
  /** `<provider>/<model>`. */
  readonly id: string
  readonly name: string | null
  /** Tokens. */
  readonly contextWindow: number | null
  readonly maxOutputTokens: number | null
  readonly thinking: boolean | null
}

/** Limits named where the catalogue knows none. */
const inputTokenLimit = 128_000
const outputTokenLimit = 8192

/** Entry of GET /v1beta/models, and the whole answer of GET /v1beta/models/{model}. */
export const modelEntry = (model: Model) => ({
  name: `models/${model.id}`,
  baseModelId: model.id,
  version: "001",
  displayName: model.name ?? model.id,
  description: model.name ?? model.id,
  inputTokenLimit: model.contextWindow ?? inputTokenLimit,
  outputTokenLimit: model.maxOutputTokens ?? outputTokenLimit,
  supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
  ...(model.thinking === null ? {} : { thinking: model.thinking })
})

/** Answer of GET /v1beta/models. */
export const modelList = (models: ReadonlyArray<Model>) => ({ models: models.map(modelEntry) })

/** Entries of one page at most, as the vendor bounds it. */
const maxPageSize = 1_000

/** The list, or a page of `pageSize` entries behind the one that `pageToken` names. */
export const modelPage = (models: ReadonlyArray<Model>, query: URLSearchParams) => {
  const [size, token] = [query.get("pageSize") ?? "0", query.get("pageToken") ?? ""]
  if (!/^\d{1,9}$/.test(size)) return invalid("pageSize", "Query parameter 'pageSize' must be a whole number from 0.")
  const at = token === "" ? -1 : models.findIndex(({ id }) => id === token)
  if (token !== "" && at === -1) return invalid("pageToken", "Query parameter 'pageToken' is none that a page of this list named.")
  const rest = models.slice(at + 1)
  const page = Number(size) === 0 ? rest : rest.slice(0, Math.min(Number(size), maxPageSize))
  return { ...modelList(page), ...(page.length < rest.length ? { nextPageToken: page.at(-1)?.id } : {}) }
}

/** The model id in `models/<id>` or `<id>`, as paths and bodies name it. */
export const modelIdOf = (name: string): string => name.startsWith("models/") ? name.slice("models/".length) : name

/**
 * The conversation that POST /v1beta/models/{model}:countTokens asks about: `contents` alone, or a whole `generateContentRequest`,
 * which excludes it.
 */
export const decodeCountTokens = (body: Json): Conversation | PublicError => {
  const { generateContentRequest, generate_content_request, ...rest } = body
  const whole = generateContentRequest ?? generate_content_request ?? null
  if (whole === null) return decodeRequest(rest)
  const written = generateContentRequest === undefined ? "generate_content_request" : "generateContentRequest"
  if (rest["contents"] !== undefined) return invalid("contents", `Field 'contents' excludes '${written}'.`)
  if (!isRecord(whole)) return invalid(written, `Field '${written}' must be an object.`)
  return decodeRequest(whole)
}

/** Answer of countTokens; `cached` of the total come out of a cache. */
export const countTokensAnswer = (totalTokens: number, cached = 0) => ({
  totalTokens,
  ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
  promptTokensDetails: [{ modality: "TEXT", tokenCount: totalTokens }]
})
