/** GET /v1/auto-combo/{channel}/candidates: the targets that automatic routing would ask now for this key, and those it leaves out. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { scopeRank } from "#actors/keys/scopes.ts"
import { channelIds, channelOf } from "#src/routing/auto/channel.ts"
import type { Candidate, Skipped } from "#src/routing/models/candidate.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Route, Router } from "#src/routing/Router.ts"
import { isoOf } from "#src/routing/trace.ts"
import { Blocked } from "#src/routing/unavailable.ts"

/** One connection of the pool with its model; which connection it is stays ours to know. */
export interface CandidateView {
  /** Place in the order of now, from 1; null for one that would not be asked. */
  readonly rank: number | null
  /** Public alias. */
  readonly provider: string
  readonly model: string
  readonly reachable: boolean
  /** Why it is left out; null for one that is not, `not-allowed` for one that the key may not use. */
  readonly reason: Skipped["unavailable"]["reason"] | null
  /** ISO 8601; null = now, or unknown. */
  readonly until: string | null
  /** The key may not use it; shown to keys with the scope `manage` or `admin` only. */
  readonly excluded: boolean
}

export interface CandidatesView {
  readonly object: "list"
  readonly channel: string
  readonly candidates: ReadonlyArray<CandidateView>
}

interface Pool {
  readonly order: ReadonlyArray<Candidate>
  readonly skipped: ReadonlyArray<Skipped>
  readonly forbidden: ReadonlyArray<Skipped>
}

const poolOf = (route: Route | PublicError): Pool | PublicError => {
  if (!(route instanceof PublicError)) return { order: route.order.order, skipped: route.order.skipped, forbidden: route.forbidden() }
  return route instanceof Blocked ? { order: [], skipped: route.skipped, forbidden: route.pool.forbidden ?? [] } : route
}

const named = ({ target }: Candidate) => ({ provider: target.providerAlias, model: target.publicModel })

/** `channel` as it stands in the path: `auto`, `coding`, `coding:fast`. `now`: ms since the epoch. */
export const candidatesOf = (router: Router, channel: string, key: ApiKey | null, now: number): CandidatesView | PublicError => {
  const id = channel === "auto" || channel.startsWith("auto/") ? channel : `auto/${channel}`
  const own = channelOf(id) === null
    ? null
    : poolOf(router.route({ model: id, key, face: "chat-completions", session: null, headers: {}, prompt: unknownRequest, now, dry: true }))
  if (own === null) return Errors.make("model_not_found", `There is no channel '${channel.slice(0, 120)}' of automatic routing.`, { extra: { candidates: channelIds } })
  if (own instanceof PublicError) return own
  const view = ({ candidate, unavailable: { reason, until } }: Skipped, excluded: boolean): CandidateView =>
    ({ rank: null, ...named(candidate), reachable: false, reason, until: isoOf(until), excluded })
  // A key sees what it may not use only if it manages.
  const others = key === null || scopeRank(key.policy.scopes) === 0 ? [] : own.forbidden
  return {
    object: "list",
    channel: id,
    candidates: [
      ...own.order.map((candidate, i): CandidateView => ({ rank: i + 1, ...named(candidate), reachable: true, reason: null, until: null, excluded: false })),
      ...own.skipped.map((one) => view(one, false)),
      ...others.map((one) => view(one, true))
    ]
  }
}
