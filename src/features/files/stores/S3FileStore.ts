/**
 * Files as objects of an S3-compatible service. A short file is one PUT, a longer one an upload of parts, of which one is in memory at a
 * time: the object appears when the last call says so. What a dead process began is an open upload, which the sweep aborts.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as StatusReason from "#schemas/statusReason.ts"
import { FileStore, FileStoreError } from "#src/features/files/ports/FileStore.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"
import * as S3Client from "./S3Client.ts"

/** The least that a part may have beside the last one, bytes; a file has at most 10,000 parts. */
const PART_BYTES = 5 * 1024 * 1024
/** Each holds a part in memory. */
const MOST_WRITES = 32
/** How long a failed write tries to remove what it began, ms; the sweep removes the rest. */
const TIDY_MS = 10_000
/** The longest silence of a file that is read, ms. */
const SILENCE_MS = 60_000

export interface Options extends S3Client.Options {
  /** Before the id in each key. */
  readonly prefix: string
  /** Keys of one page of a list; default 1000. */
  readonly pageKeys?: number
}

const fullCodes: ReadonlySet<string> = new Set(["QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage"])

const failureOf = (operation: string, id: string) => (failure: S3Client.S3Failure): FileStoreError => new FileStoreError({
  store: "s3", operation, message: `${operation} ${id}: ${failure.message}`, cause: failure,
  reason: failure.code === "NoSuchKey" ? "missing" : StatusReason.of(failure.status) === "storage-full" || fullCodes.has(failure.code) ? "full" : "unavailable"
})

const busy = (id: string): FileStoreError => new FileStoreError({ store: "s3", operation: "write", reason: "unavailable", message: `write ${id}: ${MOST_WRITES} files are being written already` })

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

export const make = (options: Options): FileStore["Service"] => {
  const client = S3Client.make(options)
  const places = Semaphore.makeUnsafe(MOST_WRITES)
  const keyOf = (id: string): string => {
    if (!FileId.isFileId(id)) throw new Error(`'${id}' is no id of a file`)
    return `${options.prefix}${id}`
  }
  const idOf = (key: string): string | null => {
    const id = key.startsWith(options.prefix) ? key.slice(options.prefix.length) : ""
    return FileId.isFileId(id) ? id : null
  }
  const abort = (key: string, uploadId: string) => client.text({ method: "DELETE", key, query: { uploadId } })

  /** Collects a stream into parts. */
  const write = <E, R>(id: string, content: Stream.Stream<Uint8Array, E, R>) => Effect.gen(function*() {
    const key = keyOf(id)
    const whole = createHash("sha256")
    const part = { bytes: Buffer.allocUnsafeSlow(PART_BYTES), filled: 0, hash: createHash("sha256") }
    const etags: Array<string> = []
    let bytes = 0
    let uploadId: string | null = null

    const sendPart = Effect.gen(function*() {
      uploadId ??= S3Client.element((yield* client.text({ method: "POST", key, query: { uploads: "" } })).text, "UploadId")
      const { headers } = yield* client.text({
        method: "PUT", key, query: { partNumber: String(etags.length + 1), uploadId }, body: part.bytes.subarray(0, part.filled), sha256: part.hash.digest("hex")
      })
      etags.push(headers.get("etag") ?? "")
      part.filled = 0
      part.hash = createHash("sha256")
    }).pipe(Effect.mapError(failureOf("write", id)))

    const take = (chunk: Uint8Array) => Effect.gen(function*() {
      whole.update(chunk)
      bytes += chunk.byteLength
      for (let at = 0; at < chunk.byteLength;) {
        if (part.filled === PART_BYTES) yield* sendPart
        const piece = chunk.subarray(at, at + PART_BYTES - part.filled)
        part.bytes.set(piece, part.filled)
        part.hash.update(piece)
        part.filled += piece.byteLength
        at += piece.byteLength
      }
    })

    const finish = Effect.suspend(() => {
      if (uploadId === null) return client.text({ method: "PUT", key, body: part.bytes.subarray(0, part.filled), sha256: part.hash.digest("hex") })
      const list = Buffer.from(`<CompleteMultipartUpload>${etags.map((etag, i) =>
        `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</ETag></Part>`).join("")}</CompleteMultipartUpload>`)
      return Effect.tap(client.text({ method: "POST", key, query: { uploadId }, body: list, sha256: sha256Of(list) }), ({ text }) => text.includes("<Error>")
        ? Effect.fail(new S3Client.S3Failure({ status: 0, code: S3Client.element(text, "Code"), message: `the upload could not be completed: ${S3Client.element(text, "Message")}` }))
        : Effect.void)
    }).pipe(Effect.mapError(failureOf("write", id)))

    return yield* Effect.gen(function*() {
      yield* Stream.runForEach(content, take)
      if (uploadId !== null && part.filled > 0) yield* sendPart
      yield* Effect.uninterruptible(finish)
      return { bytes, sha256: whole.digest("hex") }
    }).pipe(Effect.onExit((exit) => {
      if (Exit.isSuccess(exit)) return Effect.void
      // An answer may be lost and the object there all the same.
      const object = client.text({ method: "DELETE", key })
      const tidy = uploadId === null ? object : Effect.andThen(Effect.ignore(abort(key, uploadId)), object)
      return Effect.ignore(Effect.timeoutOption(Effect.interruptible(tidy), TIDY_MS))
    }))
  })

  return FileStore.of({
    write: (id, content) => Effect.flatMap(places.withPermitsIfAvailable(1)(write(id, content)), Option.match({ onNone: () => Effect.fail(busy(id)), onSome: Effect.succeed })),

    read: (id, range) => Stream.unwrap(Effect.map(
      client.send({ method: "GET", key: keyOf(id), headers: range === undefined ? {} : { range: `bytes=${range.first}-${range.last}` } }),
      ({ body }) => body === null ? Stream.empty : Stream.fromReadableStream({
        evaluate: () => body,
        onError: (cause) => new S3Client.S3Failure({ status: 0, code: "", message: "the object's bytes broke off", cause })
      })
    )).pipe(
      Stream.timeoutOrElse({
        duration: SILENCE_MS,
        orElse: () => Stream.fail(new S3Client.S3Failure({ status: 0, code: "", message: `no byte of the object for ${SILENCE_MS} ms` }))
      }),
      Stream.mapError(failureOf("read", id))
    ),

    remove: (id) => Effect.asVoid(Effect.mapError(client.text({ method: "DELETE", key: keyOf(id) }), failureOf("remove", id))),

    list: Stream.paginate("", (token) => Effect.map(
      client.text({ method: "GET", key: "", query: { "list-type": "2", "max-keys": String(options.pageKeys ?? 1_000), prefix: options.prefix, ...(token === "" ? {} : { "continuation-token": token }) } }),
      ({ text }) => {
        const found = S3Client.elements(text, "Contents").flatMap((entry) => {
          const id = idOf(S3Client.element(entry, "Key"))
          return id === null ? [] : [{ id, writtenAt: Date.parse(S3Client.element(entry, "LastModified")) }]
        })
        const next = S3Client.element(text, "IsTruncated") === "true" ? S3Client.element(text, "NextContinuationToken") : ""
        return [found, next === "" ? Option.none<string>() : Option.some(next)] as const
      }
    )).pipe(Stream.mapError(failureOf("list", options.bucket))),

    removeUnfinished: (before) => Effect.gen(function*() {
      const { text } = yield* client.text({ method: "GET", key: "", query: { uploads: "", prefix: options.prefix } })
      const old = S3Client.elements(text, "Upload").filter((entry) => Date.parse(S3Client.element(entry, "Initiated")) < before && idOf(S3Client.element(entry, "Key")) !== null)
      yield* Effect.forEach(old, (entry) => abort(S3Client.element(entry, "Key"), S3Client.element(entry, "UploadId")), { discard: true })
      return old.length
    }).pipe(Effect.mapError(failureOf("removeUnfinished", options.bucket)))
  })
}

export const layer = (options: Options): Layer.Layer<FileStore> => Layer.sync(FileStore, () => make(options))
