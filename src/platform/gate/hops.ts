/**
 * Ends loops: a provider node may point at this gateway, or at one whose provider is this gateway. Each call out names the groups of
 * nodes that it has passed, so a call that comes back is refused before it is planned and makes no further calls.
 */
import * as Hops from "#schemas/hops.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { version } from "#schemas/version.ts"
import { errorBodyAt } from "#src/wire/errorBodyAt.ts"
import type { ExchangeGuard } from "#src/platform/server/Exchange.ts"

export interface HopRules {
  /** Id of the group of nodes that this one belongs to. */
  readonly own: string
  /** GATEWAY_OWN_HOPS: how often a call may come back. */
  readonly ownHops: number
}

/** Why a call with this header is refused; null for one that is not. */
export const refusalOf = (value: string, { own, ownHops }: HopRules): PublicError | null => {
  const hops = Hops.parse(value)
  if (hops === null) return Errors.make("bad_request", `${Hops.hopsHeader} is not a list of ids: only gateways set it.`, { extra: { param: Hops.hopsHeader } })
  if (hops.length > Hops.MAX_HOPS) {
    return Errors.make("loop_detected", `This call has passed ${hops.length} gateways; ${Hops.MAX_HOPS} are allowed. Look for gateways that are each other's provider nodes.`)
  }
  if (hops.filter((id) => id === own).length > ownHops) {
    return Errors.make("loop_detected", "This call came from this gateway itself: a provider node points at it, or at a gateway that has it as a provider node. Change the node's baseUrl, or set GATEWAY_OWN_HOPS.")
  }
  return null
}

export const guard = (rules: HopRules): ExchangeGuard => (exchange) => {
  const value = exchange.header(Hops.hopsHeader)
  if (value === undefined) return false
  const error = refusalOf(value, rules)
  if (error === null) return false
  exchange.respond(error.status, ["Content-Type", "application/json", "X-Gateway-Version", version], errorBodyAt(exchange.path)(error))
  return true
}
