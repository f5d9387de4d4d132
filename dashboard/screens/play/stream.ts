/** One streamed request: what it says so far, its frames with their times, and how it ended. */
import { ask as send, Problem } from "../../api/call.ts"
import { type Ask, bodyOf, errorText, type FormatName, formats } from "./formats.ts"
import { type Frame, FrameSplitter } from "./frames.ts"

/** A frame, and when it was there, ms after the request was sent. */
export interface Seen extends Frame {
  readonly atMs: number
}

export interface Run {
  readonly state: "streaming" | "done" | "stopped" | "failed"
  readonly text: string
  readonly frames: ReadonlyArray<Seen>
  readonly frameCount: number
  /** Of the answer's body. */
  readonly bytes: number
  /** The longest time without a frame once the first was there. */
  readonly longestGapMs: number
  /** Fields of the request that the target does not know, as the gateway tells them. */
  readonly omitted: string
  readonly status: number | null
  readonly requestId: string | null
  readonly firstMs: number | null
  readonly totalMs: number
  readonly error: Problem | null
}

/** Frames that are kept to be shown; the text is whole. */
const MOST_FRAMES = 400

export const started: Run = {
  state: "streaming", text: "", frames: [], frameCount: 0, bytes: 0, longestGapMs: 0, omitted: "", status: null, requestId: null, firstMs: null, totalMs: 0, error: null
}

const refused = async (reply: Response, requestId: string | null): Promise<Problem> => {
  const said: unknown = await reply.json().catch(() => null)
  const retryAfter = Number(reply.headers.get("retry-after") ?? Number.NaN)
  return new Problem(errorText(said) || `The gateway answered ${reply.status}.`, reply.status, String(reply.status), { requestId, retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null })
}

/** `show` is called with each new state, the last one included. */
export const stream = async (format: FormatName, ask: Ask, key: string, signal: AbortSignal, show: (run: Run) => void): Promise<void> => {
  const begun = performance.now()
  const { path, textOf } = formats[format]
  let seen = started
  let lastMs: number | null = null
  const put = (change: Partial<Run>): void => {
    seen = { ...seen, ...change, totalMs: performance.now() - begun }
    show(seen)
  }
  try {
    const reply = await send(path(ask.model), {
      method: "POST",
      // Else the browser adds `Cache-Control: no-cache`: an answer of the gateway's cache would never be seen here.
      cache: "default",
      headers: { "content-type": "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(bodyOf(format, ask)),
      signal
    })
    const requestId = reply.headers.get("x-gateway-request-id") ?? reply.headers.get("x-request-id")
    if (!reply.ok || reply.body === null) return put({ state: "failed", status: reply.status, requestId, error: await refused(reply, requestId) })
    put({ status: reply.status, requestId, omitted: reply.headers.get("x-gateway-omitted") ?? "" })
    const splitter = new FrameSplitter(reply.headers.get("content-type") ?? "")
    const take = (frames: ReadonlyArray<Frame>, bytes: number): void => {
      const atMs = performance.now() - begun
      const added = frames.map(({ value }) => value === null ? "" : textOf(value)).join("")
      const failed = frames.map(({ value }) => value === null ? "" : errorText(value)).find((text) => text !== "")
      const gap = frames.length === 0 || lastMs === null ? 0 : atMs - lastMs
      if (frames.length > 0) lastMs = atMs
      put({
        text: seen.text + added,
        frames: seen.frames.length >= MOST_FRAMES ? seen.frames : [...seen.frames, ...frames.map((frame) => ({ ...frame, atMs }))].slice(0, MOST_FRAMES),
        frameCount: seen.frameCount + frames.length,
        bytes: seen.bytes + bytes,
        longestGapMs: Math.max(seen.longestGapMs, gap),
        firstMs: seen.firstMs ?? (added === "" ? null : atMs),
        ...(failed === undefined ? {} : { error: new Problem(failed, reply.status, "stream", { requestId }) })
      })
    }
    const decoder = new TextDecoder()
    const reader = reply.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      take(splitter.push(decoder.decode(value, { stream: true })), value.byteLength)
    }
    take([...splitter.push(decoder.decode()), ...splitter.end()], 0)
    put({ state: seen.error === null ? "done" : "failed" })
  } catch (error) {
    if (signal.aborted) put({ state: "stopped" })
    else put({ state: "failed", error: error instanceof Problem ? error : new Problem("The stream broke off.", 0, "broken") })
  }
}
