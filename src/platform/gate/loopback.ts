/** What counts as this machine: addresses, host names, and which headers say that a proxy passed a request on. Pure. */

type Header = (lowerCaseName: string) => string | undefined

/** `127.0.0.0/8` in four decimal parts, also as IPv6 carries it, and `::1`. */
export const isLoopbackAddress = (address: string): boolean =>
  /^(?:::ffff:)?127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/i.test(address) || address === "::1" || address === "0:0:0:0:0:0:0:1"

/** Host name of a Host header: lower case, without its port and without the dot that ends a full name. */
export const hostname = (host: string): string => {
  const name = host.trim().toLowerCase()
  return name.startsWith("[") ? name.replace(/\]:\d*$/, "]") : name.replace(/:\d*$/, "").replace(/\.$/, "")
}

/** A browser never asks a name server for `localhost` or a name below it, so no page can point those elsewhere. */
export const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name === "[::1]" || isLoopbackAddress(name) || /^[a-z0-9.-]+\.localhost$/.test(name)

const forwardingHeaders = ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host", "via", "cf-connecting-ip"] as const

/** A proxy passed the request on for another client. */
export const isForwarded = (header: Header): boolean => forwardingHeaders.some((name) => header(name) !== undefined)

/**
 * The caller sits on this machine. A forwarding header means that a proxy on this machine forwards another client; a Host that is
 * no loopback name means that a browser was tricked into calling us, or that a proxy passes its own name on.
 */
export const isLocal = (peerAddress: string, remoteAddress: string, header: Header): boolean =>
  isLoopbackAddress(peerAddress) && isLoopbackAddress(remoteAddress) && !isForwarded(header) && isLoopbackName(hostname(header("host") ?? "localhost"))
