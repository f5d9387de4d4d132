/** The records of a gateway as pages of rows, out of its database and into it. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ArchiveError } from "./archive/ArchiveError.ts"
import type { Contents } from "./archive/Header.ts"

/** Rows of one table; each has the text of its columns' values, in their order. */
export interface Page {
  readonly table: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string | null>>
}

export interface Migration {
  readonly id: number
  readonly name: string
}

/** The next page; null at the end. */
export type Pages = Effect.Effect<Page | null, ArchiveError>

export class BackupRecords extends Context.Service<BackupRecords, {
  /** Bytes of the database on its disk. */
  readonly size: Effect.Effect<number, StoreError>
  /** Versions of the schema that are applied. */
  readonly migrations: Effect.Effect<ReadonlyArray<Migration>, StoreError>
  /**
   * Gives every row to `take`, a page at a time. Records are those of one moment; the ledger and the audit log, which only grow, are read
   * in slices without holding up anything.
   */
  readonly dump: (contents: Contents, take: (page: Page) => Effect.Effect<void, ArchiveError>) => Effect.Effect<void, StoreError | ArchiveError>
  /** Adds the rows that are missing, in slices. */
  readonly merge: (pages: Pages) => Effect.Effect<void, StoreError | ArchiveError>
  /** Makes the records those of the pages, in one transaction with `check`: a failure of either leaves what was there. */
  readonly replace: (pages: Pages, check: Effect.Effect<void, StoreError>) => Effect.Effect<void, StoreError | ArchiveError>
}>()("gateway/ports/BackupRecords") {}
