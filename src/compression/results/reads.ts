/**
 * Results of calls that read a file and were made again later: the later result holds the file, so the earlier one is named. The last
 * result of a call always stays. Pure, in linear time.
 */
import { printedBy } from "#src/compression/command.ts"
import type { Called, Piece } from "#src/compression/Piece.ts"
import * as Json from "#src/wire/json/json.ts"

/** Programs that print files. */
const programs: ReadonlySet<string> = new Set(["cat", "bat", "head", "tail", "sed", "nl", "less", "more"])
/** What such tools are called behind the name of their server; others may read on where they stopped. */
const readers = /(?:^|__|[.\-/])(?:read|view|open|cat|get)(?:_?(?:text_?)?(?:file|notebook|document|source)(?:_?contents?)?)?$/i
const namesFile = /path|file|uri|notebook|document/i

/** The arguments name what is read. */
const hasFile = (input: unknown): boolean => {
  const given = typeof input === "string" ? Json.parseRecord(input) : input
  return Json.isRecord(given) && Object.keys(given).some((name) => namesFile.test(name))
}

const markerOf = (length: number): string => `[An earlier content of this file, ${length} characters: a later result of the same call holds it.]`

/** The line prints a file that it names from the root: a shell's folder may be another one later. */
const printsFile = (line: string): boolean => {
  const [program = "", ...operands] = printedBy(line) ?? []
  return programs.has(program) && operands.some((word) => word.startsWith("/"))
}

/** What makes two calls the same; null for a call that reads no file. */
const callOf = ({ called, command, role, tool }: Piece): string | null => {
  if (role !== "tool" || tool === null || called == null) return null
  if (command !== null ? !printsFile(command) : !readers.test(tool) || !hasFile(called.input)) return null
  return `${tool}\n${typeof called.input === "string" ? called.input : JSON.stringify(called.input)}`
}

/** A result of several texts is not compared. */
const several = (pieces: ReadonlyArray<Piece>): ReadonlySet<Called> => {
  const [once, more] = [new Set<Called>(), new Set<Called>()]
  for (const { called } of pieces) {
    if (called == null) continue
    if (once.has(called)) more.add(called)
    else once.add(called)
  }
  return more
}

/** What stands for each result that a later one made old; null = it stays. `mayGo`: an earlier one; `counts`: a later one. */
export const superseded = (pieces: ReadonlyArray<Piece>, mayGo: (place: number) => boolean, counts: (place: number) => boolean): ReadonlyArray<string | null> => {
  const parted = several(pieces)
  /** Characters of the last result that counts. */
  const later = new Map<string, number>()
  const said: Array<string | null> = pieces.map(() => null)
  for (let i = pieces.length - 1; i >= 0; i--) {
    const piece = pieces[i] as Piece
    const call = callOf(piece)
    if (call === null || parted.has(piece.called as Called)) continue
    const length = piece.text.length
    const last = later.get(call)
    if (last === undefined) {
      if (counts(i)) later.set(call, length)
      // A much shorter result says that the file is gone, or as it was.
    } else if (mayGo(i) && last * 2 >= length && markerOf(length).length < length) said[i] = markerOf(length)
  }
  return said
}
