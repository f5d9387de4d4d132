import * as fs from "node:fs"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { BodyUnread } from "#src/platform/server/Exchange.ts"
import { type BackupView, BackupsGroup } from "./api.ts"
import { ArchiveError, ofThrown } from "./archive/ArchiveError.ts"
import type { Contents } from "./archive/Header.ts"
import { type Backup, stampOf } from "./BackupDirectory.ts"
import { Backups, BackupsError } from "./Backups.ts"
import { Storage } from "./Storage.ts"

/** Bytes of an archive that is uploaded. */
const IMPORT_MAX = 100_000_000
/** ms between two backups that operators ask for. */
const BETWEEN_MS = 10_000
const DAY_MS = 86_400_000
/** Bytes that are read from a file at once. */
const READ_BYTES = 256 * 1024
const PASSPHRASE = "x-backup-passphrase"

const viewOf = ({ at, filename, id, reason, size }: Backup): BackupView => ({ id, filename, size, createdAt: new Date(at).toISOString(), reason })

const refusalOf = (error: BackupsError | ArchiveError): Refusal.Refusal => {
  switch (error.reason) {
    case "unknown":
      return Refusal.notFound(error.message)
    case "busy":
      return Refusal.conflict(error.message, { code: "backup_busy" })
    case "full":
      return Refusal.conflict(error.message, { code: "too_many_backups" })
    case "foreign":
    case "broken":
    case "newer":
    case "sealed":
      return Refusal.badRequest(error.message, { code: `archive_${error.reason}` })
    case "disk":
      return Refusal.unavailable("The gateway's disk does not take or give backups; nothing was changed. Free its disk, or see the log.", { code: "backup_disk" })
  }
}

const told = <A, R>(effect: Effect.Effect<A, BackupsError | ArchiveError | StoreError | Refusal.Refusal, R>): Effect.Effect<A, Refusal.Refusal, R> => answer(effect.pipe(
  Effect.catchTags({
    BackupsError: (error) => Effect.fail(refusalOf(error)),
    ArchiveError: (error) => Effect.andThen(error.reason === "disk" ? Effect.logError(error.message) : Effect.void, Effect.fail(refusalOf(error)))
  })
))

/** Null when none came; a short one protects nothing. */
const passphraseIn = ({ headers }: HttpServerRequest.HttpServerRequest): Effect.Effect<Redacted.Redacted<string> | null, Refusal.Refusal> => {
  const given = headers[PASSPHRASE]
  if (given === undefined) return Effect.succeed(null)
  return given.length >= 12 && given.length <= 1024
    ? Effect.succeed(Redacted.make(given))
    : Effect.fail(Refusal.invalidField(PASSPHRASE, "Expected 12 to 1024 characters"))
}

const tooLarge = Refusal.payloadTooLarge(IMPORT_MAX)
const brokenOff = Refusal.badRequest("The upload broke off before the archive was complete; nothing was changed")

/** Writes the request's body to a new file, no faster than the disk takes it. */
const receive = (request: HttpServerRequest.HttpServerRequest, file: string) => Effect.gen(function*() {
  if (Number(request.headers["content-length"] ?? 0) > IMPORT_MAX) return yield* Effect.fail(tooLarge)
  const failed = ofThrown(`The upload ${file} cannot be written`)
  const handle = yield* Effect.acquireRelease(
    Effect.tryPromise({ try: () => fs.promises.open(file, "wx", 0o600), catch: failed }),
    (open) => Effect.promise(() => open.close().catch(() => undefined))
  )
  let bytes = 0
  yield* Stream.runForEach(
    Stream.mapError(request.stream, ({ reason: { cause } }) => cause instanceof BodyUnread && cause.failure === "too-large" ? tooLarge : brokenOff),
    (chunk) => Effect.suspend((): Effect.Effect<void, ArchiveError | Refusal.Refusal> => {
      bytes += chunk.byteLength
      if (bytes > IMPORT_MAX) return Effect.fail(tooLarge)
      return Effect.tryPromise({
        try: async () => {
          for (let at = 0; at < chunk.byteLength;) at += (await handle.write(chunk, at)).bytesWritten
        },
        catch: failed
      })
    })
  )
})

const contentOf = (handle: fs.promises.FileHandle): Stream.Stream<Uint8Array> => Stream.fromAsyncIterable(
  handle.createReadStream({ highWaterMark: READ_BYTES, autoClose: false }) as AsyncIterable<Uint8Array>,
  (cause) => cause
).pipe(Stream.orDie)

export const layer = HttpApiBuilder.group(Surface.make(BackupsGroup), "backups", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const backups = yield* Backups
  const storage = yield* Storage

  const create = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const last = (yield* backups.list).find(({ reason }) => reason === "manual")
    if (last !== undefined && now - last.at < BETWEEN_MS) {
      return { message: `Backup ${last.id} was made less than ${BETWEEN_MS / 1000} seconds ago; no other one was made` }
    }
    const backup = yield* backups.create("manual")
    yield* audit.note({ action: "backup.created", target: backup.id, resourceType: "backup", details: { bytes: backup.size } })
    return { created: true as const, ...viewOf(backup) }
  }).pipe(Effect.catchIf((error) => error instanceof BackupsError && error.reason === "busy", ({ message }) => Effect.succeed({ message })))

  /** The file is whole before the head is sent: what cannot be made is an error, and not a download that breaks off. */
  const download = (contents: Contents) => Effect.gen(function*() {
    const passphrase = yield* passphraseIn(yield* HttpServerRequest.HttpServerRequest)
    const handle = yield* Effect.scoped(Effect.gen(function*() {
      const file = yield* backups.write(contents, passphrase)
      // The file loses its name with this scope, and its bytes once the download holds it no more.
      return yield* Effect.tryPromise({ try: () => fs.promises.open(file, "r"), catch: ofThrown(`The archive ${file} cannot be read`) })
    }))
    yield* Effect.addFinalizer(() => Effect.promise(() => handle.close().catch(() => undefined)))
    const { size } = yield* Effect.tryPromise({ try: () => handle.stat(), catch: ofThrown("The archive cannot be read") })
    const now = yield* Clock.currentTimeMillis
    yield* audit.note({ action: "backup.exported", resourceType: "backup", details: { contents, bytes: size, sealedBy: passphrase === null ? "master-key" : "passphrase" } })
    return HttpServerResponse.stream(contentOf(handle), {
      contentType: "application/octet-stream", contentLength: size,
      headers: { "content-disposition": `attachment; filename="gateway-${contents === "all" ? "full" : "records"}-${stampOf(now)}.gwb"` }
    })
  })

  const load = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const passphrase = yield* passphraseIn(request)
    const file = yield* backups.place
    yield* Effect.scoped(receive(request, file))
    const { before, contents, createdAt, rows } = yield* backups.load(file, passphrase)
    yield* audit.note({ action: "backup.imported", target: before.id, resourceType: "backup", details: { contents, createdAt, preImportBackupId: before.id } })
    return { imported: true as const, preImportBackupId: before.id, contents, createdAt, rows }
  })

  return handlers.handleAll({
    list: () => told(Effect.map(backups.list, (all) => ({ backups: all.map(viewOf) }))),
    create: () => told(create),
    restore: ({ payload: { backupId } }) => told(Effect.gen(function*() {
      const { before, contents, createdAt, rows } = yield* backups.restore(backupId)
      yield* audit.note({ action: "backup.restored", target: backupId, resourceType: "backup", details: { contents, createdAt, preRestoreBackupId: before.id } })
      return { restored: true as const, backupId, preRestoreBackupId: before.id, contents, createdAt, rows }
    })),
    clean: ({ payload: { keepLatest = 1, retentionDays = 0 } }) => told(Effect.gen(function*() {
      const deleted = yield* backups.clean(keepLatest, retentionDays * DAY_MS)
      yield* audit.note({ action: "backup.deleted", resourceType: "backup", details: { keepLatest, retentionDays, deleted } })
      return { cleaned: true as const, keepLatest, retentionDays, deleted }
    })),
    export: () => told(download("records")),
    exportAll: () => told(download("all")),
    storage: () => told(storage.health),
    import: () => told(Effect.scoped(load))
  })
}))
