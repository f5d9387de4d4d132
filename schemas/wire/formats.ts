/** Names of the wire formats of every kind of request. */
import type { FamilyName, FormatName } from "./conversation.ts"

/**
 * Formats of the servers that make embeddings: `embeddings` is the one that clients speak, too, `batchEmbedContents` and `predict` are
 * the names of the methods of two vendors' APIs.
 */
export type EmbeddingFamily = "embeddings" | "batchEmbedContents" | "predict"

/** Formats a client may speak. */
export type CallFormat = FormatName | "embeddings"

/** Formats a target may speak. */
export type TargetFamily = FamilyName | EmbeddingFamily
