/** What signing in by single sign-on does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("single-sign-on", {
    postgres: {
      away: effect("denied", "Fails closed: a sign-in goes to the issuer and is refused when it comes back (503), because no session can be stored.", 0, null)
    }
  })
]
