/** The one guard for outgoing URLs over the address rules, the flags and a resolver. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import { UrlBlocked, UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { UrlPurpose } from "#actors/ports/UrlGuard.ts"
import * as AddressRules from "./addressRules.ts"
import * as Resolver from "./Resolver.ts"

export interface Options {
  /** Reads the three flags; called on every check, so that a change holds at once. */
  readonly policy: () => AddressRules.Policy
  readonly resolve?: Resolver.Resolve | undefined
  /** Purposes for which `http:` is refused; none by default. */
  readonly httpsOnly?: ReadonlyArray<UrlPurpose> | undefined
  /** Time for one name resolution in ms. */
  readonly resolveTimeoutMs?: number | undefined
}

export interface AddressGuard {
  readonly check: (url: string, purpose: UrlPurpose) => Effect.Effect<ReadonlyArray<string>, UrlBlocked>
  readonly checkAddress: (host: string, address: string, purpose: UrlPurpose) => UrlBlocked | null
}

const defaultResolveTimeoutMs = 5_000
/** Longest URL that is looked at, in characters. */
const maxUrlLength = 8_192

type Reason = UrlBlocked["reason"]

const reasons: Readonly<Record<Exclude<AddressRules.AddressCategory, "public">, Reason>> = {
  loopback: "loopback",
  lan: "private",
  private: "private",
  "link-local": "link-local",
  metadata: "metadata",
  multicast: "multicast",
  unspecified: "unspecified"
}

const metadataKnob = "no flag opens the metadata services of a cloud"

const operatorKnobs: Readonly<Record<Exclude<AddressRules.AddressCategory, "public">, string>> = {
  loopback: "it is open to providers, proxies and single sign-on when GATEWAY_ALLOW_LOCAL_PROVIDER_URLS is on",
  lan: "it is open to providers, proxies and single sign-on when GATEWAY_ALLOW_LOCAL_PROVIDER_URLS is on",
  private: "it is open to providers, proxies and single sign-on when GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS is on",
  "link-local": "it is open to providers, proxies and single sign-on when GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS is on",
  metadata: metadataKnob,
  multicast: "a call needs one host",
  unspecified: "name the address that the server listens on, such as 127.0.0.1"
}

/** What would open it. The flags of provider URLs open nothing for other purposes. */
const knobOf = (category: Exclude<AddressRules.AddressCategory, "public">, purpose: UrlPurpose): string =>
  category === "metadata" || AddressRules.operatorPurposes.has(purpose)
    ? operatorKnobs[category]
    : purpose === "media" ? "use a public address; no flag opens others to what clients name"
    : "use a public address; private ones are open only when the flag OUTBOUND_SSRF_GUARD_ENABLED is off, which turns the guard off for every outgoing call"

/** Origin and path alone: no credentials, no query. */
const shown = (url: URL): string => `${url.protocol}//${url.host}${url.pathname}`

const schemes = (purpose: UrlPurpose, httpsOnly: boolean): ReadonlyArray<string> =>
  purpose === "proxy" ? ["http:", "https:", "socks5:"] : httpsOnly ? ["https:"] : ["http:", "https:"]

export const make = (options: Options): AddressGuard => {
  const resolve = options.resolve ?? Resolver.system
  const httpsOnly = new Set(options.httpsOnly ?? [])
  const timeoutMs = options.resolveTimeoutMs ?? defaultResolveTimeoutMs

  const blocked = (url: string, reason: Reason, message: string): UrlBlocked => new UrlBlocked({ url, reason, message })

  const judge = (url: string, host: string, address: string, purpose: UrlPurpose): UrlBlocked | null => {
    if (AddressRules.isMetadataName(host)) {
      return blocked(url, "metadata", `${host} is refused: ${metadataKnob}`)
    }
    const category = AddressRules.categoryOf(address)
    if (category === null) return blocked(url, "malformed", `${host} is refused: it resolves to something that is not an address`)
    if (AddressRules.allows(category, purpose, options.policy()) || category === "public") return null
    const via = host === address ? host : `${host} (${address})`
    return blocked(url, reasons[category], `${via} is refused as a ${purpose} URL (${reasons[category]}): ${knobOf(category, purpose)}`)
  }

  const parse = (text: string, purpose: UrlPurpose): URL | UrlBlocked => {
    if (text.length > maxUrlLength) return blocked("", "malformed", `the URL is longer than ${maxUrlLength} characters`)
    const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
    const allowed = schemes(purpose, httpsOnly.has(purpose))
    if (scheme === undefined) return blocked("", "malformed", "the URL has no scheme")
    if (!allowed.includes(`${scheme}:`)) {
      return blocked("", "scheme", `the scheme ${scheme} is refused; use ${allowed.map((name) => `${name}//`).join(" or ")}`)
    }
    // The URL standard normalises hosts (decimal, octal, hex, full-width, percent) for http alone: read a proxy URL as http.
    const url = URL.parse(scheme === "socks5" ? text.replace(/^\s*socks5:/i, "http:") : text)
    if (url === null || url.hostname === "") return blocked("", "malformed", "the URL cannot be read")
    if (purpose !== "proxy" && (url.username !== "" || url.password !== "")) {
      return blocked(shown(url), "credentials", "the URL carries credentials; send them in a header")
    }
    return url
  }

  const lookup = (url: string, host: string) =>
    Effect.callback<ReadonlyArray<string>, UrlBlocked>((resume) => {
      resolve(host, (error, addresses) => {
        resume(
          error === null && addresses.length > 0
            ? Effect.succeed(addresses)
            : Effect.fail(blocked(url, "unresolvable", `the name ${host} cannot be resolved`))
        )
      })
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeoutMs,
        orElse: () => Effect.fail(blocked(url, "unresolvable", `the name ${host} was not resolved within ${timeoutMs} ms`))
      })
    )

  return {
    checkAddress: (host, address, purpose) => judge(host, host, address, purpose),
    check: Effect.fnUntraced(function*(text, purpose) {
      const url = parse(text, purpose)
      if (url instanceof UrlBlocked) return yield* url
      const host = url.hostname.replace(/^\[|\]$/g, "")
      const label = shown(url)
      if (AddressRules.isMetadataName(host)) return yield* blocked(label, "metadata", `${host} is refused: ${metadataKnob}`)
      const addresses = AddressRules.parseAddress(host) !== null ? [host] : yield* lookup(label, host)
      for (const address of addresses) {
        const problem = judge(label, host, address, purpose)
        if (problem !== null) return yield* problem
      }
      return addresses
    })
  }
}

/** The guard over the runtime flags. */
export const layer = (options: Omit<Options, "policy"> = {}): Layer.Layer<UrlGuard, never, Flags> =>
  Layer.effect(
    UrlGuard,
    Effect.map(Flags, (flags) =>
      UrlGuard.of(make({
        ...options,
        policy: () => ({
          local: flags.isOn("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS"),
          private: flags.isOn("GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS"),
          guard: flags.isOn("OUTBOUND_SSRF_GUARD_ENABLED")
        })
      })))
  )
