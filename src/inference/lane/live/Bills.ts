/** What requests of the gateway to itself cost, however they end: told once, when a request is over. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"

/** Requests that are waited for; one that never ends must not fill it. */
const mostOpen = 10_000

interface Bill {
  costUsd: number
  readonly told: (costUsd: number) => void
}

export class Bills extends Context.Service<Bills, {
  /** `told` is called when the request of this id is over, with the cost of all its calls in USD. */
  readonly watch: (requestId: string, told: Bill["told"]) => void
  /** The same telemetry, which notes the costs of watched requests. */
  readonly noting: (telemetry: Telemetry["Service"]) => Telemetry["Service"]
}>()("gateway/lane/Bills") {}

export const layer = Layer.sync(Bills, () => {
  const open = new Map<string, Bill>()
  return {
    watch: (requestId, told) => {
      if (open.size >= mostOpen) open.delete(open.keys().next().value as string)
      open.set(requestId, { costUsd: 0, told })
    },
    noting: (telemetry) => ({
      ...telemetry,
      attemptSettled: (row) => {
        telemetry.attemptSettled(row)
        const bill = open.size === 0 ? undefined : open.get(row.requestId)
        if (bill !== undefined) bill.costUsd += row.costUsd
      },
      requestSettled: (summary) => {
        telemetry.requestSettled(summary)
        const bill = open.size === 0 ? undefined : open.get(summary.requestId)
        if (bill === undefined) return
        open.delete(summary.requestId)
        bill.told(bill.costUsd)
      }
    })
  }
})
