/** What a client is told of a request or an answer that a guardrail lets not pass. Pure. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Direction } from "./Notes.ts"
import type { Report } from "./Reading.ts"

const types = { "prompt-injection": "injection_detected", "pii-masker": "pii_detected", "credential-masker": "credential_detected" } as const

export const of = ({ detections, error, found, name }: Report, direction: Direction): PublicError => {
  const what = direction === "request" ? "request" : "model's answer"
  if (error !== null) return Errors.make("internal_server_error", `The guardrail '${name}' failed, and the ${what} must not pass unread; the log holds the error.`)
  return new PublicError("SECURITY_001", 400, types[name], `The guardrail '${name}' blocked the ${what}: it found ${Object.keys(found).join(", ")}.`, null, { detections })
}
