/**
 * Marketplaces that an operator names: a list over HTTP, and packages whose hash the list says. All calls go through the URL guard and the
 * outbound proxies, with deadlines, without redirects. Without an address nothing is called.
 */
import { createHash } from "node:crypto"
import * as Cache from "effect/Cache"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Listing from "./listing.ts"

/** Bytes of a list, and of a package. */
const LIST_MAX = 2 * 1_048_576
const PACKAGE_MAX = 1_048_576
/** A list is given again for this long, ms. */
export const KEPT_MS = 60_000
/** Lists that are kept. */
const KEPT = 8
const SAID_MAX = 300
const timeouts = { connect: 5_000, headers: 15_000, firstEvent: 0, idle: 10_000, total: 20_000 }
const headers = ["accept", "application/json", "accept-encoding", "identity", "user-agent", "gateway"]

export interface Options {
  /** In errors. */
  readonly title: string
  /** Null = off. */
  readonly address: string | null
  /** The variable that holds the address. */
  readonly variable: string
  readonly kind: "skills" | "plugins"
}

export interface Wanted {
  readonly id: string
  /** The hash that the caller expects; the list's must be the same. */
  readonly sha256?: string
}

export interface Package {
  readonly content: Readonly<Record<string, unknown>>
  readonly sha256: string
}

export interface Market {
  readonly search: (q: string, limit: number) => Effect.Effect<ReadonlyArray<Listing.Entry>, Refusal.Refusal>
  readonly take: (wanted: Wanted) => Effect.Effect<Package, Refusal.Refusal>
}

const failed = (message: string): Refusal.Refusal => new Refusal.Refusal(502, "server_error", "upstream_error", message)

export const make = Effect.fnUntraced(function*({ address, kind, title, variable }: Options) {
  const calls = yield* ControlCalls.make
  const guard = yield* UrlGuard

  const get = Effect.fnUntraced(function*(url: URL, most: number) {
    yield* Effect.mapError(guard.check(url.href, "provider"), ({ message }) => Refusal.badRequest(`${title} may not be called: ${message}`, { code: "url_blocked" }))
    const answer = yield* SmallAnswer.read(
      most, (handler) => calls.dispatch({ connection: null, provider: "" }, { origin: url.origin, path: url.pathname + url.search, method: "GET", headers, body: null, timeouts }, handler),
      {
        failed: ({ message, reason }) => failed(`${title} cannot be reached (${reason}): ${message.slice(0, SAID_MAX)}`),
        tooLarge: () => failed(`The answer of ${title} is larger than ${most} bytes`)
      }
    )
    return StatusReason.isOk(answer.status) ? answer.body : yield* Effect.fail(failed(`${title} answered with status ${answer.status}`))
  })

  /** By the text that is looked for. */
  const lists = yield* Cache.makeWith((q: string) => Effect.gen(function*() {
    if (address === null) return yield* Effect.fail(Refusal.unavailable(`${title} is off: set ${variable} to the address of its list`, { code: "MARKETPLACE_DISABLED" }))
    const market = new URL(address)
    const url = new URL(market)
    if (q !== "") url.searchParams.set("q", q)
    url.searchParams.set("limit", String(Listing.ENTRIES_MAX))
    const entries = Listing.read(yield* get(url, LIST_MAX), kind, market)
    return entries ?? (yield* Effect.fail(failed(`${title} answered no list of ${kind}`)))
  }), { capacity: KEPT, timeToLive: (exit) => Exit.isSuccess(exit) ? KEPT_MS : 0 })

  return {
    search: (q, limit) => Effect.map(Cache.get(lists, q), (entries) => Listing.matching(entries, q).slice(0, limit).map(Listing.viewOf)),
    take: Effect.fnUntraced(function*({ id, sha256: expected }) {
      const entry = (yield* Cache.get(lists, id)).find((one) => one.id === id)
      if (entry === undefined) return yield* Effect.fail(Refusal.notFound(`${title} lists nothing with the id ${id}`))
      const { sha256, url } = entry
      if (sha256 === null) return yield* Effect.fail(Refusal.unprocessable(`${title} says no SHA-256 of ${id}: nothing is installed without one`))
      if (expected !== undefined && expected.toLowerCase() !== sha256) return yield* Effect.fail(Refusal.conflict(`${title} lists ${id} with another SHA-256: ${sha256}`, { code: "INTEGRITY_MISMATCH" }))
      if (url === null) return yield* Effect.fail(Refusal.unprocessable(`${title} names no package of ${id} on its own host`))
      const text = yield* get(url, PACKAGE_MAX)
      const own = createHash("sha256").update(text).digest("hex")
      if (own !== sha256) return yield* Effect.fail(Refusal.unprocessable(`The package of ${id} has the SHA-256 ${own}, and ${title} lists ${sha256}: nothing was installed`, { code: "INTEGRITY_MISMATCH" }))
      const content = Json.parseRecord(text)
      return content === null ? yield* Effect.fail(Refusal.unprocessable(`The package of ${id} is no JSON object`)) : { content, sha256 }
    })
  } satisfies Market
})
