/** What stands in place of data: nothing yet, nothing at all, or a failure with what to do. */
import type { ReactNode } from "react"
import { Problem } from "../api/call.ts"
import { Icon, type IconName } from "./Icon.tsx"
import { Copy } from "./Copy.tsx"

export const Empty = ({ action, children, icon, title }: { readonly icon: IconName; readonly title: string; readonly children?: ReactNode; readonly action?: ReactNode }) => (
  <div className="empty">
    <Icon name={icon} size={28} />
    <strong>{title}</strong>
    {children === undefined ? null : <p>{children}</p>}
    {action}
  </div>
)

const advice = (problem: Problem): string | null => {
  switch (problem.status) {
    case 0:
      return "The page tries again by itself. Values on the page are the last known ones."
    case 403:
      return "Sign in as the operator of the gateway, or ask for this right."
    case 404:
      return "It may have been deleted meanwhile."
    case 409:
      return "Somebody else changed it meanwhile. Load it again and repeat the change."
    case 429:
    case 503:
      return problem.retryAfterSeconds === null ? "Try again in a moment." : `Try again in ${problem.retryAfterSeconds} s.`
    default:
      return problem.status >= 500 ? "The gateway's log has the reason under the request id." : null
  }
}

export const Failure = ({ error, retry, what }: { readonly error: Error; readonly what: string; readonly retry?: (() => void) | undefined }) => {
  const problem = error instanceof Problem ? error : null
  const hint = problem === null ? null : advice(problem)
  return (
    <div className="failure" role="alert">
      <p><strong>{what}</strong></p>
      <p className="wrap">{error.message}</p>
      {problem?.details.map(({ field, message }) => <p key={`${field}${message}`} className="wrap small"><code>{field}</code>: {message}</p>)}
      {hint === null ? null : <p className="small">{hint}</p>}
      <div className="row">
        {retry === undefined ? null : <button type="button" className="button button-small" onClick={retry}>Try again</button>}
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
}

/** Shows data once there is some; while an update fails, the last data stays, greyed, under the failure. */
export const Loaded = <A,>({ children, read, rows = 4, what }: { readonly read: Read<A>; readonly what: string; readonly rows?: number; readonly children: (data: A) => ReactNode }) => {
  const failure = read.isError && read.error !== null ? <Failure what={`${what} could not be loaded`} error={read.error} retry={() => void read.refetch()} /> : null
  if (read.data === undefined) return failure ?? <Skeleton rows={rows} />
  return failure === null ? children(read.data) : <div className="stack">{failure}<div className="stale">{children(read.data)}</div></div>
}

export const Skeleton = ({ rows }: { readonly rows: number }) => (
  <div className="panel-body" aria-busy="true" aria-label="Loading">
    {Array.from({ length: rows }, (_, index) => <div key={index} className="skeleton" />)}
  </div>
)
