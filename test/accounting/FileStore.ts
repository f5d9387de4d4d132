/** A usage store in one append-only file that several processes use one after another; the first row of an attempt wins. */
import * as fs from "node:fs"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

export class FileStore {
  readonly rows = new Map<string, LedgerRow>()
  readonly #file: string
  /** Rows that came again although they were there. */
  repeated = 0

  constructor(file: string) {
    this.#file = file
    if (!fs.existsSync(file)) return
    for (const line of fs.readFileSync(file, "utf8").split("\n")) {
      const row = parse(line)
      if (row !== null && !this.rows.has(row.attemptId)) this.rows.set(row.attemptId, row)
    }
  }

  insert(rows: ReadonlyArray<LedgerRow>): number {
    let text = ""
    let fresh = 0
    for (const row of rows) {
      if (this.rows.has(row.attemptId)) {
        this.repeated++
        continue
      }
      this.rows.set(row.attemptId, row)
      text += `\n${JSON.stringify(row)}`
      fresh++
    }
    if (fresh > 0) fs.appendFileSync(this.#file, text)
    return fresh
  }
}

/** A line that a kill cut short was never acknowledged. */
const parse = (line: string): LedgerRow | null => {
  try {
    return JSON.parse(line) as LedgerRow
  } catch {
    return null
  }
}
