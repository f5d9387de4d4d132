/** The gateway's clock: a browser's may be wrong, and then every countdown would be. */
import { useSyncExternalStore } from "react"

/** Less than this is the network's doing, ms. */
const LEAST_MS = 2_000

let offset = 0
const listeners = new Set<() => void>()

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** ms since the epoch, as the gateway counts them. */
export const gatewayNow = (): number => Date.now() + offset

/** `time`: what the gateway's clock showed while a call ran from `sent` to `got`, ms since the epoch of the browser's clock. */
export const learn = (time: string, sent: number, got: number): void => {
  const seen = Date.parse(time) - (sent + got) / 2
  if (Number.isNaN(seen) || Math.abs(seen - offset) < LEAST_MS + (got - sent) / 2) return
  offset = Math.abs(seen) < LEAST_MS ? 0 : seen
  for (const listener of listeners) listener()
}

/** How far the gateway's clock is ahead of the browser's, ms. */
export const useSkew = (): number => useSyncExternalStore(subscribe, () => offset)
