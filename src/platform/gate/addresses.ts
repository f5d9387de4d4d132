/**
 * Refuses requests by the client's address, before their body is read: the setting `ipFilter`. Callers on this machine are always
 * served, so that no list locks the operator out, and so is the ping of load balancers.
 */
import * as Crypto from "node:crypto"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AddressRules from "#actors/keys/addressRules.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { AddressFilter, none, settingKey } from "#schemas/AddressFilter.ts"
import { version } from "#schemas/version.ts"
import { errorBodyAt, isLocal } from "#src/wire/errorBodyAt.ts"
import type { Exchange, ExchangeGuard } from "#src/platform/server/Exchange.ts"
import { isLoopbackAddress } from "./loopback.ts"
import { givenRequestId } from "./origin.ts"

export interface Addresses {
  /** Why no request of the address is served; null when they are. Empty: the client is not known. */
  readonly refusal: (remoteAddress: string) => PublicError | null
  readonly guard: ExchangeGuard
}

/** Says whether the node takes requests, and nothing else. */
const PING = "/api/health/ping"

const read = Schema.decodeUnknownOption(AddressFilter)

/** The filter among stored settings; one that this release cannot read is none. */
export const storedIn = (settings: ReadonlyMap<string, unknown>): AddressFilter => Option.getOrElse(read(settings.get(settingKey)), () => none)

/** What the rules say of a client; null when it is served. */
export const refusedBy = (rules: AddressRules.Rules | null, address: string, now: number): AddressRules.Refused | null =>
  rules === null || isLoopbackAddress(address) ? null : rules(address, now)

const worded = (refused: AddressRules.Refused, address: string, now: number): PublicError => {
  switch (refused.reason) {
    case "banned":
      return Errors.make("address_not_allowed", `Address ${address} may not use this gateway until ${new Date(refused.until).toISOString()}.`, {
        retryAfterSeconds: Math.ceil((refused.until - now) / 1_000)
      })
    case "unknown":
      return Errors.make("address_not_allowed", "This gateway serves by address, and yours is not known: the proxy before it must be named in GATEWAY_TRUSTED_PROXIES, and must send one of X-Forwarded-For and Forwarded.")
    default:
      return Errors.make("address_not_allowed", `Address ${address} may not use this gateway: its address filter refuses it.`)
  }
}

const isInference = (path: string): boolean =>
  path.startsWith("/v1/") || path.startsWith("/v1beta/") || path.startsWith("/api/v1/") || path.endsWith("/responses") || isLocal(path)

/** In the form in which the path answers errors. */
const bodyOf = (exchange: Exchange, error: PublicError): string | Uint8Array => {
  const { path } = exchange
  if (isInference(path)) return errorBodyAt(path)(error)
  const requestId = givenRequestId({ "x-request-id": exchange.header("x-request-id") }) ?? Crypto.randomUUID()
  if (path === "/a2a") return JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32003, message: error.message, data: { code: error.code, requestId } } })
  return JSON.stringify({ error: Refusal.forbidden(error.message, { code: error.code }).error, requestId })
}

/** `settings`: those of the configuration as it stands now. `now`: ms since the epoch. */
export const make = (settings: () => ReadonlyMap<string, unknown>, now: () => number): Addresses => {
  let known: unknown
  let rules: AddressRules.Rules | null = null
  const refusal = (address: string): PublicError | null => {
    const current = settings()
    const stored = current.get(settingKey)
    if (stored !== known) {
      known = stored
      rules = AddressRules.compile(storedIn(current))
    }
    if (rules === null) return null
    const at = now()
    const refused = refusedBy(rules, address, at)
    return refused === null ? null : worded(refused, address, at)
  }
  return {
    refusal,
    guard: (exchange) => {
      if (settings().get(settingKey) === undefined || exchange.path === PING) return false
      const error = refusal(exchange.remoteAddress)
      if (error === null) return false
      const { retryAfterSeconds } = error
      exchange.respond(error.status, [
        "Content-Type", "application/json", "X-Gateway-Version", version, "Cache-Control", "no-store",
        ...(retryAfterSeconds === null ? [] : ["Retry-After", String(retryAfterSeconds)])
      ], bodyOf(exchange, error))
      return true
    }
  }
}
