/** GET /v1/auto-combo/{channel}/candidates: whom automatic routing would ask now for this key, and who is left out (supplement 2.8). */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { scopeRank } from "#src/http/sessions/rights.ts"
import { channelIds, channelOf } from "#src/routing/auto/channel.ts"
import type { Candidate, Skipped } from "#src/routing/candidate.ts"
import { type Route, type Router, unknownRequest } from "#src/routing/Router.ts"
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
  /** Why it is left out; null for one that is not, or that only the key leaves out. */
  readonly reason: Skipped["unavailable"]["reason"] | null
  /** ISO 8601; null = now, or nobody knows. */
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
}

const poolOf = (route: Route | PublicError): Pool | PublicError =>
  !(route instanceof PublicError) ? route.order : route instanceof Blocked ? { order: [], skipped: route.skipped } : route

const identityOf = ({ target }: Candidate): string => JSON.stringify([target.publicModel, target.connection?.id ?? null])

const named = ({ target }: Candidate) => ({ provider: target.providerAlias, model: target.publicModel })

/** `channel` as it stands in the path: `auto`, `coding`, `coding:fast`. `now`: ms since the epoch. */
export const candidatesOf = (router: Router, channel: string, key: ApiKey | null, now: number): CandidatesView | PublicError => {
  const id = channel === "auto" || channel.startsWith("auto/") ? channel : `auto/${channel}`
  const known = channelOf(id)
  const ask = (model: string, by: ApiKey | null) =>
    poolOf(router.route({ model, key: by, face: "chat-completions", session: null, headers: {}, about: () => unknownRequest, now, dry: true }))
  const own = known === null ? null : ask(id, key)
  if (own === null) return Errors.make("model_not_found", `There is no channel '${channel.slice(0, 120)}' of automatic routing.`, { extra: { candidates: channelIds } })
  if (own instanceof PublicError) return own
  const mine = new Set([...own.order, ...own.skipped.map(({ candidate }) => candidate)].map(identityOf))
  // Nobody's pool is everybody's, but what a key may not use it hears of only if it manages; the chaos channel has the pool of the others.
  const whole = key === null || scopeRank(key.policy.scopes) === 0 ? own : ask(known?.chaos === true ? "auto" : id, null)
  const others = whole instanceof PublicError ? [] : [...whole.order, ...whole.skipped.map(({ candidate }) => candidate)].filter((candidate) => !mine.has(identityOf(candidate)))
  return {
    object: "list",
    channel: id,
    candidates: [
      ...own.order.map((candidate, i): CandidateView => ({ rank: i + 1, ...named(candidate), reachable: true, reason: null, until: null, excluded: false })),
      ...own.skipped.map(({ candidate, unavailable: { reason, until } }): CandidateView => ({
        rank: null, ...named(candidate), reachable: false, reason, until: isoOf(until), excluded: false
      })),
      ...others.map((candidate): CandidateView => ({ rank: null, ...named(candidate), reachable: false, reason: null, until: null, excluded: true }))
    ]
  }
}
