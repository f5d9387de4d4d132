/** What the guardrails found, in metrics and the log; never the text that they found it in. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { Fork } from "#src/inference/lane/stages/Stages.ts"
import type { Report } from "./Reading.ts"

/** Which texts were read. */
export type Direction = "request" | "answer"

const outcomeOf = ({ detections, error, mode }: Report): string =>
  error !== null ? "failed" : mode === "redact" ? "modified" : detections > 0 ? "blocked" : "warned"

const counter = (guardrail: string, direction: Direction, outcome: string) => Metric.counter("gateway_guardrails_total", {
  description: "Requests and answers in which a guardrail found something, or failed.", attributes: { guardrail, direction, outcome }, incremental: true
})

export const make = Effect.fnUntraced(function*(fork: Fork) {
  const context = yield* Effect.context<never>()
  /** Counts and logs what each guardrail of one request or answer did; a guardrail that found nothing is not mentioned. */
  return (reports: ReadonlyArray<Report>, direction: Direction, requestId: string): void => {
    for (const report of reports) {
      const types = Object.keys(report.found)
      if (types.length === 0 && report.error === null) continue
      const outcome = outcomeOf(report)
      counter(report.name, direction, outcome).updateUnsafe(1, context)
      if (outcome === "modified") continue
      const what = report.error === null ? `found ${types.map((type) => `${type} (${report.found[type]})`).join(", ")}` : `failed: ${report.error}`
      const then = outcome === "blocked" ? `; the ${direction} was blocked`
        : outcome === "failed" ? report.mode === "warn" ? `; the ${direction} passed unread` : `; the ${direction} was refused`
        : ""
      fork(Effect.logWarning(`guardrail ${report.name} ${what} in the ${direction} of ${requestId}${then}`))
    }
  }
})

export type Note = Effect.Success<ReturnType<typeof make>>
