/** Calls of the ledger as bytes of a download. Pure. */
import type { CallLog } from "#src/features/usage/api.ts"

/** Columns of the CSV. */
const columns = [
  "id", "requestId", "timestamp", "path", "status", "clientStatus", "outcome", "error", "requestedModel", "model", "provider", "account", "connectionId", "comboName",
  "attempt", "apiKeyId", "apiKeyName", "duration", "ttft", "tokensIn", "tokensOut", "tokensCacheRead", "tokensCacheCreation", "tokensReasoning", "estimated", "cost",
  "unpriced", "requestType", "sourceFormat", "targetFormat", "session_tag"
] as const satisfies ReadonlyArray<keyof CallLog>

/** RFC 4180. A text that a spreadsheet would take for a formula begins with an apostrophe. */
const cell = (value: CallLog[typeof columns[number]]): string => {
  if (value === null) return ""
  if (typeof value !== "string") return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe
}

export type Format = "jsonl" | "csv"

export const head = (format: Format): string => format === "csv" ? `${columns.join(",")}\r\n` : ""

export const line = (format: Format, call: CallLog): string =>
  format === "csv" ? `${columns.map((column) => cell(call[column])).join(",")}\r\n` : `${JSON.stringify(call)}\n`

export const contentType = (format: Format): string => format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson"
