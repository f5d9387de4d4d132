/** The last 15 minutes: a dot for each request that ended, and a slider that shows any second again. The address holds the second. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { gatewayNow } from "../../api/clock.ts"
import { useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { type Ended, Ring, SECONDS, SPAN_MS } from "../../live/Ring.ts"
import { type LiveEvent, useLive } from "../../live/socket.ts"
import { useNow } from "../../parts/now.ts"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Button } from "../../parts/Button.tsx"
import { draw, inks } from "./ribbonCanvas.ts"

/** Between two drawings, ms. */
const DRAWN_EVERY_MS = 100
/** Requests of the chosen second that are named. */
const MOST_NAMED = 10
/** Rows of the log that stand in the ribbon at first. */
const SEEDED = 500
const MINUTE_SECONDS = 60

const endedOf = ({ data, event }: LiveEvent): Ended | null => {
  const { id, latencyMs } = data
  if (typeof id !== "string" || (event !== "request.completed" && event !== "request.failed")) return null
  return { id, endedAt: gatewayNow(), tookMs: typeof latencyMs === "number" ? latencyMs : 0, failed: event === "request.failed" }
}

/** The ring, filled from the log once and from live events since; and whether events come. */
const useRing = () => {
  const [ring] = useState(() => new Ring())
  const [since] = useState(() => new Date(gatewayNow() - SPAN_MS).toISOString())
  const log = useRead("GET /api/usage/call-logs", { query: { from: since, limit: SEEDED } })
  const rows = log.data
  const isSeeded = useRef(false)
  useEffect(() => {
    if (rows === undefined || isSeeded.current) return
    isSeeded.current = true
    ring.seed(rows.map(({ duration: tookMs, outcome, requestId, timestamp }) => ({ id: requestId, endedAt: Date.parse(timestamp) + tookMs, tookMs, failed: outcome !== "completed" })))
  }, [ring, rows])
  const state = useLive(["requests"], true, (event) => {
    const ended = endedOf(event)
    if (ended !== null) ring.add(ended)
  })
  return { ring, state }
}

/** Draws while the tab is seen: after a change at most ten times a second, else once, since the time goes on. */
const useDrawing = (ring: Ring, moment: number | null) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    let frame = 0
    let drawnAt = 0
    let drawn = -1
    const look = (): void => {
      frame = requestAnimationFrame(look)
      const now = gatewayNow()
      if (canvas.current === null || now - drawnAt < (ring.version === drawn ? 1_000 : DRAWN_EVERY_MS)) return
      drawn = ring.version
      drawnAt = now
      draw(canvas.current, ring, now, moment)
    }
    frame = requestAnimationFrame(look)
    return () => cancelAnimationFrame(frame)
  }, [moment, ring])
  return canvas
}

const Moment = ({ moment, ring }: { readonly moment: number; readonly ring: Ring }) => {
  const from = Math.floor(moment / 1_000) * 1_000
  const { ended, failed } = ring.secondOf(moment)
  const { ended: named, ran } = ring.during(moment)
  const range = { from: new Date(from).toISOString(), to: new Date(from + 1_000).toISOString() }
  return (
    <div className="panel-body stack-tight" role="group" aria-label="The chosen second">
      <p><strong className="number">{exact(range.from)}</strong> <span className="number">{count(ended)} ended, {count(failed)} of them failed; {count(ran)} went on.</span> <Link to="/requests" search={range} className="small">Requests that began then</Link></p>
      {named.length === 0 ? null : (
        <ul className="stack-tight" aria-label="Requests that ended then">
          {named.slice(0, MOST_NAMED).map(({ failed: bad, id, tookMs }) => (
            <li key={id} className="row"><Status tone={bad ? "bad" : "ok"} word={bad ? "Failed" : "Answered"} /><span className="number">{duration(tookMs)}</span><Link to="/requests/$id" params={{ id }} className="mono small wrap">{id}</Link></li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The same by minutes, for those who do not see the dots. */
const Minutes = ({ now, ring }: { readonly now: number; readonly ring: Ring }) => (
  <table className="hidden-text">
    <caption>Requests that ended, by minute</caption>
    <tbody>
      {Array.from({ length: SECONDS / MINUTE_SECONDS }, (_, minute) => {
        const seconds = Array.from({ length: MINUTE_SECONDS }, (__, second) => ring.secondOf(now - (minute * MINUTE_SECONDS + second) * 1_000))
        return <tr key={minute}><th scope="row">{minute} min ago</th><td>{count(seconds.reduce((sum, { ended }) => sum + ended, 0))}, {count(seconds.reduce((sum, { failed }) => sum + failed, 0))} failed</td></tr>
      })}
    </tbody>
  </table>
)

export const Ribbon = () => {
  const now = useNow()
  const { at } = useSearch({ from: "/" })
  const navigate = useNavigate({ from: "/" })
  const { ring, state } = useRing()
  const parsed = at === undefined ? NaN : Date.parse(at)
  const moment = Number.isNaN(parsed) ? null : parsed
  const canvas = useDrawing(ring, moment)
  const first = Math.floor((now - SPAN_MS) / 1_000) + 1
  const isOld = moment !== null && Math.floor(moment / 1_000) < first
  const place = moment === null ? SECONDS - 1 : Math.max(0, Math.min(SECONDS - 1, Math.floor(moment / 1_000) - first))
  const show = (time: number | null): void => void navigate({ search: time === null ? {} : { at: new Date(Math.floor(time / 1_000) * 1_000).toISOString() }, replace: true })
  return (
    <Panel
      title="The last 15 minutes"
      actions={moment === null ? <Status tone={state === "live" ? "ok" : "warn"} word={state === "live" ? "Live" : "No live events"} /> : <Button kind="small" onClick={() => show(null)}>Back to now</Button>}
    >
      <div className="panel-body">
        <canvas
          ref={canvas} className="ribbon" aria-hidden="true" data-testid="ribbon"
          onClick={(event) => {
            const { left, width } = event.currentTarget.getBoundingClientRect()
            show(now - SPAN_MS * (1 - (event.clientX - left) / width))
          }}
        >
          {inks.map((name) => <span key={name} style={{ color: `var(--${name})` }} />)}
        </canvas>
        <input
          className="ribbon-slider" type="range" min={0} max={SECONDS - 1} step={1} value={place} aria-label="Second that is shown"
          aria-valuetext={moment === null ? "now" : exact(new Date(moment).toISOString())} onChange={(event) => show((first + Number(event.currentTarget.value)) * 1_000)}
        />
        <div className="bars-foot" aria-hidden="true"><span>15 min ago</span><span>✕ failed · higher: slower · bars: how many</span><span>now</span></div>
        <div className="hidden-text"><Minutes ring={ring} now={now} /></div>
      </div>
      {moment === null ? null : isOld
        ? <p className="panel-body">{exact(new Date(moment).toISOString())} is more than 15 minutes ago. <Link to="/requests" search={{ from: new Date(moment - MINUTE_SECONDS * 1_000).toISOString(), to: new Date(moment + MINUTE_SECONDS * 1_000).toISOString() }}>Requests around it</Link></p>
        : <Moment moment={moment} ring={ring} />}
    </Panel>
  )
}
