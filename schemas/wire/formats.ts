/** Names of the wire formats of every kind of request. */
import type { FamilyName, FormatName } from "./conversation.ts"

/** Kinds of requests that hold no conversation: one question, one answer. Each is a format of its own. */
export const oneShotKinds = [
  "embeddings", "images", "image-edits", "videos", "music", "speech", "transcriptions", "translations", "rerank", "classify", "segment", "moderations", "ocr", "search", "web-fetch"
] as const
export type OneShotKind = typeof oneShotKinds[number]

/**
 * Formats of the servers that make embeddings: `embeddings` is also a format of clients, `batchEmbedContents` and `predict` are
 * the names of the methods of two vendors' APIs; `embeddings/voyage` and `embeddings/predict` are those of multimodal models alone.
 */
export type EmbeddingFamily = "embeddings" | "batchEmbedContents" | "predict" | "embeddings/jina" | "embeddings/voyage" | "embeddings/cohere" | "embeddings/predict"

/** Formats of the servers of each kind: its own name is the format that clients speak, too; others are `kind/dialect`. */
export type OneShotFamily = EmbeddingFamily | OneShotKind | `${OneShotKind}/${string}`

/** Formats of clients. */
export type CallFormat = FormatName | OneShotKind

/** Formats of targets. */
export type TargetFamily = FamilyName | OneShotFamily

const kinds: ReadonlySet<string> = new Set(oneShotKinds)

export const isOneShot = (format: CallFormat): format is OneShotKind => kinds.has(format)
