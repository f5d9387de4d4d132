import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { Keys } from "#actors/ports/Keys.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { hasTag } from "#schemas/api/entityTag.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import { type FileList, type FileObject, FilesGroup } from "./api.ts"
import * as Files from "./Files.ts"
import * as Caller from "./ports/caller.ts"
import { type FileRecord, FileRecords, type FileScope } from "./ports/FileRecords.ts"
import { FileStore, type FileStoreError } from "./ports/FileStore.ts"
import * as Range from "./range.ts"

/** Files of a page. */
const LIMIT = 20

type Failure = PublicError | StoreError | FileStoreError

interface Page {
  readonly limit?: number
  readonly after?: string
  readonly order?: "asc" | "desc"
  readonly purpose?: string
}

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** A file in the words of the OpenAI API. */
export const objectOf = ({ bytes, createdAt, expiresAt, filename, id, purpose, status, statusDetails }: FileRecord): FileObject => ({
  id, object: "file", bytes, created_at: seconds(createdAt), expires_at: expiresAt === null ? null : seconds(expiresAt), filename, purpose, status, status_details: statusDetails
})

const publicOf = (failure: Failure): PublicError => {
  if (failure._tag === "PublicError") return failure
  if (failure._tag === "StoreError") return Errors.make("service_unavailable", "The records of files cannot be read or written at the moment.", { retryAfterSeconds: 1 })
  switch (failure.reason) {
    case "full":
      return Errors.make("insufficient_storage", "The gateway has no space for this file; nothing of it was kept. Delete files, or ask its operator for more space.")
    case "missing":
      return Errors.make("service_unavailable", "The bytes of this file are not in this node's store. Nodes of one gateway need one store of files: set GATEWAY_FILES_S3_BUCKET, or GATEWAY_FILES_DIR to a directory that they share.", { retryAfterSeconds: 5 })
    case "unavailable":
      return Errors.make("service_unavailable", "The store of files cannot be reached at the moment.", { retryAfterSeconds: 1 })
  }
}

/** An error in the client's words; what an operator must know of it is logged. */
const answer = <R>(effect: Effect.Effect<HttpServerResponse.HttpServerResponse, Failure, R>): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  effect.pipe(Effect.catch((failure) => {
    const error = publicOf(failure)
    const response = HttpServerResponse.text(errorBody(error), {
      status: error.status, contentType: "application/json",
      headers: error.retryAfterSeconds === null ? {} : { "retry-after": String(error.retryAfterSeconds) }
    })
    return failure._tag === "PublicError" ? Effect.succeed(response) : Effect.as(Effect.logWarning(failure.message), response)
  }))

const json = (body: FileObject | FileList | { readonly id: string; readonly object: "file"; readonly deleted: true }): HttpServerResponse.HttpServerResponse => HttpServerResponse.jsonUnsafe(body)

/** RFC 6266: a plain name for old clients, and the name itself. */
const disposition = (filename: string): string =>
  `attachment; filename="${filename.replace(/[^\x20-\x7e]|["\\%]/g, "_")}"; filename*=UTF-8''${encodeURIComponent(filename).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)}`

export const layer = HttpApiBuilder.group(Surface.make(FilesGroup), "files", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const files = yield* Files.Files
  const records = yield* FileRecords
  const store = yield* FileStore
  const keys = yield* Keys
  const limits = yield* Limits
  const environmentKeys = yield* EnvironmentKeys
  const caller = Caller.caller("files").pipe(
    Effect.provideService(Keys, keys), Effect.provideService(Limits, limits), Effect.provideService(EnvironmentKeys, environmentKeys)
  )

  const list = Effect.fn("Files.list")(function*(query: Page, scope: FileScope) {
    const page = yield* records.list({ scope, purpose: query.purpose ?? null, after: query.after ?? null, order: query.order ?? "desc", limit: query.limit ?? LIMIT })
    if (page === null) return yield* Effect.fail(Errors.make("bad_request", "'after' names no file of this key.", { extra: { param: "after" } }))
    const now = yield* Clock.currentTimeMillis
    const data = page.records.map((record) => objectOf(Files.standing(record, now)))
    return json({ object: "list", data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: page.hasMore })
  })

  const content = Effect.fn("Files.content")(function*(id: string, scope: FileScope) {
    const record = yield* files.find(id, scope)
    if (record.status === "expired") return yield* Effect.fail(Errors.make("file_not_found", `The file '${id}' has expired: its content is gone.`))
    const { headers: asked, method } = yield* HttpServerRequest.HttpServerRequest
    const etag = `"${record.sha256}"`
    const headers = {
      etag, "accept-ranges": "bytes", "content-disposition": disposition(record.filename),
      // A client chose type and bytes: a browser must never run them as a page of the gateway.
      "content-security-policy": "sandbox; default-src 'none'"
    }
    if (hasTag(asked["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers })
    // Only the length goes out: no byte is read for it, and a range is one of GET's.
    if (method === "HEAD") return HttpServerResponse.stream(Stream.empty, { contentType: record.contentType, contentLength: record.bytes, headers })
    const ifRange = asked["if-range"]
    const range = ifRange !== undefined && ifRange !== etag ? "whole" : Range.of(asked["range"], record.bytes)
    if (range === "none") {
      const error = Errors.make("range_not_satisfiable", `The file has ${record.bytes} bytes: the range asks for none of them.`, { extra: { param: "Range" } })
      return HttpServerResponse.text(errorBody(error), { status: error.status, contentType: "application/json", headers: { "content-range": `bytes */${record.bytes}` } })
    }
    // The first bytes are read before the head is sent: what cannot be read is an error, and not a download that breaks off.
    const pull = yield* Stream.toPull(store.read(id, range === "whole" ? undefined : range))
    const first = yield* Pull.catchDone(pull, () => Effect.succeed(null))
    const body = first === null ? Stream.empty : Stream.concat(Stream.fromArray(first), Stream.fromPull(Effect.succeed(pull)))
    return HttpServerResponse.stream(body, {
      status: range === "whole" ? 200 : 206, contentType: record.contentType, contentLength: range === "whole" ? record.bytes : range.last - range.first + 1,
      headers: range === "whole" ? headers : { ...headers, "content-range": `bytes ${range.first}-${range.last}/${record.bytes}` }
    })
  })

  return handlers.handleAll({
    upload: () => answer(Effect.gen(function*() {
      const { key } = yield* caller
      const record = yield* files.upload(yield* HttpServerRequest.HttpServerRequest, key === null ? null : key.id)
      return json(objectOf(record))
    })),
    list: ({ query }) => answer(Effect.flatMap(caller, ({ scope }) => list(query, scope))),
    find: ({ params }) => answer(Effect.gen(function*() {
      const { scope } = yield* caller
      return json(objectOf(yield* files.find(params.id, scope)))
    })),
    remove: ({ params: { id } }) => answer(Effect.gen(function*() {
      const { key, scope } = yield* caller
      yield* files.remove(id, scope)
      if (key === null) yield* audit.note({ action: "file.deleted", target: id, resourceType: "file" })
      return json({ id, object: "file", deleted: true })
    })),
    content: ({ params }) => answer(Effect.flatMap(caller, ({ scope }) => content(params.id, scope))),
    listAll: ({ query }) => answer(list(query, "all")),
    contentOfAny: ({ params }) => answer(content(params.id, "all"))
  })
}))
