/** How an attempt's end looks. */
import type { Answer } from "../../api/contract.ts"
import type { Tone } from "../../parts/Status.tsx"

export type CallLog = Answer<"GET /api/usage/call-logs">[number]

export const toneOf = ({ outcome, status }: Pick<CallLog, "outcome" | "status">): Tone => {
  if (outcome === "completed") return "ok"
  if (status === 499 || outcome.startsWith("client")) return "skip"
  return "bad"
}
