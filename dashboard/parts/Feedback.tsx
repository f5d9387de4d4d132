/** What stands in place of data: nothing yet, nothing at all, or a failure with what to do. */
import type { ReactNode } from "react"
import { Problem } from "../api/call.ts"
import { useSkew } from "../api/clock.ts"
import { Icon, type IconName } from "./Icon.tsx"
import { Copy } from "./Copy.tsx"
import { useNow } from "./now.ts"
import { Ago } from "./Time.tsx"
import { Button } from "./Button.tsx"

export const Empty = ({ action, children, icon, title }: { readonly icon: IconName; readonly title: string; readonly children?: ReactNode; readonly action?: ReactNode }) => (
  <div className="empty">
    <Icon name={icon} size={28} />
    <strong>{title}</strong>
    {children === undefined ? null : <p>{children}</p>}
    {action}
  </div>
)

/** What a person can do about a refusal that has a code of its own. */
const ofCodes: Readonly<Record<string, string>> = {
  LOCAL_ONLY: "Open the dashboard on the gateway's own machine, or through an SSH tunnel to it.",
  AUTH_CSRF: "Open the dashboard under the gateway's own address, or let the proxy pass the Host header on.",
  unreadable: "Load the page again. If that does not help, look at what stands between this browser and the gateway."
}

const advice = (problem: Problem): string | null => {
  const known = ofCodes[problem.code]
  if (known !== undefined) return known
  switch (problem.status) {
    case 0:
      return "The page tries again by itself. Values on the page are the last known ones."
    case 403:
      return "This caller lacks the right that is named above. An operator's session has it."
    case 404:
      return "It may have been deleted meanwhile."
    case 409:
      return "Another operator changed it meanwhile. Load it again and repeat the change."
    case 413:
      return "Send less at once. What was typed is still here. A model request may be larger with the setting maxBodySizeMb."
    case 429:
    case 503:
      return problem.retryAt === null ? "Try again in a moment." : null
    default:
      return problem.status >= 500 ? "The gateway's log has the reason under the request id." : null
  }
}

/** Counts down to the time that the gateway named. */
const Wait = ({ until }: { readonly until: number }) => {
  const rest = Math.ceil((until - useNow()) / 1_000)
  return <p className="small number">{rest > 0 ? `Try again in ${rest} s.` : "It may be tried again now."}</p>
}

/** Nothing, while there is no error. `inPanel`: it stands beside a table, which has no space around it. */
export const Failure = ({ error, inPanel = false, retry, what }: { readonly error: Error | null | undefined; readonly what: string; readonly inPanel?: boolean; readonly retry?: (() => void) | undefined }) => {
  if (error === null || error === undefined) return null
  if (inPanel) return <div className="panel-body"><Failure what={what} error={error} retry={retry} /></div>
  const problem = error instanceof Problem ? error : null
  const hint = problem === null ? null : advice(problem)
  return (
    <div className="failure" role="alert">
      <p><strong>{what}</strong></p>
      <p className="wrap">{error.message}</p>
      {problem?.details.map(({ field, message }) => <p key={`${field}${message}`} className="wrap small"><code>{field}</code>: {message}</p>)}
      {hint === null ? null : <p className="small">{hint}</p>}
      {/* The seconds are read out on demand: a live region would say each. */}
      {problem === null || problem.retryAt === null ? null : <div aria-live="off"><Wait until={problem.retryAt} /></div>}
      <div className="row">
        {retry === undefined ? null : <Button kind="small" onClick={retry}>Try again</Button>}
        {problem?.code === "unreadable" ? <Button kind="small" onClick={() => window.location.reload()}>Load the page again</Button> : null}
        {problem === null || problem.requestId === null ? null : <span className="small">Code <code>{problem.code}</code>, request <Copy value={problem.requestId} /></span>}
      </div>
    </div>
  )
}

interface Read<A> {
  readonly data: A | undefined
  readonly error: Error | null
  readonly isError: boolean
  readonly refetch: () => unknown
  /** When the data came, ms since the epoch by the browser's clock. */
  readonly dataUpdatedAt?: number
}

/** Whether all have data or a failure: what is drawn only then does not move when the last one comes. */
export const isSettled = (...reads: ReadonlyArray<Pick<Read<unknown>, "data" | "error">>): boolean => reads.every(({ data, error }) => data !== undefined || error !== null)

/** How old the values are that stay on the page while an update fails. */
const AsOf = ({ at }: { readonly at: number }) => {
  const skew = useSkew()
  return <p className="small muted">As of <Ago at={new Date(at + skew).toISOString()} />.</p>
}

/** Shows data once there is some; while an update fails, the last data stays, greyed, under the failure. */
export const Loaded = <A,>({ children, read, rows = 4, what }: { readonly read: Read<A>; readonly what: string; readonly rows?: number; readonly children: (data: A) => ReactNode }) => {
  const failure = read.isError && read.error !== null ? <Failure what={`${what} could not be loaded`} error={read.error} retry={() => void read.refetch()} /> : null
  if (read.data === undefined) return failure ?? <Skeleton rows={rows} />
  return failure === null ? children(read.data) : <div className="stack">{failure}{read.dataUpdatedAt === undefined || read.dataUpdatedAt === 0 ? null : <AsOf at={read.dataUpdatedAt} />}<div className="stale">{children(read.data)}</div></div>
}

export const Skeleton = ({ rows }: { readonly rows: number }) => (
  <div className="panel-body" role="group" aria-busy="true" aria-label="Loading">
    {Array.from({ length: rows }, (_, index) => <div key={index} className="skeleton" />)}
  </div>
)
