/** One streamed request of the playground: what it says so far, its frames, and its times. */
import { useCallback, useEffect, useRef, useState } from "react"
import { ask as send, Problem } from "../../api/call.ts"
import { type Ask, errorText, type FormatName, formats } from "./formats.ts"
import { type Frame, FrameSplitter } from "./frames.ts"

export interface Run {
  readonly state: "streaming" | "done" | "stopped" | "failed"
  readonly text: string
  readonly frames: ReadonlyArray<Frame>
  readonly frameCount: number
  readonly status: number | null
  readonly requestId: string | null
  readonly firstMs: number | null
  readonly totalMs: number
  readonly error: Problem | null
}

/** Frames that are kept to be shown; the text is whole. */
const MOST_FRAMES = 400

const started: Run = { state: "streaming", text: "", frames: [], frameCount: 0, status: null, requestId: null, firstMs: null, totalMs: 0, error: null }

export const useStream = () => {
  const [run, setRun] = useState<Run | null>(null)
  const abort = useRef<AbortController | null>(null)
  useEffect(() => () => abort.current?.abort(), [])

  const stop = useCallback(() => abort.current?.abort(), [])

  const start = useCallback(async (format: FormatName, ask: Ask, key: string): Promise<void> => {
    abort.current?.abort()
    const controller = new AbortController()
    abort.current = controller
    const begun = performance.now()
    const { body, path, textOf } = formats[format]
    let seen = started
    let drawn = false
    const draw = (): void => {
      drawn = false
      setRun(seen)
    }
    // At most one drawing per frame of the screen, however fast tokens come.
    const show = (change: Partial<Run>): void => {
      seen = { ...seen, ...change, totalMs: performance.now() - begun }
      if (drawn || abort.current !== controller) return
      drawn = true
      requestAnimationFrame(draw)
    }
    setRun(started)
    try {
      const reply = await send(path(ask.model), {
        method: "POST",
        // Else the browser adds `Cache-Control: no-cache`: an answer of the gateway's cache would never be seen here.
        cache: "default",
        headers: { "content-type": "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }) },
        body: JSON.stringify(body(ask)),
        signal: controller.signal
      })
      const requestId = reply.headers.get("x-gateway-request-id") ?? reply.headers.get("x-request-id")
      if (!reply.ok || reply.body === null) {
        const said: unknown = await reply.json().catch(() => null)
        show({ state: "failed", status: reply.status, requestId, error: new Problem(errorText(said) || `The gateway answered ${reply.status}.`, reply.status, String(reply.status), { requestId }) })
        return
      }
      show({ status: reply.status, requestId })
      const splitter = new FrameSplitter(reply.headers.get("content-type") ?? "")
      const take = (frames: ReadonlyArray<Frame>): void => {
        if (frames.length === 0) return
        const added = frames.map(({ value }) => value === null ? "" : textOf(value)).join("")
        const failed = frames.map(({ value }) => value === null ? "" : errorText(value)).find((text) => text !== "")
        show({
          text: seen.text + added,
          frames: [...seen.frames, ...frames].slice(0, MOST_FRAMES),
          frameCount: seen.frameCount + frames.length,
          firstMs: seen.firstMs ?? (added === "" ? null : performance.now() - begun),
          ...(failed === undefined ? {} : { error: new Problem(failed, reply.status, "stream", { requestId }) })
        })
      }
      const decoder = new TextDecoder()
      const reader = reply.body.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        take(splitter.push(decoder.decode(value, { stream: true })))
      }
      take([...splitter.push(decoder.decode()), ...splitter.end()])
      show({ state: seen.error === null ? "done" : "failed" })
    } catch (error) {
      if (controller.signal.aborted) show({ state: "stopped" })
      else show({ state: "failed", error: error instanceof Problem ? error : new Problem("The stream broke off.", 0, "broken") })
    }
  }, [])

  return { run, start, stop }
}
