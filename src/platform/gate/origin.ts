/** Where a request comes from: this machine or not, the same origin or another one. Pure over its headers and addresses. */
import * as Loopback from "./loopback.ts"

export interface Head {
  readonly method: string
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Transport peer. */
  readonly peerAddress: string | null
  /** Client address, after a trusted proxy was unwrapped. */
  readonly remoteAddress: string | null
}

/** Host name and port of a Host header or an origin, lower case, default port removed. */
const authority = (host: string): string => host.trim().toLowerCase().replace(/:(80|443)$/, "")

/** True when the caller sits on this machine and no proxy stands between. */
export const isLoopback = ({ headers, peerAddress, remoteAddress }: Head): boolean =>
  Loopback.isLocal(peerAddress ?? "", remoteAddress ?? "", (name) => headers[name])

const hostOf = (url: string): string | null => {
  try {
    return authority(new URL(url).host)
  } catch {
    return null
  }
}

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"])

export const isMutation = (method: string): boolean => !safeMethods.has(method)

/**
 * May a browser's ambient authority (cookie, loopback, open management, inference without a key) be used for this call? The
 * Origin, or else the Referer, must name our own host; a caller that sends neither is no browser, unless Sec-Fetch-Site says
 * that another origin asks.
 */
export const isSameOrigin = (header: (lowerCaseName: string) => string | undefined): boolean => {
  const claimed = header("origin") ?? header("referer")
  if (claimed !== undefined) {
    const origin = hostOf(claimed)
    // A page cannot send x-forwarded-host to another origin, so it can only come from a proxy that rewrote Host.
    return origin !== null && [header("host"), header("x-forwarded-host")].some((own) => own !== undefined && authority(own) === origin)
  }
  const site = header("sec-fetch-site")
  return site === undefined || site === "same-origin" || site === "none"
}

/** https as far as the cookie is concerned; a forged header can only make a caller's own cookie stricter. */
export const isSecure = (protocol: "http" | "https" | undefined, headers: Head["headers"]): boolean =>
  protocol === "https" || headers["x-forwarded-proto"]?.split(",").some((part) => part.trim() === "https") === true

const requestIdForm = /^[A-Za-z0-9._:-]{1,128}$/

/** The client's own correlation id when it is harmless. */
export const givenRequestId = (headers: Head["headers"]): string | null => {
  const given = headers["x-request-id"]
  return given !== undefined && requestIdForm.test(given) ? given : null
}
