/** What is known of each file beside its bytes, and which key it belongs to. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** An uploaded file is validating, then processed or error; a file that a batch wrote is completed; expired: its bytes are gone. */
export type FileStatus = "validating" | "processed" | "completed" | "error" | "expired"

/** Times are ms since the epoch. */
export interface FileRecord {
  /** `file-` and 32 hexadecimal digits (`fileId.make`); the bytes have the same id in `FileStore`. */
  readonly id: string
  /** The key that may see it; null: operators only. */
  readonly ownerKeyId: string | null
  readonly filename: string
  readonly purpose: string
  readonly contentType: string
  readonly bytes: number
  /** SHA-256 of the bytes, hexadecimal. */
  readonly sha256: string
  readonly status: FileStatus
  readonly statusDetails: string | null
  readonly createdAt: number
  /** Null: kept until it is deleted. */
  readonly expiresAt: number | null
}

/** Whose files are meant: those of one key, or all files for an operator. */
export type FileScope = { readonly keyId: string } | "all"

export interface FilePage {
  readonly scope: FileScope
  /** Null: every purpose. */
  readonly purpose: string | null
  /** The page begins behind the file with this id; null: at the beginning. */
  readonly after: string | null
  /** By the time of creation, then by id. */
  readonly order: "asc" | "desc"
  readonly limit: number
}

export class FileRecords extends Context.Service<FileRecords, {
  /** Called once the bytes are stored: a record is the promise that they can be read. */
  readonly insert: (record: FileRecord) => Effect.Effect<void, StoreError>
  /** Null for an unknown file and for one outside the scope. */
  readonly find: (id: string, scope: FileScope) => Effect.Effect<FileRecord | null, StoreError>
  /** Null when `after` is no file of the scope. */
  readonly list: (page: FilePage) => Effect.Effect<{ readonly records: ReadonlyArray<FileRecord>; readonly hasMore: boolean } | null, StoreError>
  /** False when there is no such file, or it has expired. */
  readonly setStatus: (id: string, status: FileStatus, details: string | null) => Effect.Effect<boolean, StoreError>
  /** Removes the record, and with it the file; the bytes are then removed from `FileStore`. False when there was none in the scope. */
  readonly remove: (id: string, scope: FileScope) => Effect.Effect<boolean, StoreError>
  /** Which of these ids have a record, and have not expired: whose bytes must stay. */
  readonly known: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StoreError>
  /** Marks up to `limit` files whose time is over as expired; answers their ids. Their bytes are then removed. */
  readonly expire: (now: number, limit: number) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** Removes records that expired before this time; answers how many went. */
  readonly removeExpiredBefore: (time: number) => Effect.Effect<number, StoreError>
}>()("gateway/features/files/FileRecords") {}
