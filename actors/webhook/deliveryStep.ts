/** What follows an attempt of a delivery: the receiver's answer decides whether it is done, is tried again, or failed. Pure. */
import type { Answered } from "./ports/WebhookSender.ts"
import type { WebhookKind } from "#schemas/records/Webhook.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** Pauses before the second, third and fourth attempt, ms. */
export const BACKOFF_MS: ReadonlyArray<number> = [1_000, 2_000, 4_000]

export type DeliveryStep =
  | { readonly _tag: "Delivered" }
  | { readonly _tag: "Again"; readonly afterMs: number }
  | { readonly _tag: "Failed" }

const delivered: DeliveryStep = { _tag: "Delivered" }
const failed: DeliveryStep = { _tag: "Failed" }

/** What follows the `attempt`-th attempt (from 1): only silence and 5xx are worth another one, and chat tools get none. */
export const after = (kind: WebhookKind, attempt: number, { blocked, error, status }: Answered): DeliveryStep => {
  if (error === null) return delivered
  const afterMs = BACKOFF_MS[attempt - 1]
  return kind === "custom" && afterMs !== undefined && !blocked && (StatusReason.of(status) === "none" || StatusReason.isServers(status)) ? { _tag: "Again", afterMs } : failed
}
