/** What a probe makes of the standing of a model. Pure. */
import type { Assessment, ProbeOutcome } from "./Assessment.ts"

/** Failures in a row that break a model, and passes in a row that restore it. */
const breaksAfter = 3
const restoresAfter = 2

export type Standing = Pick<Assessment, "status" | "passes" | "failures">

export const unknown: Standing = { status: "unknown", passes: 0, failures: 0 }

export const step = ({ failures, passes, status }: Standing, outcome: ProbeOutcome): Standing => {
  switch (outcome) {
    // The model was not asked: that says nothing of it.
    case "rate_limited":
      return { status, passes, failures }
    case "passed":
      return { status: status === "broken" && passes + 1 < restoresAfter ? "broken" : "working", passes: passes + 1, failures: 0 }
    case "failed":
      return { status: status === "broken" || failures + 1 >= breaksAfter ? "broken" : "failing", passes: 0, failures: failures + 1 }
  }
}
