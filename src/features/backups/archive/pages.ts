/**
 * The lines of an archive: `{"table","columns"}` begins a table, each row of it is an array of texts, and `{"rows"}` with the number of
 * rows by table is the last line.
 */
import type { Page } from "#src/features/backups/BackupRecords.ts"
import { broken } from "./ArchiveError.ts"

/** Rows that are put together into a page: sealing and opening their values holds the loop for a few milliseconds. */
export const PAGE_ROWS = 100

export type Counts = Readonly<Record<string, number>>

/** Writes pages as lines, and counts. */
export class PageWriter {
  #table: string | null = null
  readonly counts: Record<string, number> = {}

  lines({ columns, rows, table }: Page): string {
    const head = this.#table === table ? "" : `${JSON.stringify({ table, columns })}\n`
    this.#table = table
    this.counts[table] = (this.counts[table] ?? 0) + rows.length
    return head + rows.map((row) => `${JSON.stringify(row)}\n`).join("")
  }

  end(): string {
    return `${JSON.stringify({ rows: this.counts })}\n`
  }
}

const isName = (value: unknown): value is string => typeof value === "string" && /^[a-z_][a-z0-9_]{0,62}$/.test(value)
const isText = (value: unknown): value is string | null => value === null || typeof value === "string"

/** Reads pages of lines and checks them against the counts at the end; throws ArchiveError. A table without rows has one empty page. */
export async function* pagesOf(batches: AsyncIterable<ReadonlyArray<string>>): AsyncGenerator<Page> {
  const counts = new Map<string, number>()
  let table: { readonly name: string; readonly columns: ReadonlyArray<string> } | null = null
  let rows: Array<ReadonlyArray<string | null>> = []
  let isOver = false
  let number = 0
  const page = (): Page | null => {
    if (table === null || (rows.length === 0 && counts.get(table.name) !== 0)) return null
    const made = { table: table.name, columns: table.columns, rows }
    rows = []
    return made
  }
  for await (const lines of batches) {
    for (const line of lines) {
      number++
      if (isOver) throw broken("lines follow its end")
      let value: unknown
      try {
        value = JSON.parse(line)
      } catch {
        throw broken(`its line ${number} is no JSON`)
      }
      if (Array.isArray(value)) {
        if (table === null || value.length !== table.columns.length || !value.every(isText)) throw broken(`the row in its line ${number} does not fit its table`)
        counts.set(table.name, (counts.get(table.name) ?? 0) + 1)
        if (rows.push(value) < PAGE_ROWS) continue
        const full = page()
        if (full !== null) yield full
        continue
      }
      const last = page()
      if (last !== null) yield last
      const members = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>
      const { columns, rows: said, table: name } = members
      if (isName(name) && Array.isArray(columns) && columns.every(isName) && new Set(columns).size === columns.length && !counts.has(name)) {
        table = { name, columns }
        counts.set(name, 0)
      } else if (typeof said === "object" && said !== null) {
        isOver = true
        const found = Object.entries(said)
        if (found.length !== counts.size || found.some(([of, count]) => counts.get(of) !== count)) throw broken("it does not have as many rows as it says")
      } else throw broken(`its line ${number} is neither a table nor a row`)
    }
  }
  if (!isOver) throw broken("its last line is missing")
}
