/** What a batch's file of errors says, line by line. Pure. */
export interface LineError {
  readonly id: string
  readonly code: string
  readonly message: string
}

type Member = Readonly<Record<string, unknown>>

const isMember = (value: unknown): value is Member => typeof value === "object" && value !== null && !Array.isArray(value)
const within = (value: unknown, name: string): unknown => isMember(value) ? value[name] : undefined
const text = (value: unknown): string => typeof value === "string" || typeof value === "number" ? String(value) : ""

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    // The last line of a beginning may be cut.
    return null
  }
}

export const lineErrors = (content: string): ReadonlyArray<LineError> => content.split("\n").flatMap((line) => {
  const row = parse(line)
  if (!isMember(row)) return []
  const response = row["response"]
  const error = isMember(row["error"]) ? row["error"] : within(within(response, "body"), "error")
  return [{ id: text(row["custom_id"]), code: text(within(error, "code")) || text(within(response, "status_code")), message: text(within(error, "message")) || text(error) }]
})
