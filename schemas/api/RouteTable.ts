/** The table of every route and its access rule, generated from an API description. */
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { Access, type AccessRule } from "#schemas/api/Access.ts"

export interface RouteRule {
  readonly method: string
  /** With `:name` parameters. */
  readonly path: string
  /** The last parameter stands for all that follows, slashes and escapes too, such as the name of a model. */
  readonly isOpen?: boolean
  readonly group: string
  readonly endpoint: string
  /** Null only by mistake; a test fails on it and the middleware refuses every call of such a route. */
  readonly access: AccessRule | null
}

export interface RouteTable {
  readonly routes: ReadonlyArray<RouteRule>
  /** Routes whose pattern fits the raw path exactly; those with fewer parameters win over those with more. */
  readonly match: (path: string) => ReadonlyArray<RouteRule>
}

/** Documented paths that are not built yet and have the form of a path with a parameter: a fixed word is never read as an id. */
export const reservedPaths: ReadonlySet<string> = new Set()

/** Anchored pattern of a path: literal segments byte for byte, parameters one segment without escapes; of an open path the last one is the rest. */
export const compilePath = (pattern: string, isOpen = false): RegExp =>
  new RegExp(`^${pattern.split("/").map((part, index, { length }) =>
    !part.startsWith(":") ? part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : isOpen && index === length - 1 ? "[^;#\\\\]+" : "[^/%;#\\\\]+"
  ).join("/")}$`)

/** The path of a request target as it was sent, without the query. */
export const rawPath = (target: string): string => {
  const end = target.indexOf("?")
  return end < 0 ? target : target.slice(0, end)
}

export const make = (routes: ReadonlyArray<RouteRule>): RouteTable => {
  const fixed = new Map<string, Array<RouteRule>>()
  const patterns: Array<{ readonly regexp: RegExp; readonly parameters: number; readonly route: RouteRule }> = []
  const nearest = (path: string): ReadonlyArray<RouteRule> => {
    const found = patterns.filter(({ regexp }) => regexp.test(path))
    const least = Math.min(...found.map(({ parameters }) => parameters))
    return found.filter(({ parameters }) => parameters === least).map(({ route }) => route)
  }
  for (const route of routes) {
    if (route.path.includes(":")) {
      patterns.push({ regexp: compilePath(route.path, route.isOpen), parameters: route.path.split("/:").length - 1, route })
      continue
    }
    const known = fixed.get(route.path)
    if (known === undefined) fixed.set(route.path, [route])
    else known.push(route)
  }
  return {
    routes,
    match: (path) => fixed.get(path) ?? (reservedPaths.has(path) ? [] : nearest(path))
  }
}

export const fromApi = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<RouteRule> => {
  const routes: Array<RouteRule> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, mergedAnnotations }) => {
      routes.push({
        method: endpoint.method,
        path: endpoint.path,
        group: group.identifier,
        endpoint: endpoint.identifier,
        access: Context.getOrUndefined(mergedAnnotations, Access) ?? null
      })
    }
  })
  return routes
}

/** Methods to name in an Allow header; GET implies HEAD. */
export const allowed = (routes: ReadonlyArray<RouteRule>): ReadonlyArray<string> => {
  const methods = new Set(routes.map((route) => route.method))
  if (methods.has("GET")) methods.add("HEAD")
  return Array.from(methods)
}

/**
 * Routes of a path that other methods have. None where the method has one, too: then the path itself is at fault, by a broken escape for
 * example.
 */
export const ofOtherMethods = (routes: ReadonlyArray<RouteRule>, method: string): ReadonlyArray<RouteRule> =>
  allowed(routes).includes(method) ? [] : routes

/** Second names, each with all paths below it. */
const twins: ReadonlyArray<readonly [twin: string, path: string]> = [
  ["/api/settings/proxies", "/api/v1/management/proxies"], ["/api/settings/compression/rules", "/api/compression/rules"]
]

/** The target of a request under the name that has routes; null for one that has no second name. */
export const twinOf = (target: string): string | null => {
  for (const [twin, path] of twins) {
    if (!target.startsWith(twin)) continue
    const rest = target.slice(twin.length)
    if (rest === "" || rest.startsWith("/") || rest.startsWith("?")) return path + rest
  }
  return null
}
