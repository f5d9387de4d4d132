import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, bearer, bearerWrites, reads } from "#schemas/api/Access.ts"
import { queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

/** A file as the OpenAI API describes it; times are seconds since the epoch. */
export const FileObject = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("file"),
  bytes: Schema.Int,
  created_at: Schema.Int,
  /** Null: kept until it is deleted. */
  expires_at: Schema.NullOr(Schema.Int),
  filename: Schema.String,
  purpose: Schema.String,
  /** `processed` once it is stored; `completed` of a file that a batch wrote; `expired` when its time is over. */
  status: Schema.Literals(["validating", "processed", "completed", "error", "expired"]),
  status_details: Schema.NullOr(Schema.String)
}).annotate({ identifier: "File" })
export interface FileObject extends Schema.Schema.Type<typeof FileObject> {}

export const FileList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(FileObject),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String),
  has_more: Schema.Boolean
})
export interface FileList extends Schema.Schema.Type<typeof FileList> {}

const id = { id: Schema.String }
const page = { limit: opt(queryInteger(1, 10_000)), after: opt(text(0, 200)), order: opt(Schema.Literals(["asc", "desc"])), purpose: opt(text(0, 200)) }
/** Clients that cannot send a header put their key here. */
const key = { token: opt(Schema.String), apiKey: opt(Schema.String), api_key: opt(Schema.String), key: opt(Schema.String) }
const Bytes = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/octet-stream" }))

export const FilesGroup = HttpApiGroup.make("files").add(
  HttpApiEndpoint.post("upload", "/v1/files", { query: key, success: FileObject }).annotate(Access, bearerWrites)
    .annotate(OpenApi.Summary, "Upload a file")
    .annotate(OpenApi.Description, "A form with `file`, `purpose` and, where the file shall expire, `expires_after[anchor]` (created_at) and `expires_after[seconds]` (3600 to 2592000). At most 512 MiB"),
  HttpApiEndpoint.get("list", "/v1/files", { query: { ...page, ...key }, success: FileList }).annotate(Access, bearer)
    .annotate(OpenApi.Summary, "Files of the presented key, newest first unless `order=asc`; an operator sees all"),
  HttpApiEndpoint.get("find", "/v1/files/:id", { params: id, query: key, success: FileObject }).annotate(Access, bearer)
    .annotate(OpenApi.Summary, "One file without its bytes"),
  HttpApiEndpoint.delete("remove", "/v1/files/:id", {
    params: id, query: key, success: Schema.Struct({ id: Schema.String, object: Schema.Literal("file"), deleted: Schema.Literal(true) })
  }).annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Delete a file and its bytes"),
  HttpApiEndpoint.get("content", "/v1/files/:id/content", { params: id, query: key, success: Bytes }).annotate(Access, bearer)
    .annotate(OpenApi.Summary, "The bytes of a file; one range of them with `Range: bytes=first-last`"),
  HttpApiEndpoint.get("listAll", "/api/files", { query: page, success: FileList }).annotate(Access, reads)
    .annotate(OpenApi.Summary, "Files of all keys, newest first unless `order=asc`"),
  HttpApiEndpoint.get("contentOfAny", "/api/files/:id/content", { params: id, success: Bytes }).annotate(Access, reads)
    .annotate(OpenApi.Summary, "The bytes of any key's file; one range of them with `Range: bytes=first-last`")
).annotateMerge(OpenApi.annotations({ title: "Files", description: "Files that clients upload, and that batches write. A key sees its own only." }))
