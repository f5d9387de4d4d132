/** Backups of the records: made, kept, restored, and carried to other gateways. */
import * as fs from "node:fs"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ComboMappingStore, ComboStore, ConnectionStore, CustomModelStore, NodeStore } from "#actors/ports/Stores.ts"
import { version } from "#schemas/version.ts"
import { ArchiveError, broken, ofThrown } from "./archive/ArchiveError.ts"
import * as ArchiveFile from "./archive/ArchiveFile.ts"
import * as Header from "./archive/Header.ts"
import { type Counts, PageWriter, pagesOf } from "./archive/pages.ts"
import * as BackupDirectory from "./BackupDirectory.ts"
import { BackupRecords, type Migration, type Page, type Pages } from "./BackupRecords.ts"
import * as Sealed from "./sealed.ts"
import { mergedTables, replacedTables } from "./tables.ts"

/** `unknown`: no such backup. `busy`: another one is being made or restored. `full`: too many are kept. */
export class BackupsError extends Schema.TaggedError<BackupsError>()("BackupsError", {
  reason: Schema.Literals(["unknown", "busy", "full"]),
  message: Schema.String
}) {}

/** Backups that are kept at most: none is removed but by the operator. */
export const KEPT_MAX = 200

export interface Restored {
  /** The backup of what was there before. */
  readonly before: BackupDirectory.Backup
  readonly contents: Header.Contents
  /** When the archive was made, ISO 8601. */
  readonly createdAt: string
  /** Rows of the archive, by table. */
  readonly rows: Counts
}

type Failure = BackupsError | ArchiveError | StoreError

export class Backups extends Context.Service<Backups, {
  /** Newest first. */
  readonly list: Effect.Effect<ReadonlyArray<BackupDirectory.Backup>, ArchiveError>
  readonly create: (reason: BackupDirectory.Reason) => Effect.Effect<BackupDirectory.Backup, Failure>
  readonly restore: (id: string) => Effect.Effect<Restored, Failure>
  /** Keeps the newest ones; of the others, those younger than so many ms. Answers how many went. */
  readonly clean: (keepLatest: number, youngerMs: number) => Effect.Effect<number, ArchiveError>
  /** Keeps the newest scheduled ones, and all others. Answers how many went. */
  readonly cleanScheduled: (keepLatest: number) => Effect.Effect<number, ArchiveError>
  /** Writes an archive to a file that goes with the scope. */
  readonly write: (contents: Header.Contents, passphrase: Redacted.Redacted<string> | null) => Effect.Effect<string, Failure, Scope.Scope>
  /** A place for an upload; what lies there goes with the scope. */
  readonly place: Effect.Effect<string, ArchiveError, Scope.Scope>
  /** Restores an archive from a file. */
  readonly load: (file: string, passphrase: Redacted.Redacted<string> | null) => Effect.Effect<Restored, Failure>
}>()("gateway/features/Backups") {}

const busy = new BackupsError({ reason: "busy", message: "A backup is being made or restored here: repeat the call when it is done." })

/** An archive that this gateway cannot take as it is; null when it can. */
const refusalOf = ({ gateway, migrations }: Header.Header, applied: ReadonlyArray<Migration>): ArchiveError | null => {
  const known = new Set(applied.map(({ id }) => id))
  const unknown = migrations.filter(({ id }) => !known.has(id))
  return unknown.length === 0 ? null : new ArchiveError({
    reason: "newer",
    message: `The archive was made by a newer release (${gateway}): this gateway does not know the schema versions ${unknown.map(({ id, name }) => `${id} ${name}`).join(", ")}. Upgrade this gateway, then restore again.`
  })
}

export const make = Effect.fnUntraced(function*(dataDir: string) {
  const records = yield* BackupRecords
  const configuration = yield* Configuration
  const feed = yield* ChangeFeed
  const secrets = yield* Secrets
  const stores = [(yield* ConnectionStore).list, (yield* NodeStore).list, (yield* CustomModelStore).list, (yield* ComboStore).list, (yield* ComboMappingStore).list] as const
  const directory = BackupDirectory.make(dataDir)
  const working = Semaphore.makeUnsafe(1)
  yield* Effect.ignore(directory.sweep)

  const place = Effect.acquireRelease(directory.place, (file) => Effect.promise(() => fs.promises.rm(file, { force: true })))

  const alone = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | BackupsError, R> =>
    Effect.flatMap(Semaphore.withPermitsIfAvailable(working, 1)(work), Option.match({ onNone: () => Effect.fail(busy), onSome: (done) => Effect.succeed(done) }))

  /** Writes what is there now into a new file. */
  const dumpTo = Effect.fnUntraced(function*(file: string, reason: string, contents: Header.Contents, passphrase: Redacted.Redacted<string> | null) {
    const at = yield* Clock.currentTimeMillis
    const createdAt = new Date(at).toISOString()
    const { key, wrapped } = yield* Header.makeKey(secrets, passphrase, createdAt)
    const migrations = yield* records.migrations
    const header: Header.Header = { format: Header.FORMAT, version: Header.VERSION, gateway: version, createdAt, reason, contents, migrations, key: wrapped }
    yield* Effect.scoped(Effect.gen(function*() {
      const writer = yield* ArchiveFile.create(file, header, key)
      const pages = new PageWriter()
      yield* records.dump(contents, (page) => Effect.flatMap(
        passphrase === null ? Effect.succeed(page) : sealing(() => Sealed.opened(secrets, page)),
        (plain) => writer.write(pages.lines(plain))
      ))
      yield* writer.write(pages.end())
      yield* writer.end
    }))
    return at
  })

  /** Records that this gateway cannot open itself are told, and not left out. */
  const sealing = <A>(work: () => A): Effect.Effect<A, ArchiveError> => Effect.try({
    try: work,
    catch: (error) => new ArchiveError({ reason: "sealed", message: error instanceof SealBroken ? error.message : "A sealed value is not an envelope." })
  })

  const create = Effect.fn("Backups.create")(function*(reason: BackupDirectory.Reason) {
    if ((yield* directory.list).length >= KEPT_MAX) {
      return yield* new BackupsError({ reason: "full", message: `${KEPT_MAX} backups are kept in ${directory.path} already: remove some with DELETE /api/db-backups.` })
    }
    return yield* Effect.scoped(Effect.gen(function*() {
      const file = yield* place
      const at = yield* dumpTo(file, reason, "records", null)
      return yield* directory.keep(file, at, reason)
    }))
  })

  /** Reads an archive's pages; the scope closes its file. */
  const open = (file: string, line: Buffer, key: Buffer, tables: ReadonlySet<string> | null, change: (page: Page) => Page) => Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => pagesOf(ArchiveFile.lines(file, line, key))),
      (pages) => Effect.promise(() => pages.return(undefined).catch(() => undefined))
    ),
    (pages): Pages => Effect.tryPromise({
      try: async () => {
        for (;;) {
          const { done, value } = await pages.next()
          if (done === true) return null
          if (tables === null || tables.has(value.table)) return change(value)
        }
      },
      catch: (error) => error instanceof SealBroken
        ? new ArchiveError({ reason: "sealed", message: error.message })
        : ofThrown(`The archive ${file} cannot be read`)(error)
    })
  )

  const load = Effect.fn("Backups.load")(function*(file: string, passphrase: Redacted.Redacted<string> | null, reason: "pre-restore" | "pre-import") {
    const { header, line } = yield* ArchiveFile.readHeader(file)
    const refused = refusalOf(header, yield* records.migrations)
    if (refused !== null) return yield* refused
    const key = yield* Header.openKey(secrets, passphrase, header)
    const isOpened = header.key.by === "passphrase"
    const seal = (page: Page): Page => isOpened ? Sealed.sealedAgain(secrets, page) : Sealed.renewed(secrets, page)

    // All of it is read and checked before anything is changed.
    const rows: Record<string, number> = {}
    yield* Effect.scoped(Effect.gen(function*() {
      const next = yield* open(file, line, key, null, (page) => {
        if (!isOpened) Sealed.check(secrets, page)
        return page
      })
      for (let page = yield* next; page !== null; page = yield* next) rows[page.table] = (rows[page.table] ?? 0) + page.rows.length
    }))
    if (!replacedTables.some((table) => table in rows)) return yield* broken("it has no records")

    const before = yield* create(reason)
    const unfit = (error: StoreError): Effect.Effect<never, StoreError | ArchiveError> => error.reason === "unavailable" ? Effect.fail(error) : Effect.fail(broken(`its rows do not fit this gateway (${error.message})`))
    if (header.contents === "all") {
      yield* Effect.scoped(Effect.flatMap(open(file, line, key, new Set(mergedTables), seal), records.merge)).pipe(Effect.catchTag("StoreError", unfit))
    }
    // A caller that leaves stops nothing that has begun: the nodes must act on what was committed.
    yield* Effect.uninterruptible(Effect.gen(function*() {
      yield* Effect.scoped(Effect.flatMap(open(file, line, key, new Set(replacedTables), seal), (pages) =>
        configuration.commit(records.replace(pages, Effect.all(stores, { discard: true }))))).pipe(Effect.catchTag("StoreError", unfit))
      yield* feed.reread
    }))
    return { before, contents: header.contents, createdAt: header.createdAt, rows } satisfies Restored
  })

  return Backups.of({
    list: directory.list,
    create: (reason) => alone(create(reason)),
    restore: Effect.fn("Backups.restore")(function*(id: string) {
      const backup = (yield* directory.list).find((one) => one.id === id)
      if (backup === undefined) return yield* new BackupsError({ reason: "unknown", message: `This node has no backup '${id.slice(0, 100)}': GET /api/db-backups lists those it has.` })
      return yield* alone(load(directory.pathOf(backup), null, "pre-restore"))
    }),
    clean: Effect.fn("Backups.clean")(function*(keepLatest: number, youngerMs: number) {
      const now = yield* Clock.currentTimeMillis
      const gone = (yield* directory.list).slice(keepLatest).filter(({ at }) => at <= now - youngerMs)
      yield* Effect.forEach(gone, directory.remove, { discard: true })
      return gone.length
    }),
    cleanScheduled: Effect.fn("Backups.cleanScheduled")(function*(keepLatest: number) {
      const gone = (yield* directory.list).filter(({ reason }) => reason === "scheduled").slice(keepLatest)
      yield* Effect.forEach(gone, directory.remove, { discard: true })
      return gone.length
    }),
    write: (contents, passphrase) => Effect.gen(function*() {
      const file = yield* place
      yield* alone(dumpTo(file, "export", contents, passphrase))
      return file
    }),
    place,
    load: (file, passphrase) => alone(load(file, passphrase, "pre-import"))
  })
})

export const layer = (options: { readonly dataDir: string }) => Layer.effect(Backups, make(options.dataDir))
