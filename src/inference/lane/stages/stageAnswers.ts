/** Requests that a stage answers by itself: counted and logged like any other, without a wire attempt. */
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"
import type { AdmittedCall } from "./Stages.ts"

export interface StageAnswer {
  readonly cache: "hit" | "off"
  /** The target that had answered; null when it is no longer known. */
  readonly provider: string | null
  readonly model: string | null
  readonly startedAt: number
  readonly now: number
  readonly bytesOut: number
}

/** A success. The request is counted in the same step, because a stage answers at once. */
export const answered = (telemetry: Telemetry["Service"], call: AdmittedCall, own: StageAnswer): void => {
  const { head, requestedModel = head.model } = call
  telemetry.requestStarted(call.endpoint, head.stream)
  telemetry.requestSettled({
    requestId: call.tags.requestId, method: "POST", endpoint: call.endpoint, requestedModel, provider: own.provider, model: own.model,
    apiKeyId: call.key === null ? null : call.key.id, status: 200, clientStatus: 200, outcome: "completed", errorCode: null, stream: head.stream, attempts: 0,
    cache: own.cache, startedAt: own.startedAt, latencyMs: own.now - own.startedAt, ttftMs: own.now - own.startedAt, bytesOut: own.bytesOut
  })
}
