/** A request as lanes on one clock: its attempts by phase, the commit point, and the targets that were left out. */
import { duration, money } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { useNow } from "../../parts/now.ts"
import { Status } from "../../parts/Status.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { toneOf } from "./outcome.ts"
import { type Ghost, type Lane, type SegmentKind, type Waterfall as Drawn, words } from "./waterfall.ts"

const inLegend: ReadonlyArray<SegmentKind> = ["queue", "connect", "head", "first", "stream", "failed"]
const legendWords: Partial<Record<SegmentKind, string>> = { queue: "gateway's own time" }

const AttemptLane = ({ lane: { attempt, segments }, share }: { readonly lane: Lane; readonly share: (ms: number) => string }) => (
  <li className="lane">
    <div className="stack-tight">
      <Status tone={toneOf(attempt)} word={`${attempt.attempt}. ${attempt.provider}/${attempt.model}`} />
      <span className="small muted wrap">{attempt.account ?? ""}{attempt.account === null ? "" : ", "}{attempt.outcome}{attempt.error === null ? "" : `: ${attempt.error}`}, {money(attempt.cost)}</span>
    </div>
    <div className="lane-track" aria-hidden="true">
      {segments.map(({ from, kind, to }) => <span key={kind} className={`segment segment-${kind}`} title={`${words[kind]}: ${duration(to - from)}`} style={{ left: share(from), width: share(to - from) }} />)}
    </div>
    <span className="small number">{attempt.ttft === null ? "" : `first ${duration(attempt.ttft)}, `}{duration(attempt.duration)}</span>
    <div className="hidden-text"><table>
      <caption>Phases of attempt {attempt.attempt}</caption>
      <tbody>{segments.map(({ from, kind, to }) => <tr key={kind}><th scope="row">{words[kind]}</th><td>{duration(to - from)}</td></tr>)}</tbody>
    </table></div>
  </li>
)

const GhostLane = ({ ghost }: { readonly ghost: Ghost }) => {
  const now = useNow()
  return (
    <li className="lane">
      <div className="stack-tight">
        <Status tone="skip" word={ghost.name} />
        <span className="small muted wrap">left out: {ghost.reason}</span>
      </div>
      <div className="lane-track lane-ghost" aria-hidden="true" />
      <span className="small">{ghost.until === null ? "" : Date.parse(ghost.until) > now ? <>for <Countdown until={ghost.until} /></> : <>until {exact(ghost.until)}</>}</span>
    </li>
  )
}

export const Waterfall = ({ drawn, ghosts }: { readonly drawn: Drawn; readonly ghosts: ReadonlyArray<Ghost> }) => {
  const share = (ms: number): string => `${Math.max(0, Math.min(100, ms / drawn.length * 100))}%`
  return (
    <div>
      <ol aria-label="Attempts" className="waterfall">
        {drawn.lanes.map((lane) => <AttemptLane key={lane.attempt.id} lane={lane} share={share} />)}
      </ol>
      {drawn.commit === null ? null : (
        <div className="waterfall">
          <div className="lane">
            <span className="small">The client has the first of the answer</span>
            <div className="lane-track" aria-hidden="true"><span className="commit-line" style={{ left: share(drawn.commit) }} /></div>
            <span className="small number">{duration(drawn.commit)}</span>
          </div>
        </div>
      )}
      {ghosts.length === 0 ? null : <ul aria-label="Left out" className="waterfall">{ghosts.map((ghost) => <GhostLane key={ghost.name + ghost.reason} ghost={ghost} />)}</ul>}
      <div className="legend" aria-hidden="true">
        {inLegend.map((kind) => <span key={kind}><i className={`segment segment-${kind}`} />{legendWords[kind] ?? words[kind]}</span>)}
      </div>
      {drawn.without === 0 ? null : <p className="muted small panel-body">{drawn.without === drawn.lanes.length ? "An older release wrote this request: each attempt is one bar, because no phases were kept." : "An older release wrote some attempts: they are one bar each."}</p>}
    </div>
  )
}
