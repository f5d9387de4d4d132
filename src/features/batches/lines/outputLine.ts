/** Lines of the output and error files, as the vendor writes them. Pure. */
import { createHash } from "node:crypto"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import type { BatchUsage } from "#schemas/batches/Batch.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import type { LineResult } from "#src/features/batches/ports/BatchStore.ts"

/** The answer to one line. */
export interface LineAnswer {
  readonly status: number
  readonly requestId: string
  readonly body: Buffer
}

/** Same for every run of a line, so that its rows of the ledger can be found. */
export const requestIdOf = (batchId: string, line: number): string => `batch_req_${createHash("sha256").update(`${batchId}:${line}`).digest("hex").slice(0, 24)}`

/** Line feeds of JSON text stand between its values only. */
const oneLine = (body: Buffer): string => body.toString("utf8").replaceAll(/[\r\n]+/g, " ")

const lineOf = (id: string, customId: string, response: string, error: object | null): string =>
  `{"id":${JSON.stringify(id)},"custom_id":${JSON.stringify(customId)},"response":${response},"error":${JSON.stringify(error)}}`

const responseOf = ({ body, requestId, status }: LineAnswer): string => {
  const isObject = Members.of(body) !== null
  return `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${isObject ? oneLine(body) : JSON.stringify(body.toString("utf8"))}}`
}

const count = (record: Record<string, unknown> | null, ...names: ReadonlyArray<string>): number => {
  for (const name of names) {
    const value = record?.[name]
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value
  }
  return 0
}

/** Tokens of an answer in any format; null where it tells none. */
export const usageOf = (body: Buffer): BatchUsage | null => {
  const said = Members.of(body)?.get("usage")
  if (said === undefined || said.length > LARGE_BYTES) return null
  const usage = Json.parseRecord(said.toString("utf8"))
  if (usage === null) return null
  const input = Json.recordAt(usage, "prompt_tokens_details") ?? Json.recordAt(usage, "input_tokens_details")
  const output = Json.recordAt(usage, "completion_tokens_details") ?? Json.recordAt(usage, "output_tokens_details")
  // In the format of messages what was read from or written to a cache stands beside the input.
  const beside = count(usage, "cache_read_input_tokens")
  return {
    input: count(usage, "prompt_tokens", "input_tokens") + beside + count(usage, "cache_creation_input_tokens"),
    output: count(usage, "completion_tokens", "output_tokens"),
    cached: count(input, "cached_tokens") + beside,
    reasoning: count(output, "reasoning_tokens")
  }
}

export const answered = (batchId: string, line: number, customId: string, answer: LineAnswer): LineResult => {
  const failed = !StatusReason.isOk(answer.status)
  return { line, failed, text: lineOf(requestIdOf(batchId, line), customId, responseOf(answer), null), usage: failed ? null : usageOf(answer.body) }
}

/** A line that has no answer. */
export const unanswered = (batchId: string, line: number, customId: string, code: string, message: string): LineResult => ({
  line, failed: true, usage: null,
  text: lineOf(requestIdOf(batchId, line), customId, "null", { code, message, type: "batch_process_error" })
})
