/** Lines of the output and error files, as the vendor writes them. Pure. */
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import type { BatchUsage } from "#schemas/batches/Batch.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { outputOf } from "#src/wire/chatCompletions/answer.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import type { LineResult } from "#src/features/batches/ports/BatchStore.ts"

/** The answer to one line. */
export interface LineAnswer {
  readonly status: number
  /** As `requestIdOf` makes it. */
  readonly requestId: string
  readonly body: Buffer
}

/** Same for every run of a line, so that its rows of the ledger can be found: 16 digits of the batch's id, and 8 of the line's number. */
export const requestIdOf = (batchId: string, line: number): string => `batch_req_${batchId.slice(6, 22)}${line.toString(16).padStart(8, "0")}`

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Line feeds of JSON text stand between its values only. */
const oneLine = (text: string, body: Buffer): string =>
  body.includes(LINE_FEED) || body.includes(CARRIAGE_RETURN) ? text.replaceAll(/[\r\n]+/g, " ") : text

const lineOf = (id: string, customId: string, response: string, error: object | null): string =>
  `{"id":"${id}","custom_id":${JSON.stringify(customId)},"response":${response},"error":${JSON.stringify(error)}}`

const responseOf = ({ requestId, status }: LineAnswer, body: string): string => `{"status_code":${status},"request_id":"${requestId}","body":${body}}`

const count = (record: Record<string, unknown> | null, ...names: ReadonlyArray<string>): number => {
  for (const name of names) {
    const value = record?.[name]
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value
  }
  return 0
}

/** What an answer says of its tokens; null where it says nothing. */
interface Told {
  readonly isObject: boolean
  readonly usage: Record<string, unknown> | null
}

/** A large answer is searched for its usage, not parsed. */
const toldBy = (body: Buffer, text: string): Told => {
  if (body.length <= LARGE_BYTES) {
    const parsed = Json.parseRecord(text)
    return { isObject: parsed !== null, usage: parsed === null ? null : Json.recordAt(parsed, "usage") }
  }
  const members = Members.of(body)
  const usage = members?.get("usage")
  return { isObject: members !== null, usage: usage === undefined || usage.length > LARGE_BYTES ? null : Json.parseRecord(usage.toString("utf8")) }
}

const usageIn = (usage: Record<string, unknown>): BatchUsage => {
  const input = Json.recordAt(usage, "prompt_tokens_details") ?? Json.recordAt(usage, "input_tokens_details")
  const output = Json.recordAt(usage, "completion_tokens_details") ?? Json.recordAt(usage, "output_tokens_details")
  // In the format of messages what was read from or written to a cache stands beside the input.
  const beside = count(usage, "cache_read_input_tokens")
  const given = count(usage, "prompt_tokens", "input_tokens") + beside + count(usage, "cache_creation_input_tokens")
  const reasoning = count(output, "reasoning_tokens")
  return {
    input: given,
    output: outputOf(given, count(usage, "completion_tokens", "output_tokens"), reasoning, count(usage, "total_tokens")),
    cached: count(input, "cached_tokens") + beside,
    reasoning
  }
}

/** The line of an answer in any format, and its tokens; null where it tells none. */
export const answered = (requestId: string, line: number, customId: string, answer: LineAnswer): LineResult => {
  const { body, status } = answer
  const failed = !StatusReason.isOk(status)
  const text = body.toString("utf8")
  const { isObject, usage } = toldBy(body, text)
  const response = responseOf(answer, isObject ? oneLine(text, body) : JSON.stringify(text))
  return { line, failed, text: lineOf(requestId, customId, response, null), usage: failed || usage === null ? null : usageIn(usage) }
}

/** A line that has no answer. */
export const unanswered = (requestId: string, line: number, customId: string, code: string, message: string): LineResult => ({
  line, failed: true, usage: null,
  text: lineOf(requestId, customId, "null", { code, message, type: "batch_process_error" })
})
