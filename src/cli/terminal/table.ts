/** Rows as aligned columns for a person; colour only where a terminal shows it. */

export interface Column {
  readonly title: string
  /** Numbers are easier to compare at the right. */
  readonly right?: boolean
}

/** A cell: text, with a colour that says how it is. */
export type Cell = string | { readonly text: string; readonly mood: "good" | "bad" | "dim" }

const codes = { good: 32, bad: 31, dim: 2, title: 1 } as const

/** NO_COLOR (no-color.org) turns colour off, whatever its value; FORCE_COLOR on, for pagers. */
export const isColoured = (environment: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean =>
  (environment["NO_COLOR"] ?? "") === "" && (isTerminal || (environment["FORCE_COLOR"] ?? "") !== "")

const textOf = (cell: Cell): string => typeof cell === "string" ? cell : cell.text

/** What a terminal would obey instead of showing: names come from clients and upstreams. */
const shown = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "?")

/** Columns that a terminal needs for a text: wide letters count two. */
const widthOf = (text: string): number => {
  let width = 0
  for (const letter of text) width += /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation}/u.test(letter) ? 2 : 1
  return width
}

export const render = (columns: ReadonlyArray<Column>, rows: ReadonlyArray<ReadonlyArray<Cell>>, colour: boolean): string => {
  const widths = columns.map(({ title }, index) => Math.max(widthOf(title), ...rows.map((row) => widthOf(shown(textOf(row[index] ?? ""))))))
  const painted = (text: string, code: number): string => colour ? `\u001b[${code}m${text}\u001b[0m` : text
  const line = (cells: ReadonlyArray<Cell>, code: (cell: Cell) => number | null): string =>
    cells.map((cell, index) => {
      const text = shown(textOf(cell))
      const gap = " ".repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)))
      const paint = code(cell)
      const said = paint === null ? text : painted(text, paint)
      return columns[index]?.right === true ? `${gap}${said}` : index === columns.length - 1 ? said : `${said}${gap}`
    }).join("  ").trimEnd()
  return [
    line(columns.map(({ title }) => title), () => codes.title),
    ...rows.map((row) => line(row, (cell) => typeof cell === "string" ? null : codes[cell.mood]))
  ].join("\n")
}
