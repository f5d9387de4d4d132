/** The rows of a long table: only those on screen are drawn, however many there are. */
import { type ReactNode, useRef } from "react"
import { type Columns, Head } from "./Table.tsx"
import { ROW_PX, RowGap, useRowWindow } from "./rowWindow.tsx"

/** Fewer rows than this cost nothing to draw. */
const FEW = 100

export const Rows = <A,>({ children, head, label, rows }: {
  readonly label: string
  readonly head: Columns
  readonly rows: ReadonlyArray<A>
  /** A row with its `aria-rowindex`, which the caller gives to its `<tr>`. */
  readonly children: (row: A, index: number) => ReactNode
}) => {
  const box = useRef<HTMLDivElement>(null)
  const seen = useRowWindow(box, rows.length)
  const { from, to } = rows.length > FEW ? seen : { from: 0, to: rows.length }
  return (
    <div className="table-box rows-box" role="group" aria-label={`${label}, scrolls`} tabIndex={0} ref={box} style={{ ["--row-height" as string]: `${ROW_PX}px` }}>
      <table className="table" aria-label={label} aria-rowcount={rows.length + 1}>
        <Head index={1} of={head} />
        <tbody>
          <RowGap columns={head.length} rows={from} />
          {rows.slice(from, to).map((row, index) => children(row, from + index))}
          <RowGap columns={head.length} rows={rows.length - to} />
        </tbody>
      </table>
    </div>
  )
}
