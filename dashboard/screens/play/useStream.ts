/** Streamed requests of the playground: one, or several of which each has its place. */
import { useCallback, useEffect, useRef, useState } from "react"
import type { Ask, FormatName } from "./formats.ts"
import { type Run, started, stream } from "./stream.ts"

export type { Run } from "./stream.ts"

export interface Asked {
  readonly id: string
  readonly format: FormatName
  readonly ask: Ask
}

/** Runs by the ids of what was asked; all are drawn together, at most once per frame of the screen, however fast tokens come. */
export const useStreams = () => {
  const [runs, setRuns] = useState<Readonly<Record<string, Run>>>({})
  const abort = useRef<AbortController | null>(null)
  useEffect(() => () => abort.current?.abort(), [])

  const stop = useCallback(() => abort.current?.abort(), [])

  const start = useCallback(async (asked: ReadonlyArray<Asked>, key: string): Promise<void> => {
    abort.current?.abort()
    const controller = new AbortController()
    abort.current = controller
    const seen: Record<string, Run> = Object.fromEntries(asked.map(({ id }) => [id, started]))
    let drawn = false
    const draw = (): void => {
      drawn = false
      if (abort.current === controller) setRuns({ ...seen })
    }
    setRuns({ ...seen })
    await Promise.all(asked.map(({ ask, format, id }) => stream(format, ask, key, controller.signal, (run) => {
      seen[id] = run
      if (drawn || abort.current !== controller) return
      drawn = true
      requestAnimationFrame(draw)
    })))
  }, [])

  return { runs, start, stop }
}

const ONLY = "only"

export const useStream = () => {
  const { runs, start: startAll, stop } = useStreams()
  const start = useCallback((format: FormatName, ask: Ask, key: string): Promise<void> => startAll([{ id: ONLY, format, ask }], key), [startAll])
  return { run: runs[ONLY] ?? null, start, stop }
}
