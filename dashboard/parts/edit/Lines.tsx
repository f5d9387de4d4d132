/** Lines of short fields: each is changed in place, taken away, and a new one is added at the end. */
import { Icon } from "../Icon.tsx"
import type { Choice } from "../Field.tsx"
import { Button } from "../Button.tsx"

export interface Column {
  readonly word: string
  readonly placeholder?: string
  /** Id of a datalist with proposals. */
  readonly list?: string
  /** A selection in place of a text. */
  readonly choices?: ReadonlyArray<Choice>
}

/** Texts by column. */
export type Line = ReadonlyArray<string>

/** `one`: what a line is, such as `model`. */
export const Lines = ({ columns, label, lines, one, onLines, wrong }: {
  readonly label: string
  readonly one: string
  readonly columns: ReadonlyArray<Column>
  readonly lines: ReadonlyArray<Line>
  readonly onLines: (lines: ReadonlyArray<Line>) => void
  readonly wrong?: string | undefined
}) => {
  const put = (row: number, at: number, text: string): void => onLines(lines.map((line, index) => index === row ? columns.map((_, column) => column === at ? text : line[column] ?? "") : line))
  return (
    <fieldset className="field lines">
      <legend className="label">{label}</legend>
      {lines.length === 0 ? null : (
        <table className="table" aria-label={label}>
          <thead><tr>{columns.map(({ word }) => <th key={word} scope="col">{word}</th>)}<th scope="col"><span className="hidden-text">Actions</span></th></tr></thead>
          <tbody>
            {lines.map((line, row) => (
              // oxlint-disable-next-line react/no-array-index-key -- a line has no name but its place
              <tr key={row}>
                {columns.map(({ choices, list, placeholder, word }, at) => (
                  <td key={word}>
                    {choices === undefined
                      ? <input className="input" aria-label={`${word}, ${one} ${row + 1}`} value={line[at] ?? ""} placeholder={placeholder} list={list} autoComplete="off" spellCheck={false} onChange={(event) => put(row, at, event.currentTarget.value)} />
                      : <select className="select" aria-label={`${word}, ${one} ${row + 1}`} value={line[at] ?? ""} onChange={(event) => put(row, at, event.currentTarget.value)}>{choices.map(({ value, word: choice }) => <option key={value} value={value}>{choice}</option>)}</select>}
                  </td>
                ))}
                <td className="actions"><Button kind="small quiet icon" onClick={() => onLines(lines.filter((_, index) => index !== row))} aria-label={`Take away ${one} ${row + 1}`} title="Take away"><Icon name="close" size={16} /></Button></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className="row"><Button kind="small" onClick={() => onLines([...lines, columns.map(({ choices }) => choices?.[0]?.value ?? "")])}>Add a {one}</Button></div>
      {wrong === undefined ? null : <p className="wrong">{wrong}</p>}
    </fieldset>
  )
}
