/**
 * What pages of other origins may do. Without a key they may not call inference at all, whatever a browser lets them send; with
 * one they may, and read the answers where the setting `corsOrigins` lists their origin.
 */
import * as Origins from "#schemas/api/origins.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { isSameOrigin } from "./origin.ts"
import type { ExchangeGuard } from "#src/platform/server/Exchange.ts"

type Header = (lowerCaseName: string) => string | undefined

export interface Pages {
  /** Why a call without a key is refused: it comes from a page of another origin. Null for all others. */
  readonly refusal: (header: Header) => PublicError | null
  /** Answers preflights of listed origins and lets them read what other routes answer. */
  readonly guard: ExchangeGuard
}

/** How long a browser may remember a preflight, seconds. */
const PREFLIGHT_SECONDS = "600"
/** Longest list of header names that a preflight is granted, characters. */
const HEADER_NAMES_MAX = 2_048

const headerNames = /^[\w!#$%&'*+.^`|~, -]*$/
const localModelServer: ReadonlySet<string> = new Set(["/api/tags", "/api/version", "/api/show"])
const isInference = (path: string): boolean =>
  path.startsWith("/v1/") || path.startsWith("/v1beta/") || path.startsWith("/api/v1/") || localModelServer.has(path)

/** `corsOrigins`: the setting as it stands now. */
export const make = (corsOrigins: () => unknown): Pages => {
  let known: unknown
  let listed: ReadonlySet<string> = new Set()
  const origins = (): ReadonlySet<string> => {
    const setting = corsOrigins()
    if (setting !== known) {
      known = setting
      listed = new Set(typeof setting === "string" ? Origins.parse(setting) ?? [] : [])
    }
    return listed
  }

  const grant = (exchange: Parameters<ExchangeGuard>[0]): ReadonlyArray<string> => {
    const wanted = exchange.header("access-control-request-headers") ?? ""
    return [
      "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE",
      "Access-Control-Max-Age", PREFLIGHT_SECONDS,
      ...(wanted !== "" && wanted.length <= HEADER_NAMES_MAX && headerNames.test(wanted) ? ["Access-Control-Allow-Headers", wanted] : []),
      ...(exchange.header("access-control-request-private-network") === "true" ? ["Access-Control-Allow-Private-Network", "true"] : [])
    ]
  }

  return {
    refusal: (header) => {
      const origin = header("origin")
      if (origin === undefined && header("sec-fetch-site") === undefined) return null
      if (isSameOrigin(header) || (origin !== undefined && origins().has(origin))) return null
      return Errors.make("origin_not_allowed", `A page of another origin${origin === undefined ? "" : ` (${origin.slice(0, 100)})`} may not call the gateway without an API key: send a key, or list the origin in the setting corsOrigins.`)
    },
    guard: (exchange) => {
      if (origins().size === 0 || !isInference(exchange.path)) return false
      const origin = exchange.header("origin")
      if (origin === undefined || !listed.has(origin)) {
        exchange.addHeaders(["Vary", "Origin"])
        return false
      }
      exchange.addHeaders(["Access-Control-Allow-Origin", origin, "Vary", "Origin", "Access-Control-Expose-Headers", "*"])
      if (exchange.method !== "OPTIONS" || exchange.header("access-control-request-method") === undefined) return false
      exchange.respond(204, grant(exchange), "")
      return true
    }
  }
}

/**
 * A form or a page without a preflight can send text that is JSON, but cannot say so. `contentType`: of a call without a key;
 * undefined is accepted, because old clients send none.
 */
export const bodyRefusal = (contentType: string | undefined): PublicError | null =>
  contentType === undefined || /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)
    ? null
    : Errors.make("unsupported_media_type", `Content-Type '${contentType.slice(0, 60)}' is not accepted without an API key: send application/json.`)
