/**
 * The engine `lite`: nothing that a model reads changes its meaning. Blanks at ends of lines and empty lines go, a text that was said
 * before is named instead of said again, and so are the bytes of pictures that stand in prose. Pure, in linear time.
 */
import * as Masking from "./masking.ts"
import type { Piece } from "./Piece.ts"
import { filterOf } from "./rtk/filters.ts"
import * as Validation from "./validation.ts"

/** Characters; a shorter text is said again. */
const shortestRepeated = 400
/** A data URI that is named instead of shown; it stands alone between blanks. */
const longData = /^data:([\w.+-]{1,60}\/[\w.+-]{1,80})(?:;[\w=.-]{1,60}){0,4};base64,([A-Za-z0-9+/=]{1024,})$/
/** Characters of a repeated text that its marker repeats. */
const quoted = 40

const tidyLine = (line: string): string => line.replace(/(?<![ \t])[ \t]+$/, "")

/** Also the blanks between two sentences: only there it is sure that they are no column. */
const tidyProse = (text: string): string => text.replace(/([.!?,;:]) {2,}(?=\S)/g, "$1 ").replace(/\n{3,}/g, "\n\n")

/** Blanks of a text; what must stay keeps its own. */
export const tidied = (text: string): string => {
  const masked = Masking.mask(text, () => false)
  if (masked === null) return text
  const prose = masked.text.split("\n").map(tidyLine).join("\n")
  return Masking.unmask(tidyProse(prose), masked.kept.map((piece) => piece.replace(longData, (_, type: string, data: string) => markerOfData(type, data))))
}

const markerOfData = (type: string, data: string): string => `[${type} data, ${Math.floor(data.length * 3 / 4)} bytes, left out]`

// oxlint-disable-next-line no-control-regex
const terminal = /\u001B\[[0-9;?]{0,30}[ -/]{0,4}[@-~]|\u001B\][^\u0007\u001B]*(?:\u0007|\u001B\\)/g

/** Output of a command without colours, overwritten progress and blanks that are not seen. */
export const tidiedOutput = (text: string): string =>
  text.replace(terminal, "").replace(/\r\n/g, "\n").split("\n").map((line) => tidyLine(line.includes("\r") ? lastShown(line) : line)).join("\n").replace(/\n{3,}/g, "\n\n")

/** What a terminal shows of a line that was written several times. */
const lastShown = (line: string): string => line.split("\r").findLast((part) => part.trim() !== "") ?? ""

const named: Readonly<Record<Piece["role"], string>> = {
  system: "instructions", user: "message of the user", assistant: "message of the assistant", tool: "output of a tool"
}

/** What stands for a text that was said before in the same role. */
const markerOfRepeat = (role: Piece["role"], text: string): string =>
  `[Same as an earlier ${named[role]}, ${text.length} characters, that begins: ${JSON.stringify(text.trimStart().slice(0, quoted).replace(/[\s\p{C}"\\]+/gu, " "))}]`

export interface Said {
  readonly text: string
  readonly technique: "repeated_content" | "whitespace" | "terminal_output" | null
  readonly validation: Validation.Validation
}

const valid: Validation.Validation = { valid: true, errors: [] }
const same = (text: string): Said => ({ text, technique: null, validation: valid })

const checked = (piece: Piece, text: string, technique: Said["technique"]): Said => {
  if (text === piece.text) return same(text)
  const validation = Validation.compare(piece.text, text, false)
  return validation.valid ? { text, technique, validation } : { text: piece.text, technique: null, validation }
}

/** Of every text, in the order in which they are said. `keepsSystem`: instructions are only compared with earlier ones. */
export const compress = (pieces: ReadonlyArray<Piece>, keepsSystem: boolean): ReadonlyArray<Said> => {
  const seen = new Set<string>()
  return pieces.map((piece): Said => {
    const { command, frozen, role, text } = piece
    const output = role !== "tool" || filterOf(command, text) !== null
    // What a client may edit from is said whole, however often.
    if (text.length >= shortestRepeated && output) {
      const key = `${role}\n${text}`
      if (!frozen && seen.has(key)) return { text: markerOfRepeat(role, text), technique: "repeated_content", validation: valid }
      seen.add(key)
    }
    if (frozen || !output || (role === "system" && keepsSystem)) return same(text)
    return role === "tool" ? checked(piece, tidiedOutput(text), "terminal_output") : checked(piece, tidied(text), "whitespace")
  })
}
