/** Usage that is on disk and not yet in the database. */
import * as fs from "node:fs"
import * as path from "node:path"
import { messageOf } from "#actors/thrown.ts"
import * as JournalRecord from "#src/platform/accounting/journal/JournalRecord.ts"
import type { RunningGateway } from "#src/cli/RunningGateway.ts"
import { broken, type Finding, note, ok, warning } from "./Finding.ts"

/** Bytes of journal that are read; beyond it only files are counted. */
const readMax = 256 * 1024 * 1024

interface Counts {
  settled: number
  acked: number
  damaged: number
  readonly open: Set<string>
}

/** The file system does not always say which file it means. */
const readFile = (file: string): Uint8Array => {
  try {
    return fs.readFileSync(file)
  } catch (error) {
    throw new Error(`${file} cannot be read: ${messageOf(error)}`)
  }
}

/** Segments of one owner share their ordinals. */
const read = (files: ReadonlyArray<string>): Counts => {
  const counts: Counts = { settled: 0, acked: 0, damaged: 0, open: new Set() }
  for (const file of files) {
    for (const frame of JournalRecord.frames(readFile(file))) {
      if (frame._tag === "Damage") {
        if (!frame.tail) counts.damaged++
        continue
      }
      const { record } = frame
      if (record._tag === "Start") counts.open.add(record.start.attemptId)
      else if (record._tag === "Settle") {
        counts.open.delete(record.row.attemptId)
        counts.settled = Math.max(counts.settled, record.ordinal)
      } else if (record._tag === "Ack") counts.acked = Math.max(counts.acked, record.ordinal)
    }
  }
  return counts
}

export const check = (dataDir: string, running: RunningGateway | null): ReadonlyArray<Finding> => {
  const directory = path.join(dataDir, "journal")
  if (!fs.existsSync(directory)) return [ok("journal", "empty")]
  const names = fs.readdirSync(directory).sort()
  const segments = names.filter((name) => name.endsWith(".log"))
  const bytes = segments.reduce((sum, name) => sum + fs.statSync(path.join(directory, name)).size, 0)
  const aside = names.includes("rejected.jsonl")
    ? [warning("journal", `${path.join(directory, "rejected.jsonl")} holds rows that the database refused`, "Look at them, mend the cause, insert or remove them.")]
    : []
  if (segments.length === 0) return [ok("journal", "empty"), ...aside]
  if (bytes > readMax) {
    return [warning("journal", `${segments.length} files, ${Math.round(bytes / 1024 ** 2)} MiB wait for the database`, "Check that the database takes rows; the journal is replayed at start."), ...aside]
  }
  const owners = new Map<string, Array<string>>()
  for (const name of segments) {
    const owner = name.slice(0, name.lastIndexOf("-"))
    owners.set(owner, [...(owners.get(owner) ?? []), path.join(directory, name)])
  }
  let waiting = 0
  let open = 0
  let damaged = 0
  for (const files of owners.values()) {
    const counts = read(files)
    waiting += Math.max(0, counts.settled - counts.acked)
    open += counts.open.size
    damaged += counts.damaged
  }
  const text = `${waiting} settled rows not yet in the database, ${open} attempts open, ${Math.ceil(bytes / 1024)} KiB`
  if (damaged > 0) return [broken("journal", `${damaged} damaged stretches; ${text}`, "Check the disk. The next start keeps the damaged files aside and replays the rest."), ...aside]
  if (waiting + open === 0) return [ok("journal", "empty"), ...aside]
  return [note("journal", running === null ? `${text}; the next start replays them` : `${text}; process ${running.pid} is at work on them`), ...aside]
}
