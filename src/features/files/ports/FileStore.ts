/** The bytes of files, by id. A file is immutable: it is written once, read in ranges and removed. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"

/** `missing`: there are no such bytes. `full`: there is no space for them. `unavailable` may be retried. */
export class FileStoreError extends Schema.TaggedError<FileStoreError>()("FileStoreError", {
  store: Schema.String,
  operation: Schema.String,
  reason: Schema.Literals(["missing", "full", "unavailable"]),
  message: Schema.String,
  cause: Schema.optional(Schema.Defect())
}) {}

export interface WrittenFile {
  readonly bytes: number
  /** SHA-256 of the bytes, hexadecimal. */
  readonly sha256: string
}

/** Places of the first and the last byte, both included. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

export interface StoredBytes {
  readonly id: string
  /** ms since the epoch. */
  readonly writtenAt: number
}

export class FileStore extends Context.Service<FileStore, {
  /**
   * Stores the bytes of a stream, which is pulled no faster than they are stored. They can be read once all of them are durable, and not
   * before; a write that fails or is interrupted leaves nothing to read. A chunk is not kept after the next one is pulled.
   */
  readonly write: <E, R>(id: string, content: Stream.Stream<Uint8Array, E, R>) => Effect.Effect<WrittenFile, E | FileStoreError, R>
  /** Reads no faster than the stream is pulled. Without a range: all bytes. */
  readonly read: (id: string, range?: ByteRange) => Stream.Stream<Uint8Array, FileStoreError>
  /** Also succeeds when there are no such bytes. */
  readonly remove: (id: string) => Effect.Effect<void, FileStoreError>
  /** Everything that can be read. */
  readonly list: Stream.Stream<StoredBytes, FileStoreError>
  /** Removes what writes that ended without a word have left behind, when nothing was added since `before`; answers how many went. */
  readonly removeUnfinished: (before: number) => Effect.Effect<number, FileStoreError>
}>()("gateway/features/files/FileStore") {}
