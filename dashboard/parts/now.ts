/** The time by the gateway's clock, told to everything on the page by one timer; it rests while the page is hidden. */
import { useSyncExternalStore } from "react"
import { gatewayNow } from "../api/clock.ts"

const TICK_MS = 1_000

let now = gatewayNow()
let timer: ReturnType<typeof setInterval> | null = null
const listeners = new Set<() => void>()

const tick = (): void => {
  if (document.hidden) return
  now = gatewayNow()
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  timer ??= setInterval(tick, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
}

/** Milliseconds since the epoch, anew each second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now)
