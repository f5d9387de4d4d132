/** What sign-ins and tokens of providers do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, REDIS_MS, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("provider-sign-ins", {
    redis: {
      away: effect("denied", "Fails closed: a sign-in to a provider is neither begun nor finished (503); one that had begun goes on when the store is back, within its time.", 0, REDIS_MS),
      flushed: effect("denied", "Sign-ins that had begun are forgotten: they are begun again.")
    }
  }),
  row("provider-tokens", {
    postgres: {
      away: effect("admitted", "A token that has ended is renewed with the grant that this node knows, used from memory, and stored when the store is back.", null),
      frozen: effect("admitted", "The same, after a look for what another node renewed and a try to store it, each for the store's deadline; other tokens are used at once.", null, 2 * STORE_MS)
    }
  })
]
