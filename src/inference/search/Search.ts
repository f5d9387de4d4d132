/** POST /v1/search, as an operation of the lane. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as TerminalErrors from "#src/inference/lane/terminalErrors.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Waits from "#src/inference/lane/stages/Waits.ts"
import { unknownProvider } from "#src/routing/oneShotPlaces.ts"
import type { Route } from "#src/routing/Router.ts"
import * as SearchPool from "#src/routing/searchPool.ts"
import { codec, typesOf, type SearchHead } from "#src/wire/search/codec.ts"
import * as Vendors from "#src/wire/search/vendors/index.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

/** Longest wait for an answer, ms. */
const answerMs = 10_000

type Body = Readonly<Record<string, unknown>>

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

const typeOf = ({ search_type: type }: Body): string => typeof type === "string" && type.toLowerCase() === "news" ? "news" : "web"

/** Short forms stand for the search of a vendor that has other models, too. */
const providerOf = (name: string, aliasOf: (prefix: string) => string | null): string | null => {
  const known = aliasOf(`${name}-search`) ?? aliasOf(name)
  return known === null || typesOf(known).length === 0 ? null : known
}

/** The model that `provider` and `search_type` stand for. */
const modelOf = (body: Body, aliasOf: (prefix: string) => string | null): string | PublicError => {
  const { model, provider } = body
  if (isSaid(model)) {
    if (isSaid(provider)) return invalid("provider", "Fields 'provider' and 'model' exclude each other.")
    return typeof model === "string" && model !== "" ? model : invalid("model", "Field 'model' must be a text such as 'serper-search/web'.")
  }
  const type = typeOf(body)
  if (!isSaid(provider)) return SearchPool.automaticId(type)
  if (typeof provider !== "string" || provider === "") return invalid("provider", "Field 'provider' must be a text such as 'serper-search'.")
  const known = providerOf(provider.toLowerCase(), aliasOf)
  return known === null ? unknownProvider("search", provider) : `${known}/${type}`
}

const pathFor = (target: Route["targets"][number], type: string): Route["targets"][number] => {
  const vendor = Vendors.ofFamily(target.wireFormat)
  const path = vendor?.path?.(target.path, type === "news" ? "news" : "web") ?? target.path
  return path === target.path ? target : { ...target, path, streamPath: path }
}

const isAutomatic = (route: Pick<Route, "combo"> | null): boolean => route !== null && route.combo !== null && SearchPool.isAutomatic(route.combo.name)

/** What is asked: of an automatic choice one alternate beside the first; news stand at paths of their own. */
const place = (route: Route, body: Body): Route => {
  const targets = isAutomatic(route) ? SearchPool.firstProviders(route.targets) : route.targets
  return { ...route, targets: targets.map((target) => pathFor(target, typeOf(body))) }
}

/** What waiting mends keeps its status, and so do the request's own faults. */
const kept: ReadonlySet<StatusReason.StatusReason> = new Set(["rate-limit", "gateway-timeout"])

/** A vendor's failure is none of the client: a refused credential is not the client's, and a page that is not there is none that it named. */
const terminal = (error: PublicError, route: Route | null): PublicError => {
  if (isAutomatic(route) && StatusReason.isRequests(error.status)) return TerminalErrors.bare(error)
  const reason = StatusReason.of(error.status)
  if (error.upstream === null || kept.has(reason) || StatusReason.isRequests(error.status)) return error
  return new PublicError(error.code, 502, Errors.ofStatus(502).type, error.message, error.retryAfterSeconds, error.extra, error.upstream)
}

const operation: OneShot.OneShotOperation<SearchHead> = {
  ...OneShot.make({ kind: "search", codec, endpoint: "/v1/search", category: "search", answerMs, units: () => ({ query: 1 }) }),
  place, terminal, services: Waits.neverForCooldowns,
  fromPath: (_path, body, aliasOf) => {
    const model = modelOf(body, aliasOf)
    return model instanceof PublicError ? model : { model }
  }
}

export const { endpoints, routes } = OneShot.listed([OneShot.serve("/v1/search", operation)])
