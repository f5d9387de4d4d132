/** Which windows of a target are too low to use it, and until when. Pure. */
import { aboveFrom, type QuotaLimits, type QuotaReading, remainingAt } from "#src/routing/ports/Quotas.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ResilienceSettings } from "#schemas/records/ResilienceSettings.ts"

type PreflightSettings = ResilienceSettings["quotaPreflight"]
type Account = Pick<Connection, "provider" | "providerSpecificData" | "quotaWindowThresholds">

/** The connection's own threshold, else the provider's default for the window, else the general one. */
const cutoffOf = (connection: Account, window: string, settings: PreflightSettings): number =>
  connection.quotaWindowThresholds?.[window] ?? settings.providerWindowDefaults[connection.provider]?.[window] ?? settings.cutoffPercent

export const limitsOf = (connection: Account, window: string, settings: PreflightSettings): QuotaLimits =>
  ({ cutoffPercent: cutoffOf(connection, window, settings), warningPercent: settings.warningPercent })

/** Toggles of account plans: false = the window does not count. */
const counts = ({ providerSpecificData: { use5h, useWeekly } }: Account, window: string): boolean =>
  !(use5h === false && window.startsWith("5h")) && !(useWeekly === false && window.startsWith("7d"))

/**
 * The window that keeps the target out longest; null when none does. One without a known reset never does: the end would be
 * unknown.
 */
export const blockOf = (connection: Account, windows: ReadonlyArray<QuotaReading>, settings: PreflightSettings, now: number): Unavailable | null => {
  let worst: Unavailable & { readonly until: number } | null = null
  for (let i = 0; i < windows.length; i++) {
    const window = windows[i] as QuotaReading
    const cutoff = cutoffOf(connection, window.name, settings)
    const remaining = remainingAt(window, now)
    if (remaining > cutoff || !counts(connection, window.name)) continue
    const until = aboveFrom(window, cutoff)
    if (until === null || until <= now || (worst !== null && worst.until >= until)) continue
    worst = { reason: "quota-exhausted", until, detail: `Quota window ${window.name} has ${Math.round(remaining * 100) / 100} % left; it is cut off at ${cutoff} %.` }
  }
  return worst
}
