/** Draws the ribbon: time from left to right, duration upwards by powers of ten, and a bar for how many ended in a second. */
import { type Ring, SECONDS, SPAN_MS } from "../../live/Ring.ts"

const DOT_PX = 2
const CROSS_PX = 3
/** Of the height, for the bars below the dots. */
const BARS_SHARE = 0.25
/** Durations at the lower and the upper edge, ms, as powers of ten. */
const LOW = 0
const HIGH = 6

/** Variables of the theme, in the order of the elements within the canvas that resolve them to what a canvas takes. */
export const inks = ["ok", "bad", "accent"] as const

const colourOf = (canvas: HTMLCanvasElement, name: typeof inks[number]): string => {
  const element = canvas.children[inks.indexOf(name)]
  return element === undefined ? "" : getComputedStyle(element).color
}

/** `moment`: the second that is marked, ms since the epoch. */
export const draw = (canvas: HTMLCanvasElement, ring: Ring, now: number, moment: number | null): void => {
  const pen = canvas.getContext("2d")
  const { clientHeight: height, clientWidth: width } = canvas
  if (pen === null || width === 0) return
  const ratio = window.devicePixelRatio
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  pen.scale(ratio, ratio)
  const [ok, bad, mark] = [colourOf(canvas, "ok"), colourOf(canvas, "bad"), colourOf(canvas, "accent")]
  const from = now - SPAN_MS
  const placeOf = (at: number): number => (at - from) / SPAN_MS * width
  const top = height * (1 - BARS_SHARE)
  const first = Math.floor(from / 1_000) + 1
  const seconds = Array.from({ length: SECONDS }, (_, index) => ring.secondOf((first + index) * 1_000))
  const most = seconds.reduce((high, { ended }) => Math.max(high, ended), 1)
  const bar = Math.max(1, width / SECONDS)
  for (const [index, { ended, failed }] of seconds.entries()) {
    if (ended === 0) continue
    const x = Math.floor(placeOf((first + index) * 1_000))
    const [tall, wrong] = [ended / most * height * BARS_SHARE, failed / most * height * BARS_SHARE]
    pen.fillStyle = ok
    pen.fillRect(x, height - tall, bar, tall - wrong)
    pen.fillStyle = bad
    pen.fillRect(x, height - wrong, bar, wrong)
  }
  pen.fillStyle = ok
  pen.strokeStyle = bad
  pen.beginPath()
  ring.each((endedAt, tookMs, failed) => {
    if (endedAt < from) return
    const x = placeOf(endedAt)
    const y = top * (1 - Math.min(1, Math.max(0, (Math.log10(Math.max(1, tookMs)) - LOW) / (HIGH - LOW))))
    if (!failed) return pen.fillRect(x - DOT_PX / 2, y - DOT_PX / 2, DOT_PX, DOT_PX)
    pen.moveTo(x - CROSS_PX, y - CROSS_PX)
    pen.lineTo(x + CROSS_PX, y + CROSS_PX)
    pen.moveTo(x - CROSS_PX, y + CROSS_PX)
    pen.lineTo(x + CROSS_PX, y - CROSS_PX)
  })
  pen.stroke()
  if (moment === null || moment < from) return
  pen.fillStyle = mark
  pen.fillRect(placeOf(moment), 0, 2, height)
}
