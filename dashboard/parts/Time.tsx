import { duration } from "../format/numbers.ts"
import { ago, exact, left } from "../format/time.ts"
import { useNow } from "./now.ts"

/** `12 s ago`, with the exact time on hover. */
export const Ago = ({ at, never = "never" }: { readonly at: string | null | undefined; readonly never?: string }) => {
  const now = useNow()
  if (at === null || at === undefined) return <span className="muted">{never}</span>
  return <time dateTime={at} title={exact(at)} className="nowrap">{ago(at, now)}</time>
}

/** Counts down to a time; says `now` when it is over. */
export const Countdown = ({ until }: { readonly until: string }) => {
  const rest = left(until, useNow())
  return <time dateTime={until} title={exact(until)} className="number nowrap">{rest === 0 ? "now" : duration(Math.ceil(rest / 1_000) * 1_000).replace(/\.\d+ s$/, " s")}</time>
}
