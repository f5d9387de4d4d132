/** Frames of a stream as they came: when, how long after the one before, how large, and their text. */
import { useState } from "react"
import { bytes } from "../../format/bytes.ts"
import { count, duration } from "../../format/numbers.ts"
import type { Run, Seen } from "./stream.ts"

const encoder = new TextEncoder()
const WIDTH = 1_000
const ms = (value: number): string => value < 10 ? value.toFixed(1) : value.toFixed(0)

/** `+12 ms, 3.1 ms later, 84 bytes`, then the frame. */
export const timeline = (frames: ReadonlyArray<Seen>): string => frames.map(({ atMs, raw }, index) => {
  const before = frames[index - 1]
  return `+${ms(atMs)} ms${before === undefined ? "" : `, ${ms(atMs - before.atMs)} ms later`}, ${count(encoder.encode(raw).length)} bytes\n${raw}`
}).join("\n\n")

/** A line for each frame on the time of the whole answer. */
export const Strip = ({ label, run }: { readonly run: Run; readonly label: string }) => (
  <svg className="lane-track" role="img" aria-label={`${label}: ${count(run.frameCount)} frames, the longest gap ${duration(run.longestGapMs)}`} viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" style={{ width: "100%" }}>
    <path d={run.frames.map(({ atMs }) => `M${(atMs / Math.max(1, run.totalMs) * WIDTH).toFixed(1)} 0V10`).join("")} stroke="currentColor" strokeWidth={1} vectorEffect="non-scaling-stroke" fill="none" />
  </svg>
)

/** The text is made when it is asked for: six streams side by side hold thousands of frames. */
export const Frames = ({ label, run, word }: { readonly run: Run; readonly label: string; readonly word: string }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{word}</summary>
      {isOpen ? (
        <div className="stack-tight">
          <p className="small muted number">{count(run.frameCount)} frames, {bytes(run.bytes)}{run.frameCount > run.frames.length ? `; the first ${count(run.frames.length)} are shown` : ""}</p>
          <pre className="well well-scroll" tabIndex={0} aria-label={label}>{timeline(run.frames)}</pre>
        </div>
      ) : null}
    </details>
  )
}
