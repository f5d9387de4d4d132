/** When calls began: bars over the range. A drag over them chooses a shorter range; the fields beside do the same by keys. */
import { useRef, useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { count } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"

type Drawn = Answer<"GET /api/usage/call-logs/facets">["histogram"]

const MOST_BARS = 80

const barsOf = ({ bucketMs, buckets, from, to }: Drawn) => {
  const first = Math.floor(Date.parse(from) / bucketMs) * bucketMs
  const bars = Math.min(MOST_BARS, Math.max(1, Math.ceil((Date.parse(to) - first) / bucketMs)))
  const by = new Map(buckets.map((bucket) => [Date.parse(bucket.start), bucket]))
  return Array.from({ length: bars }, (_, index) => {
    const start = first + index * bucketMs
    const bucket = by.get(start)
    return { start, count: bucket?.count ?? 0, errors: bucket?.errors ?? 0 }
  })
}

export const Histogram = ({ drawn, onRange }: { readonly drawn: Drawn; readonly onRange: (from: string, to: string) => void }) => {
  const bars = barsOf(drawn)
  const most = Math.max(1, ...bars.map(({ count: some }) => some))
  const box = useRef<HTMLDivElement>(null)
  const [brush, setBrush] = useState<readonly [number, number] | null>(null)
  const placeOf = (x: number): number => {
    const rect = box.current?.getBoundingClientRect()
    return rect === undefined || rect.width === 0 ? 0 : Math.max(0, Math.min(1, (x - rect.left) / rect.width))
  }
  const done = (): void => {
    if (brush !== null) {
      const [low, high] = [Math.min(...brush), Math.max(...brush)].map((share) => share * bars.length) as [number, number]
      const from = bars[Math.floor(low)]?.start
      const to = bars[Math.min(bars.length - 1, Math.ceil(high) - 1)]?.start
      if (from !== undefined && to !== undefined && high - low > 0.3) onRange(new Date(from).toISOString(), new Date(to + drawn.bucketMs).toISOString())
    }
    setBrush(null)
  }
  return (
    <figure>
      <div
        ref={box} className="histogram" aria-hidden="true" data-testid="histogram"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setBrush([placeOf(event.clientX), placeOf(event.clientX)])
        }}
        onPointerMove={(event) => {
          if (brush !== null) setBrush([brush[0], placeOf(event.clientX)])
        }}
        onPointerUp={done} onPointerCancel={() => setBrush(null)}
      >
        {bars.map(({ count: some, errors, start }) => (
          <span key={start} title={`${exact(new Date(start).toISOString())}: ${some} calls, ${errors} errors`}>
            <i style={{ height: `${(some - errors) / most * 100}%` }} />
            <i className="errors" style={{ height: `${errors / most * 100}%` }} />
          </span>
        ))}
        {brush === null ? null : <span className="brush" style={{ left: `${Math.min(...brush) * 100}%`, width: `${Math.abs(brush[1] - brush[0]) * 100}%` }} />}
      </div>
      <div className="bars-foot" aria-hidden="true"><span>{exact(drawn.from)}</span><span className="number">most {count(most)}</span><span>{exact(drawn.to)}</span></div>
      <div className="hidden-text"><table>
        <caption>Calls over time</caption>
        <tbody>{bars.filter(({ count: some }) => some > 0).map(({ count: some, errors, start }) => <tr key={start}><th scope="row">{exact(new Date(start).toISOString())}</th><td>{some} calls, {errors} errors</td></tr>)}</tbody>
      </table></div>
    </figure>
  )
}
