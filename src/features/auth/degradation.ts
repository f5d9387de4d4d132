/** What the brake on sign-ins does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, REDIS_MS, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("login-brake", {
    redis: {
      away: effect("admitted", "Each node brakes by the attempts that it has seen itself: n nodes let n times as many guesses through.", null, REDIS_MS),
      flushed: effect("admitted", "Attempts are counted anew.")
    }
  })
]
