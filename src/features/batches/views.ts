/** A batch as its readers see it. Pure. */
import * as Batch from "#actors/batch/Batch.ts"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import type { BatchView, OwnedBatchView } from "./api.ts"

const seconds = (ms: number | null): number | null => ms === null ? null : Math.floor(ms / 1000)

export const viewOf = ({ completionWindow, endpoint, id, inputFileId, metadata, model, state, usage }: BatchRecord): BatchView => ({
  id, object: "batch", endpoint, model,
  errors: state.problems.length === 0 ? null : { object: "list", data: state.problems },
  input_file_id: inputFileId, completion_window: completionWindow, status: state.status,
  output_file_id: state.outputFileId, error_file_id: state.errorFileId,
  created_at: Math.floor(state.createdAt / 1000), in_progress_at: seconds(state.inProgressAt), expires_at: seconds(state.expiresAt),
  finalizing_at: seconds(state.finalizingAt), completed_at: seconds(state.completedAt), failed_at: seconds(state.failedAt),
  expired_at: seconds(state.expiredAt), cancelling_at: seconds(state.cancellingAt), cancelled_at: seconds(state.cancelledAt),
  request_counts: { total: state.total, completed: state.completed, failed: state.failed },
  usage: state.completed === 0 && !Batch.isOver(state) ? null : {
    input_tokens: usage.input, input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output, output_tokens_details: { reasoning_tokens: usage.reasoning }, total_tokens: usage.input + usage.output
  },
  metadata
})

export const ownedViewOf = (record: BatchRecord): OwnedBatchView => ({ ...viewOf(record), api_key_id: record.ownerKeyId })

export const pageOf = <View extends { readonly id: string }>(views: ReadonlyArray<View>, limit: number) => {
  const data = views.slice(0, limit)
  return { object: "list" as const, data, first_id: data[0]?.id ?? null, last_id: data[data.length - 1]?.id ?? null, has_more: views.length > limit }
}
