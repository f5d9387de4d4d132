/** Examples and errors of batches, in the words of the OpenAI API. */
import type { JsonObject } from "./json.ts"
import * as Overlay from "./overlay.ts"

const errors = Overlay.errorsOf({
  400: "A field or a query parameter cannot be used (`param` names it), or the batch is over and cannot be cancelled.",
  401: "No key came with the call, or it is not valid. Batches are never served without one.",
  403: "The key may not use this endpoint or address, or a browser sent the call from another origin.",
  404: "There is no such batch of this key.",
  409: "The batch is not over, and only those that are can be deleted.",
  500: "Unexpected failure; the log holds the request id.",
  503: "The records cannot be reached; `Retry-After` says when to repeat."
})

const id = "batch_4f2a9c1e7b3d5f60a8c2e4d1"
const input_file_id = "file-9f2c41d07be84c0fa1d35b6e7c8d9e0f"
const batch: JsonObject = {
  id, object: "batch", endpoint: "/v1/chat/completions", model: "sim/echo", errors: null, input_file_id, completion_window: "24h", status: "in_progress",
  output_file_id: null, error_file_id: null, created_at: 1795219200, in_progress_at: 1795219201, expires_at: 1795305600, finalizing_at: null, completed_at: null,
  failed_at: null, expired_at: null, cancelling_at: null, cancelled_at: null, request_counts: { total: 100, completed: 95, failed: 1 },
  usage: { input_tokens: 1900, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1520, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 3420 },
  metadata: { purpose: "nightly" }
}
const cancelling: JsonObject = { ...batch, status: "cancelling", cancelling_at: 1795219260 }
const owned = (one: JsonObject): JsonObject => ({ ...one, api_key_id: "0c6b9f6e-8f0e-4f52-9a37-2f1d3b5c7e90" })
const list = (one: JsonObject): JsonObject => ({ object: "list", data: [one], first_id: id, last_id: id, has_more: false })
const deleted: JsonObject = { id, object: "batch", deleted: true }

export const overlaid = Overlay.over({
  "POST /v1/batches": {
    asked: { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata: { purpose: "nightly" } },
    example: { ...batch, status: "validating", model: null, in_progress_at: null, request_counts: { total: 0, completed: 0, failed: 0 }, usage: null },
    responses: errors(400)
  },
  "GET /v1/batches": { example: list(batch), responses: errors(400) },
  "GET /v1/batches/:id": { example: batch, responses: errors(400, 404) },
  "POST /v1/batches/:id/cancel": { example: cancelling, responses: errors(400, 404) },
  "DELETE /v1/batches/:id": { example: deleted, responses: errors(400, 404, 409) },
  "DELETE /api/v1/batches/delete-completed": { example: { deleted: true, deletedBatches: 3, deletedFiles: 7 }, responses: errors(400) },
  "GET /api/batches": { example: list(owned(batch)), responses: errors(400) },
  "GET /api/batches/:id": { example: owned(batch), responses: errors(400, 404) },
  "POST /api/batches/:id/cancel": { example: owned(cancelling), responses: errors(400, 404) },
  "DELETE /api/batches/:id": { example: deleted, responses: errors(400, 404, 409) }
})
