/** POST /v1/web/fetch, as an operation of the lane. */
import * as Effect from "effect/Effect"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as TerminalErrors from "#src/inference/lane/terminalErrors.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import { LaneOptions } from "#src/inference/lane/services/LaneOptions.ts"
import * as Waits from "#src/inference/lane/stages/Waits.ts"
import { PageReader } from "#src/platform/pages/PageReader.ts"
import { unknownProvider } from "#src/routing/oneShotPlaces.ts"
import type { Route } from "#src/routing/Router.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import * as WebFetchPool from "#src/routing/webFetchPool.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as Codec from "#src/wire/webFetch/codec.ts"
import * as Request from "#src/wire/webFetch/request.ts"
import * as Vendors from "#src/wire/webFetch/vendors/index.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import * as Reader from "./Reader.ts"
import * as Robots from "./Robots.ts"

const path = "/v1/web/fetch"
const category = "web-fetch"

/** Longest wait for an answer, ms: a vendor may have to run the page. */
const answerMs = 60_000
/** Retry-After of a pool that is used up, where no provider says when it is back, s. */
const usualWait = 60

type Body = Readonly<Record<string, unknown>>

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

/** Short forms: `tavily`, `jina`, `nimble`; and what the gateway's own reader is. */
const providerOf = (name: string, aliasOf: (prefix: string) => string | null): string | null => {
  for (const id of [name, `${name}-search`, `${name}-reader`, name === "builtin" ? Vendors.builtinId : aliasOf(name) ?? name]) if (Vendors.ofProvider(id) !== null) return id
  return null
}

const modelOf = ({ provider }: Body, aliasOf: (prefix: string) => string | null): string | PublicError => {
  if (!isSaid(provider)) return WebFetchPool.automaticId
  if (typeof provider !== "string" || provider === "") return invalid("provider", "Field 'provider' must be a text such as 'firecrawl'.")
  const known = providerOf(provider.toLowerCase(), aliasOf)
  return known === null ? unknownProvider("web-fetch", provider) : `${known}/${WebFetchPool.model}`
}

const isPool = ({ combo }: Pick<Route, "combo">): boolean => combo?.name === WebFetchPool.automaticId

/** The providers of the pool that can give the format; they are walked in their order. */
const place = (route: Route, body: Body): Route | PublicError => {
  const request = Request.read(body)
  if (request instanceof PublicError || !isPool(route)) return route
  const targets = route.targets.filter(({ provider }) => Codec.gives(provider, request.format))
  const [first] = route.targets
  if (targets.length === 0) return Codec.cannot(first?.provider ?? "", request.format)
  return { ...route, targets, policy: WebFetchPool.walked(route.policy) }
}

/** What is not the key's fault. */
const mayPass: ReadonlySet<StatusReason.StatusReason> = new Set(["rate-limit", "unavailable"])

const usedUp = (error: PublicError): PublicError => new PublicError(
  "rate_limit_exceeded", 429, Errors.ofStatus(429).type, "Every connected fetch provider is at its limit.", error.retryAfterSeconds ?? usualWait, error.extra, null
)

/** A pool of which no provider is left answers 429; a provider that was named answers for itself. */
const terminal = (error: PublicError, route: Route | null): PublicError => {
  if (route === null) return error instanceof Blocked && error.combo && mayPass.has(StatusReason.of(error.status)) ? usedUp(error) : error
  const isSpent = error.upstream !== null && isPool(route) && Vendors.isSpentAfter(Codec.providerOf(error.upstream.family), StatusReason.of(error.status))
  if (isPool(route) && StatusReason.isRequests(error.status)) return TerminalErrors.bare(error)
  return isSpent || (isPool(route) && error.code === "model_cooldown") ? usedUp(error) : error
}

const operation: OneShot.OneShotOperation<RequestHead> = {
  ...OneShot.make({ kind: "web-fetch", codec: Codec.codec, endpoint: path, category, answerMs, units: () => ({ page: 1 }) }),
  place, terminal,
  fromPath: (_path, body, aliasOf) => {
    const model = modelOf(body, aliasOf)
    return model instanceof PublicError ? model : { model }
  }
}

const endpoint = Endpoint.make("POST", path, category)

export const endpoints = [endpoint]

export const routes = Effect.gen(function*() {
  const services = yield* Inference
  const { fork } = yield* Forks
  const pages = yield* PageReader
  const { obeysRobots } = yield* LaneOptions
  const parts: Reader.Parts = { media: services.media, pages, fork, robots: obeysRobots ? yield* Robots.make(services.media) : null }
  const route = Lane.route(services, { ...operation, services: (own) => ({ ...Waits.neverForCooldowns(own), upstream: Reader.withReader(own.upstream, parts) }) })
  return [{ endpoint, route }] satisfies ReadonlyArray<Endpoint.Mounted>
})
