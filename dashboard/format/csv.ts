/** Tables as text for spreadsheets and programs. Pure. */
type Cell = string | number | null

/** A text that a spreadsheet would take for a formula is quoted by an apostrophe, as spreadsheets do. */
const cell = (value: Cell): string => {
  const text = value === null ? "" : typeof value === "number" ? String(value) : /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text
}

/** RFC 4180: exact numbers, one line per row. */
export const csvOf = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string => [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n"
