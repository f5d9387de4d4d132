/** What a call said, where the gateway keeps it. Each look has an audit entry: it is read once, and only when it is asked for. */
import { useMutation } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { call, Problem } from "../../../api/call.ts"
import type { Answer } from "../../../api/contract.ts"
import { count } from "../../../format/numbers.ts"
import { Failure } from "../../../parts/Feedback.tsx"
import { Panel } from "../../../parts/Page.tsx"
import type { CallLog } from "../outcome.ts"
import { Button } from "../../../parts/Button.tsx"

type Kept = Answer<"GET /api/usage/call-logs/:id/bodies">
type Payload = Kept["clientRequest"]

/** JSON with a line per member; anything else, and what is cut, as it is. */
const shown = ({ cut, text }: Payload): string => {
  if (text === null || cut) return text ?? ""
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const Body = ({ name, payload }: { readonly name: string; readonly payload: Payload }) => (
  <div className="stack-tight">
    <strong>{name}</strong>
    <p className="small muted">
      {count(payload.bytes)} bytes{payload.text === null ? payload.cut ? ", not kept" : ", not kept: they are no text" : payload.cut ? "; this is their beginning (callLogBodyMaxKb)" : ""}
    </p>
    {payload.text === null || payload.text === "" ? null : <pre className="well well-scroll" tabIndex={0} aria-label={name}>{shown(payload)}</pre>}
  </div>
)

const nameOf = (attempts: ReadonlyArray<CallLog>, id: string): string => {
  const attempt = attempts.find((one) => one.id === id)
  return attempt === undefined ? id : `${attempt.provider}/${attempt.model}`
}

const All = ({ attempts, kept }: { readonly kept: Kept; readonly attempts: ReadonlyArray<CallLog> }) => (
  <>
    <Body name="The client sent" payload={kept.clientRequest} />
    {kept.attempts.map(({ id, upstreamAnswer, upstreamRequest }) => (
      <div key={id} className="stack-tight">
        <Body name={`Sent to ${nameOf(attempts, id)}`} payload={upstreamRequest} />
        <Body name={`Answered by ${nameOf(attempts, id)}`} payload={upstreamAnswer} />
      </div>
    ))}
    <Body name="The client got" payload={kept.clientAnswer} />
  </>
)

export const Bodies = ({ attempts, id }: { readonly id: string; readonly attempts: ReadonlyArray<CallLog> }) => {
  const { data, error, isPending, mutate } = useMutation<Kept, Error>({ mutationFn: () => call("GET /api/usage/call-logs/:id/bodies", { params: { id } }), gcTime: 0 })
  const isAbsent = error instanceof Problem && error.status === 404
  return (
    <Panel title="Prompt and answer">
      <div className="panel-body">
        {data === undefined ? (
          <p className="row">
            <Button kind="small" disabled={isPending} onClick={() => mutate()}>Show them</Button>
            <span className="small muted">Each look has an entry in the audit.</span>
          </p>
        ) : <All kept={data} attempts={attempts} />}
        {isAbsent ? <p className="wrap" role="status">{error.message} <Link to="/settings">Settings</Link></p> : null}
        {error === null || isAbsent ? null : <Failure what="The prompt and the answer could not be loaded" error={error} />}
      </div>
    </Panel>
  )
}
