/** Which rows of a long list are on screen: only those are drawn, with empty space for the others. Each row is one line of the same height. */
import { type RefObject, useEffect, useState } from "react"

export const ROW_PX = 36
/** Rows above and below what is on screen, so that a quick turn of the wheel shows no gap. */
const AROUND = 12
/** Of the box before it is drawn. */
const FIRST_PX = 800

/** Indexes [from, to). */
export interface RowWindow {
  readonly from: number
  readonly to: number
}

/** Pure; `top` and `height` in pixels. */
export const windowOf = (top: number, height: number, count: number): RowWindow => ({
  from: Math.max(0, Math.min(count, Math.floor(top / ROW_PX)) - AROUND),
  to: Math.min(count, Math.ceil((top + height) / ROW_PX) + AROUND)
})

/** Follows the scrolling of `box`. */
export const useRowWindow = (box: RefObject<HTMLElement | null>, count: number): RowWindow => {
  const [view, setView] = useState({ top: 0, height: FIRST_PX })
  useEffect(() => {
    const element = box.current
    if (element === null) return
    // One drawing for a row of scrolling, not one for each pixel.
    const look = (): void => setView((before) => {
      const top = Math.floor(element.scrollTop / ROW_PX) * ROW_PX
      return before.top === top && before.height === element.clientHeight ? before : { top, height: element.clientHeight }
    })
    look()
    element.addEventListener("scroll", look, { passive: true })
    window.addEventListener("resize", look)
    return () => {
      element.removeEventListener("scroll", look)
      window.removeEventListener("resize", look)
    }
  }, [box])
  return windowOf(view.top, view.height, count)
}

/** The space of rows that are not drawn. */
export const RowGap = ({ columns, rows }: { readonly columns: number; readonly rows: number }) =>
  rows <= 0 ? null : <tr className="filler" aria-hidden="true"><td colSpan={columns} style={{ height: `${rows * ROW_PX}px` }}>{"\u00a0"}</td></tr>
