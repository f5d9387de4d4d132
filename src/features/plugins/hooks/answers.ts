/** What a hook says of a request or an answer. Its sandbox is not trusted: only what has one of these forms counts. Pure. */
import * as StatusReason from "#schemas/statusReason.ts"
import type { RequestHook } from "#src/features/plugins/ports/Plugin.ts"
import type { Outcome } from "#src/platform/sandbox/SandboxProcess.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import * as Json from "#src/wire/json/json.ts"

export type Said =
  | { readonly _tag: "Passed" }
  | { readonly _tag: "Changed"; readonly body: Readonly<Record<string, unknown>> }
  /** `status`: from 400 to 499. */
  | { readonly _tag: "Refused"; readonly status: number; readonly message: string }
  | { readonly _tag: "Failed"; readonly reason: string }

/** Characters of a refusal's message. */
const MESSAGE_MAX = 1_000
const REFUSED = 403

export const passed: Said = { _tag: "Passed" }
export const failed = (reason: string): Said => ({ _tag: "Failed", reason: reason.slice(0, MESSAGE_MAX) })

const refusalOf = (given: unknown): Said => {
  if (!Json.isRecord(given)) return failed("refuse is no object")
  const { message, status = REFUSED } = given
  if (typeof message !== "string" || message === "") return failed("refuse.message is no text")
  if (typeof status !== "number" || !Number.isInteger(status) || !StatusReason.isRefusal(status)) return failed("refuse.status is no status from 400 to 499")
  return { _tag: "Refused", status, message: message.slice(0, MESSAGE_MAX) }
}

export const read = (hook: RequestHook, outcome: Outcome, timeoutMs: number): Said => {
  if (outcome._tag === "TimedOut") return failed(`it did not answer within ${timeoutMs} ms`)
  if (outcome._tag === "Failed") return failed(outcome.message)
  // Before it is parsed: its depth and size.
  if (JsonBounds.scan(Buffer.from(outcome.json)) !== null) return failed("what it answered is too large")
  let value: unknown
  try {
    value = JSON.parse(outcome.json)
  } catch {
    return failed("what it answered is no JSON")
  }
  if (value === null) return passed
  if (!Json.isRecord(value)) return failed("what it answered is no object")
  const names = Object.keys(value)
  if (names.length === 0) return passed
  if (names.length > 1) return failed(`it answered more than one of body and refuse: ${names.slice(0, 5).join(", ").slice(0, 100)}`)
  if (names[0] === "refuse" && hook === "onRequest") return refusalOf(value["refuse"])
  if (names[0] !== "body") return failed(`it answered ${JSON.stringify(names[0]).slice(0, 100)}, which means nothing`)
  return Json.isRecord(value["body"]) ? { _tag: "Changed", body: value["body"] } : failed("body is no object")
}
