/** Hosts of proxies as text. Pure. */
import * as net from "node:net"

/** An address of IPv6 stands in brackets in URLs. */
export const shown = (host: string): string => net.isIPv6(host) ? `[${host}]` : host

/** A name or an address as it is stored: lower case, without brackets, numbers as addresses; null for what is neither. */
export const hostOf = (given: string): string | null => {
  const bare = given.replace(/^\[(.*)\]$/, "$1")
  if (/[\s/@?#\\:%]/.test(net.isIPv6(bare) ? "" : bare)) return null
  const url = URL.parse(`http://${shown(bare)}/`)
  return url === null || url.hostname === "" ? null : url.hostname.replace(/^\[|\]$/g, "")
}
