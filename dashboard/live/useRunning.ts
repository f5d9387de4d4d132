/** Requests that run right now, for a screen: events are folded as they come, and drawn at most ten times a second. */
import { useCallback, useEffect, useRef, useState } from "react"
import { after, type Running } from "./running.ts"
import { type LiveState, useLive } from "./socket.ts"

/** Between two drawings, ms: a thousand events a second cost no more than ten. */
const DRAWN_EVERY_MS = 100

const none: ReadonlyMap<string, Running> = new Map()

/** `onEnd`: a request ended, and its rows can be read soon. */
export const useRunning = (wanted: boolean, onEnd: () => void): { readonly running: ReadonlyMap<string, Running>; readonly state: LiveState } => {
  const folded = useRef(none)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const [running, setRunning] = useState(none)
  const draw = useCallback((): void => {
    timer.current = undefined
    setRunning(folded.current)
  }, [])
  const state = useLive(["requests"], wanted, (event) => {
    const { ended, running: next } = after(folded.current, event)
    if (next !== folded.current) {
      folded.current = next
      timer.current ??= setTimeout(draw, DRAWN_EVERY_MS)
    }
    if (ended) onEnd()
  })
  useEffect(() => () => {
    clearTimeout(timer.current)
    timer.current = undefined
  }, [])
  return { running, state }
}
