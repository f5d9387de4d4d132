/** The zone in which times are shown. */

/** Of the viewer; browsers that cannot tell it show UTC. */
const own = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC"

let isUtc = false
const listeners = new Set<() => void>()

/** IANA name. */
export const zoneNow = (): string => isUtc ? "UTC" : own

export const showUtc = (utc: boolean): void => {
  isUtc = utc
  for (const listener of listeners) listener()
}

export const onZone = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
