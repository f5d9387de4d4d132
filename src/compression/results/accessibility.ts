/**
 * The engine `mcpAccessibility`: of a browser tool's tree of a page, long runs of nodes of one role keep their beginning and end. Every
 * line that stays is as it was, with its reference. Pure, in linear time.
 */
import type { AccessibilityConfig } from "#schemas/words/Compression.ts"
import * as Masking from "#src/compression/masking.ts"
import type { Piece } from "#src/compression/Piece.ts"

/** Tools that show pages; a file of such a tree comes from other ones. */
const browsers = /browser|playwright|puppeteer|chrome|devtools|snapshot|accessib|a11y/i
/** A node: its indentation and its role. */
const node = /^(\s*)- (?:')?([a-zA-Z][\w-]{0,40})(?=[\s:'"]|$)/
/** Lines that must be nodes, of all that are not empty. */
const share = 0.6
const marker = /^\s*- \[\.{3} \d+ more .+\]$/
const cutMarker = /^\[\.{3} \d+ characters of this tree left out\]$/

const tellsFailure = (line: string): boolean => Masking.isErrorLine(line.replace(/^\s*- /, ""))

interface Line {
  readonly text: string
  /** Characters of its indentation; -1 = no node. */
  readonly depth: number
  readonly role: string
}

const linesOf = (text: string): ReadonlyArray<Line> => text.split("\n").map((line) => {
  const found = line.length > 2_000 ? null : node.exec(line)
  return found === null ? { text: line, depth: -1, role: "" } : { text: line, depth: (found[1] as string).length, role: found[2] as string }
})

export const isTree = ({ command, role, text, tool }: Piece): boolean => {
  if (role !== "tool" || command !== null || tool === null || !browsers.test(tool)) return false
  const lines = linesOf(text).filter((line) => line.text.trim() !== "")
  return lines.filter(({ depth }) => depth >= 0).length >= lines.length * share
}

/** Nodes one below the other with the same parent and role, each with what stands below it, become the first and the last ones. */
const collapsed = (lines: ReadonlyArray<Line>, { collapseKeepHead, collapseKeepTail, collapseThreshold }: AccessibilityConfig): ReadonlyArray<string> => {
  /** Runs by depth: where each of their nodes begins. */
  const open = new Map<number, { readonly role: string; readonly starts: Array<number> }>()
  const gone = new Map<number, { readonly to: number; readonly said: string }>()
  const close = (depth: number, end: number): void => {
    const run = open.get(depth)
    open.delete(depth)
    if (run === undefined || run.starts.length < collapseThreshold || run.starts.length <= collapseKeepHead + collapseKeepTail) return
    const from = run.starts[collapseKeepHead] as number
    const to = collapseKeepTail === 0 ? end : run.starts[run.starts.length - collapseKeepTail] as number
    const errors = lines.slice(from, to).some(({ text }) => tellsFailure(text))
    const said = `${" ".repeat(depth)}- [... ${run.starts.length - collapseKeepHead - collapseKeepTail} more ${run.role} nodes left out]`
    if (!errors && lengthOf(lines, from, to) > said.length) gone.set(from, { to, said })
  }
  const closeBelow = (depth: number, end: number): void => {
    for (const one of open.keys()) if (one > depth) close(one, end)
  }
  lines.forEach(({ depth, role, text }, i) => {
    if (depth === -1) {
      // Text of a node goes with it; a line of its own ends all runs.
      if (!/^\s/.test(text) && text.trim() !== "") closeBelow(-1, i)
      return
    }
    closeBelow(depth, i)
    const run = open.get(depth)
    if (run !== undefined && run.role === role && !marker.test(text)) run.starts.push(i)
    else {
      close(depth, i)
      open.set(depth, { role, starts: [i] })
    }
  })
  closeBelow(-1, lines.length)
  const out: Array<string> = []
  for (let i = 0; i < lines.length; i++) {
    const cut = gone.get(i)
    if (cut === undefined) out.push((lines[i] as Line).text)
    else {
      out.push(cut.said)
      i = cut.to - 1
    }
  }
  return out
}

const lengthOf = (lines: ReadonlyArray<Line>, from: number, to: number): number => {
  let length = -1
  for (let i = from; i < to; i++) length += (lines[i] as Line).text.length + 1
  return length
}

/** Whole lines up to a length, then how much is missing. */
const cut = (lines: ReadonlyArray<string>, most: number): string => {
  const whole = lines.join("\n")
  if (whole.length <= most || cutMarker.test(lines.at(-1) ?? "")) return whole
  let used = 0
  const kept = lines.slice(0, Math.max(1, lines.findIndex((line) => (used += line.length + 1) > most)))
  if (lines.slice(kept.length).some(tellsFailure)) return whole
  const missing = whole.length - kept.join("\n").length
  const said = `[... ${missing} characters of this tree left out]`
  return missing <= said.length + 1 ? whole : [...kept, said].join("\n")
}

/** The text of a tree. */
export const compress = (text: string, config: AccessibilityConfig): string =>
  text.length < config.minLengthToProcess ? text : cut(collapsed(linesOf(text), config), config.maxTextChars)
