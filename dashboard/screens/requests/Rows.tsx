/** A long list of calls, of which only what is on screen is drawn. */
import { Link, type LinkProps } from "@tanstack/react-router"
import { memo, type ReactNode, type RefObject, useEffect } from "react"
import { count, duration, money, tokens } from "../../format/numbers.ts"
import { clock, exact } from "../../format/time.ts"
import { ROW_PX, RowGap, useRowWindow } from "../../parts/rowWindow.tsx"
import { Status } from "../../parts/Status.tsx"
import { toneOf } from "./outcome.ts"
import type { CallRow } from "./rows.ts"

const COLUMNS = 9
/** Rows before the end at which the next page is asked for. */
const AHEAD = 60

type Search = LinkProps<"a">["search"]

const Row = memo(({ index, isOpen, now, row, searchOf }: { readonly row: CallRow; readonly index: number; readonly now: number; readonly isOpen: boolean; readonly searchOf: (id: string) => Search }) => {
  const iso = new Date(row.at).toISOString()
  return (
    <tr aria-rowindex={index + 2} className={isOpen ? "current" : undefined} data-call={row.id}>
      <td className="nowrap number">
        {isOpen ? <Link className="row-link" aria-current="true" to="/requests/$id" params={{ id: row.requestId }} title={exact(iso)}>{clock(iso, now)}</Link>
          : <Link className="row-link" to="/requests" search={searchOf(row.id) as never} title={exact(iso)}>{clock(iso, now)}</Link>}
      </td>
      <td><Status tone={toneOf(row)} word={String(row.status)} title={row.error ?? row.outcome} /></td>
      <td className="cut" title={row.requestedModel}>{row.requestedModel}</td>
      <td className="cut" title={`${row.provider}/${row.model}`}>{row.provider}{row.attempt > 1 ? <> <span className="tag" title="Which attempt of its request this is">attempt {row.attempt}</span></> : null}</td>
      <td className="cut" title={row.key ?? undefined}>{row.key ?? <span className="muted">–</span>}</td>
      <td className="end">{duration(row.ttft)}</td>
      <td className="end">{duration(row.duration)}</td>
      <td className="end" title={`${count(row.tokensIn)} in, ${count(row.tokensOut)} out`}>{tokens(row.tokensIn)} / {tokens(row.tokensOut)}</td>
      <td className="end">{row.estimated ? "≈ " : ""}{money(row.cost)}</td>
    </tr>
  )
})
Row.displayName = "Row"

/** Scrolls so that a row is on screen. */
export const bringIntoView = (box: HTMLElement, index: number): void => {
  const head = box.querySelector("thead")?.clientHeight ?? 0
  const top = index * ROW_PX
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + ROW_PX + head > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_PX + head - box.clientHeight
}

export const Rows = ({ box, children, isStale, more, now, open, rows, searchOf }: {
  readonly rows: ReadonlyArray<CallRow>
  readonly box: RefObject<HTMLDivElement | null>
  readonly open: string | undefined
  readonly now: number
  readonly isStale: boolean
  readonly more: () => void
  readonly searchOf: (id: string) => Search
  readonly children: ReactNode
}) => {
  const { from, to } = useRowWindow(box, rows.length)
  useEffect(() => {
    if (to + AHEAD >= rows.length) more()
  }, [to, rows.length, more])
  return (
    <div ref={box} className={`rows${isStale ? " stale" : ""}`} role="group" aria-label="Requests, scrolls" tabIndex={0}>
      {children}
      <table className="table" aria-label="Requests" aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Time</th><th scope="col">Status</th><th scope="col">Asked for</th><th scope="col">Provider</th><th scope="col">Key</th>
            <th scope="col" className="end">First token</th><th scope="col" className="end">Whole</th><th scope="col" className="end">Tokens in / out</th><th scope="col" className="end">Cost</th>
          </tr>
        </thead>
        <tbody>
          <RowGap columns={COLUMNS} rows={from} />
          {rows.slice(from, to).map((row, index) => <Row key={row.id} row={row} index={from + index} now={now} isOpen={row.id === open} searchOf={searchOf} />)}
          <RowGap columns={COLUMNS} rows={rows.length - to} />
        </tbody>
      </table>
    </div>
  )
}
