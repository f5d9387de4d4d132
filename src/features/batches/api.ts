/** Batches over HTTP: the vendor's shape for clients, and all of them for operators. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, bearer, bearerWrites, reads, writes } from "#schemas/api/Access.ts"
import { queryInteger, text } from "#schemas/api/fields.ts"
import { BatchStatus } from "#schemas/batches/Batch.ts"

const opt = Schema.optionalKey
const seconds = Schema.NullOr(Schema.Int)
const id = { id: Schema.String }

const BatchError = Schema.Struct({ code: Schema.String, message: Schema.String, line: Schema.NullOr(Schema.Int), param: Schema.NullOr(Schema.String) })

const fields = {
  id: Schema.String,
  object: Schema.Literal("batch"),
  endpoint: Schema.String,
  model: Schema.NullOr(Schema.String),
  errors: Schema.NullOr(Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(BatchError) }).annotate({ identifier: "BatchErrors" })),
  input_file_id: Schema.String,
  completion_window: Schema.String,
  status: BatchStatus,
  output_file_id: Schema.NullOr(Schema.String),
  error_file_id: Schema.NullOr(Schema.String),
  created_at: Schema.Int,
  in_progress_at: seconds,
  expires_at: seconds,
  finalizing_at: seconds,
  completed_at: seconds,
  failed_at: seconds,
  expired_at: seconds,
  cancelling_at: seconds,
  cancelled_at: seconds,
  request_counts: Schema.Struct({ total: Schema.Int, completed: Schema.Int, failed: Schema.Int }).annotate({ identifier: "BatchCounts" }),
  usage: Schema.NullOr(Schema.Struct({
    input_tokens: Schema.Int,
    input_tokens_details: Schema.Struct({ cached_tokens: Schema.Int }),
    output_tokens: Schema.Int,
    output_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Int }),
    total_tokens: Schema.Int
  }).annotate({ identifier: "BatchUsage" })),
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.String))
}

/** A batch as the vendor's clients know it; times are seconds since the epoch. */
export const BatchView = Schema.Struct(fields).annotate({ identifier: "Batch" })
export interface BatchView extends Schema.Schema.Type<typeof BatchView> {}

/** The same with the key that it runs as. */
export const OwnedBatchView = Schema.Struct({ ...fields, api_key_id: Schema.NullOr(Schema.String) }).annotate({ identifier: "OwnedBatch" })
export interface OwnedBatchView extends Schema.Schema.Type<typeof OwnedBatchView> {}

const pageOf = <S extends Schema.Top>(one: S) => Schema.Struct({
  object: Schema.Literal("list"), data: Schema.Array(one), first_id: Schema.NullOr(Schema.String), last_id: Schema.NullOr(Schema.String), has_more: Schema.Boolean
})

/** Its bounds are rules with words of their own. */
export const NewBatch = Schema.Struct({
  input_file_id: Schema.String,
  /** Every line names it as its url. */
  endpoint: Schema.String,
  /** `24h`. */
  completion_window: Schema.String,
  /** At most 16 members. */
  metadata: opt(Schema.NullOr(Schema.Record(Schema.String, Schema.String))),
  /** How long the files of answers are kept: anchor `created_at`, from 3600 to 2592000 seconds. */
  output_expires_after: opt(Schema.NullOr(Schema.Struct({ anchor: Schema.String, seconds: Schema.Int })))
})
export interface NewBatch extends Schema.Schema.Type<typeof NewBatch> {}

const page = { limit: opt(queryInteger(1, 100)), after: opt(text(0, 200)) }
/** Clients that cannot send a header put their key here. */
const key = { token: opt(Schema.String), apiKey: opt(Schema.String), api_key: opt(Schema.String), key: opt(Schema.String) }

const Deleted = Schema.Struct({ id: Schema.String, object: Schema.Literal("batch"), deleted: Schema.Literal(true) })

export const BatchesGroup = HttpApiGroup.make("batches").add(
  HttpApiEndpoint.post("create", "/v1/batches", { query: key, payload: NewBatch, success: BatchView })
    .annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Run the requests of an uploaded file in the background"),
  HttpApiEndpoint.get("list", "/v1/batches", { query: { ...page, ...key }, success: pageOf(BatchView) })
    .annotate(Access, bearer).annotate(OpenApi.Summary, "The caller's batches, newest first"),
  HttpApiEndpoint.get("get", "/v1/batches/:id", { params: id, query: key, success: BatchView })
    .annotate(Access, bearer).annotate(OpenApi.Summary, "One batch with its progress"),
  HttpApiEndpoint.post("cancel", "/v1/batches/:id/cancel", { params: id, query: key, success: BatchView })
    .annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Stop a batch; answers that it has are written to its files"),
  HttpApiEndpoint.delete("remove", "/v1/batches/:id", { params: id, query: key, success: Deleted })
    .annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Delete a batch that is over; its files stay"),
  HttpApiEndpoint.delete("removeCompleted", "/api/v1/batches/delete-completed", {
    query: key,
    success: Schema.Struct({ deleted: Schema.Literal(true), deletedBatches: Schema.Int, deletedFiles: Schema.Int })
  }).annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Delete the caller's completed batches with their files"),
  HttpApiEndpoint.get("listAll", "/api/batches", { query: page, success: pageOf(OwnedBatchView) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "All batches with their keys, newest first"),
  HttpApiEndpoint.get("getAny", "/api/batches/:id", { params: id, success: OwnedBatchView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One batch of any key"),
  HttpApiEndpoint.post("cancelAny", "/api/batches/:id/cancel", { params: id, success: OwnedBatchView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Stop a batch of any key"),
  HttpApiEndpoint.delete("removeAny", "/api/batches/:id", { params: id, success: Deleted })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a batch of any key that is over")
).annotateMerge(OpenApi.annotations({ title: "Batches", description: "Many requests in one file, run in the background under the rules of the key that made the batch." }))
