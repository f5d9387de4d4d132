/** Where a request comes from: this machine or not, the same origin or another one. Pure over its headers and addresses. */

export interface Head {
  readonly method: string
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Transport peer. */
  readonly peerAddress: string | null
  /** Client address, after a trusted proxy was unwrapped. */
  readonly remoteAddress: string | null
}

const isLoopbackAddress = (address: string | null): boolean =>
  address !== null && (/^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i.test(address) || address === "::1" || address === "0:0:0:0:0:0:0:1")

const forwardingHeaders = ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host", "via", "cf-connecting-ip"] as const

/** Host name of a Host header or an origin, lower case, default port removed. */
const authority = (host: string): string => host.trim().toLowerCase().replace(/:(80|443)$/, "")

const hostname = (host: string): string => {
  const name = authority(host)
  return name.startsWith("[") ? name.slice(0, name.indexOf("]") + 1) : name.replace(/:\d+$/, "")
}

const loopbackNames = new Set(["localhost", "[::1]"])

const isLoopbackHost = (host: string | undefined): boolean => {
  if (host === undefined) return true
  const name = hostname(host)
  return loopbackNames.has(name) || isLoopbackAddress(name)
}

/**
 * True when the caller sits on this machine. A forwarding header means that a proxy on this machine speaks for somebody
 * else; a Host that is no loopback name means that a browser was tricked into calling us (DNS rebinding).
 */
export const isLoopback = (head: Head): boolean =>
  isLoopbackAddress(head.peerAddress) && isLoopbackAddress(head.remoteAddress) &&
  forwardingHeaders.every((name) => head.headers[name] === undefined) && isLoopbackHost(head.headers["host"])

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
 * May a browser's ambient authority (cookie, loopback, open management) be used for this call? The Origin, or else the
 * Referer, must name our own host; a caller that sends neither is no browser, unless Sec-Fetch-Site says cross-site.
 */
export const isSameOrigin = (head: Head): boolean => {
  const host = head.headers["host"]
  const claimed = head.headers["origin"] ?? head.headers["referer"]
  if (claimed !== undefined) {
    const origin = hostOf(claimed)
    // A page cannot send x-forwarded-host to another origin, so it only ever speaks for a proxy that rewrote Host.
    return origin !== null && [host, head.headers["x-forwarded-host"]].some((own) => own !== undefined && authority(own) === origin)
  }
  const site = head.headers["sec-fetch-site"]
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
