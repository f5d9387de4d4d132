import { type ReactNode, useLayoutEffect, useRef } from "react"
import { Button } from "./Button.tsx"

/** Words over columns: `>` begins that of a column of numbers, an empty one stands over buttons. */
export type Columns = ReadonlyArray<string>

/** `index`: of the row, where not all rows are drawn. */
export const Head = ({ index, of }: { readonly of: Columns; readonly index?: number }) => (
  <thead>
    <tr aria-rowindex={index}>
      {of.map((word) => {
        const isNumber = word.startsWith(">")
        return <th key={word} scope="col" className={isNumber ? "end" : undefined}>{word === "" ? <span className="hidden-text">Actions</span> : isNumber ? word.slice(1) : word}</th>
      })}
    </tr>
  </thead>
)

/** Writes the word of its column beside each cell: on a phone rows are cards, and the heads are not seen. */
const useWords = () => {
  const ref = useRef<HTMLTableElement>(null)
  useLayoutEffect(() => {
    const [head, ...rows] = ref.current?.rows ?? []
    for (const { cells } of rows) {
      if (cells.length !== head?.cells.length) continue
      for (const cell of cells) {
        const word = head.cells[cell.cellIndex]?.textContent ?? ""
        if (cell.dataset["word"] !== word) cell.dataset["word"] = word
      }
    }
  })
  return ref
}

/** A table in a box that scrolls sideways where it is too wide; the box takes the focus, so that arrow keys scroll it. */
export const Table = ({ children, isStale = false, label }: { readonly label: string; readonly isStale?: boolean; readonly children: ReactNode }) => (
  <div className={`table-box cards${isStale ? " stale" : ""}`} role="group" aria-label={`${label}, scrolls sideways`} tabIndex={0}>
    <table className="table" aria-label={label} ref={useWords()}>{children}</table>
  </div>
)

/** The last cell of a row: what can be done with it. */
export const Actions = ({ children }: { readonly children: ReactNode }) => <td className="actions"><div className="row">{children}</div></td>

/** Turns the pages of a list that is newest first; nothing where one page holds all. */
export const Pager = ({ hasOlder, label, onTurn, page }: {
  /** Of the list. */
  readonly label: string
  /** From 0. */
  readonly page: number
  readonly hasOlder: boolean
  readonly onTurn: (page: number) => void
}) => page === 0 && !hasOlder ? null : (
  <div className="panel-head" role="group" aria-label={`Pages of ${label}`}>
    <Button kind="small" disabled={page === 0} onClick={() => onTurn(page - 1)}>Newer</Button>
    <span className="small muted">Page {page + 1}</span>
    <Button kind="small" disabled={!hasOlder} onClick={() => onTurn(page + 1)}>Older</Button>
  </div>
)

/** A page as an address holds it: 0 is not written. */
export const pageOf = (text: string): number => Math.max(0, Math.floor(Number(text)) || 0)
export const pageText = (page: number): string => page === 0 ? "" : String(page)
