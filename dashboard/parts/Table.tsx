import type { ReactNode } from "react"

/** A table in a box that scrolls sideways where it is too wide; the box takes the focus, so that arrow keys scroll it. */
export const Table = ({ children, isStale = false, label }: { readonly label: string; readonly isStale?: boolean; readonly children: ReactNode }) => (
  <div className={`table-box${isStale ? " stale" : ""}`} role="group" aria-label={`${label}, scrolls sideways`} tabIndex={0}>
    <table className="table" aria-label={label}>{children}</table>
  </div>
)
