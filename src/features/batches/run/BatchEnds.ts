/** Tells webhooks of batches that are over: what was not told when its process died is told by the next runner. */
import * as Effect from "effect/Effect"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import type { QueuedEvent } from "#actors/webhook/ports/WebhookQueue.ts"
import * as Payloads from "#actors/webhook/payloads.ts"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"

/** Batches that are told at once. */
const AT_ONCE = 100

/** When and how it ended; null: it has not. */
const endOf = ({ state }: BatchRecord) => {
  switch (state.status) {
    case "completed":
      return { type: "batch.completed", at: state.completedAt } as const
    case "failed":
      return { type: "batch.failed", at: state.failedAt } as const
    case "expired":
      return { type: "batch.expired", at: state.expiredAt } as const
    case "cancelled":
      return { type: "batch.cancelled", at: state.cancelledAt } as const
    case "validating":
    case "in_progress":
    case "finalizing":
    case "cancelling":
      return null
  }
}

/** A batch ends once: every copy of its event has the same id. */
const eventOf = (record: BatchRecord): QueuedEvent | null => {
  const end = endOf(record)
  if (end === null) return null
  const { endpoint, id, inputFileId, model, ownerKeyId, state } = record
  return Payloads.queued({
    type: end.type,
    at: end.at ?? state.createdAt,
    data: {
      id, api_key_id: ownerKeyId ?? "", endpoint, model: model ?? "", requests_total: state.total, requests_completed: state.completed, requests_failed: state.failed,
      input_file_id: inputFileId, output_file_id: state.outputFileId, error_file_id: state.errorFileId, error_message: state.problems[0]?.message ?? null
    }
  }, `evt_${id}`)
}

export const make = Effect.gen(function*() {
  const store = yield* BatchStore
  const webhooks = yield* Webhooks
  return Effect.gen(function*() {
    for (;;) {
      const untold = yield* store.untold(AT_ONCE)
      yield* webhooks.append(untold.map(eventOf).filter((event) => event !== null))
      yield* store.told(untold.map(({ id }) => id))
      if (untold.length < AT_ONCE) return
    }
  })
})
