/** Where a model's provider makes embeddings, and why it makes none. Pure. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import type { ResolvedModel } from "#src/routing/models/resolveModel.ts"

export const unknownProvider = (prefix: string): PublicError => Errors.make("bad_request", `Unknown embedding provider: ${prefix.slice(0, 120)}`)

export const noCredentials = (provider: string): PublicError => Errors.make("bad_request", `No credentials for embedding provider: ${provider}`)

export interface EmbeddingPlace {
  readonly family: EmbeddingFamily
  readonly path: string
}

/** The method that ends the path names the family, where it is not the format that nearly all providers share. */
const familyOf = (path: string): EmbeddingFamily =>
  path.endsWith(":batchEmbedContents") ? "batchEmbedContents" : path.endsWith(":predict") ? "predict" : "embeddings"

/** Kinds of nodes that may make embeddings: those for them, and general servers, which know best what their models can. */
const ofNode = ({ apiType, chatPath, type }: ProviderNode): EmbeddingPlace | null => {
  if (type === "anthropic-compatible") return null
  if (apiType === "embeddings") return { family: "embeddings", path: chatPath ?? "/embeddings" }
  return apiType === null || apiType === "chat" || apiType === "responses" ? { family: "embeddings", path: "/embeddings" } : null
}

export const placeOf = ({ facts, id, node: named, row }: ResolvedModel, node: ProviderNode | null): EmbeddingPlace | PublicError => {
  const path = row?.paths?.["embeddings"]
  const place = node !== null ? ofNode(node) : path === undefined ? null : { family: familyOf(path), path }
  if (place === null) return unknownProvider(row?.id ?? named?.prefix ?? "")
  return facts !== null && facts.kind !== "embedding"
    ? Errors.make("bad_request", `Model '${id}' makes no embeddings: see GET /v1/embeddings for those that do.`, { extra: { param: "model" } })
    : place
}
