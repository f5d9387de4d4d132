/** Uploads, pages and deletion of files: records and bytes together, so that neither is seen without the other. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"
import * as FormFile from "./FormFile.ts"
import { OwnIds } from "./ports/OwnIds.ts"
import * as FileId from "./ports/fileId.ts"
import { type FileRecord, FileRecords, type FileScope } from "./ports/FileRecords.ts"
import { FileStore, type FileStoreError } from "./ports/FileStore.ts"

/** Largest file, bytes: 512 MiB. */
export const FILE_BYTES = 512 * 1024 * 1024
/** Characters of a purpose. */
const PURPOSE_MAX = 64
/** Characters of a name. */
const FILENAME_MAX = 255
/** Seconds of a file's life: an hour to 30 days. */
const EXPIRES_LEAST = 3_600
const EXPIRES_MOST = 2_592_000
/** The longest wait for the removal of bytes, ms. */
const REMOVE_MS = 5_000

type Failure = PublicError | StoreError | FileStoreError

export class Files extends Context.Service<Files, {
  /** Stores the file of a form; `ownerKeyId` null: an operator's own. */
  readonly upload: (request: HttpServerRequest.HttpServerRequest, ownerKeyId: string | null) => Effect.Effect<FileRecord, Failure>
  /** The record as it stands now: one whose time is over is expired, whether the sweep has come or not. */
  readonly find: (id: string, scope: FileScope) => Effect.Effect<FileRecord, Failure>
  readonly remove: (id: string, scope: FileScope) => Effect.Effect<void, Failure>
}>()("gateway/features/files/Files") {}

const bad = (message: string, param: string): PublicError => Errors.make("bad_request", message, { extra: { param } })

export const unknown = (id: string): PublicError => Errors.make("file_not_found", `There is no file '${id.slice(0, 100)}' of this key.`)

const tooLarge = Errors.make("file_too_large", `The file is larger than ${FILE_BYTES} bytes (512 MiB).`, { extra: { param: "file" } })

const ofForm = ({ reason }: FormFile.FormError): PublicError => {
  switch (reason) {
    case "not-a-form":
      return Errors.make("unsupported_media_type", "Send the file as multipart/form-data with a boundary.")
    case "coding":
      return Errors.make("unsupported_media_type", `Send the form without Content-Encoding; ${ContentCoding.accepted} are for other bodies.`)
    case "malformed":
      return bad("The body is no complete multipart/form-data: it was cut, its boundary is wrong, or a field comes twice.", "body")
    case "file-too-large":
      return tooLarge
    case "field-too-large":
      return bad("A field of the form is larger than 65536 bytes.", "body")
    case "too-many-parts":
      return bad("The form has more than 32 parts.", "body")
    case "second-file":
      return bad("The form holds more than one file: upload each by itself.", "file")
    case "timeout":
      return Errors.make("request_timeout", "The file did not arrive in time.")
    case "no-room":
      return Errors.make("service_unavailable", "The gateway holds as many bytes of request bodies as it may (GATEWAY_MAX_HELD_BODY_BYTES); repeat the request in a moment.", { retryAfterSeconds: 1 })
    case "aborted":
      return Errors.make("client_closed_request", "The client left before its file was complete.")
  }
}

const known: ReadonlySet<string> = new Set(["purpose", "expires_after[anchor]", "expires_after[seconds]"])

const checkPurpose = (purpose: string | undefined): PublicError | null =>
  purpose === undefined || purpose === "" ? bad("'purpose' is missing: say what the file is for, such as batch, assistants, fine-tune, vision, user_data or evals.", "purpose")
    : purpose.length > PURPOSE_MAX || /\p{Cc}/u.test(purpose) ? bad(`'purpose' has at most ${PURPOSE_MAX} characters, none of them a control character.`, "purpose")
      : null

/** What the fields say beside the file; seconds of life, or null. */
const readFields = (fields: ReadonlyMap<string, string>): { readonly purpose: string; readonly seconds: number | null } | PublicError => {
  const other = [...fields.keys()].find((name) => !known.has(name))
  if (other !== undefined) return bad(`Unknown field '${other.slice(0, 100)}': a file has file, purpose and expires_after.`, other.slice(0, 100))
  const purpose = fields.get("purpose")
  const wrong = checkPurpose(purpose)
  if (wrong !== null || purpose === undefined) return wrong ?? bad("'purpose' is missing.", "purpose")
  const anchor = fields.get("expires_after[anchor]")
  const text = fields.get("expires_after[seconds]")
  if (anchor === undefined && text === undefined) return { purpose, seconds: null }
  if (anchor !== "created_at") return bad("'expires_after[anchor]' must be created_at.", "expires_after[anchor]")
  const seconds = /^\d{1,9}$/.test(text ?? "") ? Number(text) : 0
  return seconds >= EXPIRES_LEAST && seconds <= EXPIRES_MOST
    ? { purpose, seconds }
    : bad(`'expires_after[seconds]' is a whole number from ${EXPIRES_LEAST} to ${EXPIRES_MOST}.`, "expires_after[seconds]")
}

const filenameOf = (name: string): string => name.replace(/\p{Cc}/gu, "").slice(0, FILENAME_MAX).toWellFormed() || "file"
const contentTypeOf = (type: string): string => /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(type) ? type : "application/octet-stream"

const isOver = ({ expiresAt, status }: FileRecord, now: number): boolean => status === "expired" || (expiresAt !== null && expiresAt <= now)

/** A record as its clients see it at this time. */
export const standing = (record: FileRecord, now: number): FileRecord => isOver(record, now) ? { ...record, status: "expired" } : record

export const make = Effect.gen(function*() {
  const records = yield* FileRecords
  const store = yield* FileStore
  const ownIds = yield* OwnIds

  /** What cannot be removed now is left to the sweep; the client does not wait for a store that does not answer. */
  const removeBytes = (id: string) => {
    const left = (why: string) => Effect.logWarning(`The bytes of ${id} are left to the sweep: ${why}`)
    return Effect.interruptible(store.remove(id)).pipe(
      Effect.catch(({ message }) => left(message)),
      Effect.timeoutOrElse({ duration: REMOVE_MS, orElse: () => left(`the store did not answer within ${REMOVE_MS} ms`) })
    )
  }

  /**
   * The record makes the bytes a file. Where Postgres did not answer it may be there all the same: then the file is whole, else the sweep
   * removes its bytes.
   */
  const insert = (record: FileRecord) => Effect.uninterruptible(records.insert(record).pipe(
    Effect.tapError(({ reason }) => reason === "corrupt" ? removeBytes(record.id) : Effect.void)
  ))

  const upload = Effect.fn("Files.upload")(function*(request: HttpServerRequest.HttpServerRequest, ownerKeyId: string | null) {
    const id = FileId.make((yield* ownIds.own).mark)
    let isStored = false
    const read = FormFile.read(request, { fileBytes: FILE_BYTES }, (file, before) => Effect.gen(function*() {
      if (file.field !== "file") return yield* Effect.fail(bad(`The file is the field 'file', not '${file.field.slice(0, 100)}'.`, "file"))
      const wrong = before.has("purpose") ? checkPurpose(before.get("purpose")) : null
      if (wrong !== null) return yield* Effect.fail(wrong)
      const written = yield* store.write(id, file.content)
      isStored = true
      return { ...written, filename: filenameOf(file.filename), contentType: contentTypeOf(file.contentType) }
    }))
    const checked = Effect.gen(function*() {
      const { fields, file } = yield* read.pipe(Effect.catchTag("FormError", (error) => Effect.fail(ofForm(error))))
      if (file === null) return yield* Effect.fail(bad("The form holds no file: send it as the field 'file', with a file name.", "file"))
      const said = readFields(fields)
      if ("_tag" in said) return yield* Effect.fail(said)
      const createdAt = yield* Clock.currentTimeMillis
      return {
        id, ownerKeyId, ...file, purpose: said.purpose, status: "processed", statusDetails: null, createdAt,
        expiresAt: said.seconds === null ? null : createdAt + said.seconds * 1_000
      } satisfies FileRecord
    })
    return yield* Effect.uninterruptibleMask((restore) => Effect.gen(function*() {
      const record = yield* Effect.onExit(restore(checked), (exit) => Exit.isFailure(exit) && isStored ? removeBytes(id) : Effect.void)
      yield* insert(record)
      return record
    }))
  })

  const find = Effect.fn("Files.find")(function*(id: string, scope: FileScope) {
    const record = FileId.isFileId(id) ? yield* records.find(id, scope) : null
    return record === null ? yield* Effect.fail(unknown(id)) : standing(record, yield* Clock.currentTimeMillis)
  })

  return Files.of({
    upload, find,
    remove: Effect.fn("Files.remove")(function*(id: string, scope: FileScope) {
      if (!FileId.isFileId(id) || !(yield* records.remove(id, scope))) return yield* Effect.fail(unknown(id))
      yield* removeBytes(id)
    })
  })
})

export const layer = Layer.effect(Files, make)
