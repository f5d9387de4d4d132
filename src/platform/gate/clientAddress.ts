/** The address of the client behind reverse proxies, read from the right: only what a trusted proxy wrote is believed. Pure. */
import * as IpRange from "#actors/keys/ipRange.ts"
import { isForwarded, isLoopbackAddress } from "./loopback.ts"

type Header = (lowerCaseName: string) => string | undefined

/** Most proxies that are looked through. */
const HOPS_MAX = 16
/** Longest header that is read, characters. */
const HEADER_MAX = 2_048

/** The address of one hop without its port; null when it is none, as `unknown` and `_hidden` are. */
const addressOf = (hop: string): string | null => {
  const text = hop.trim()
  const bare = text.startsWith("[")
    ? /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? ""
    : text.split(":").length === 2 ? text.slice(0, text.indexOf(":")) : text
  if (IpRange.parse(bare) === null) return null
  return bare.replace(/^::ffff:(?=\d+\.)/i, "")
}

/** RFC 7239: the `for` of each element, in the order of the header; null where an element has none. */
const hopsOfForwarded = (header: string): ReadonlyArray<string> =>
  // Commas and semicolons inside a quoted value separate nothing.
  (header.match(/(?:"(?:[^"\\]|\\.)*"|[^,])+/g) ?? []).map((element) => {
    const [, quoted, token] = /(?:^|;)\s*for\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(element) ?? []
    return (quoted ?? token ?? "").replace(/\\(.)/g, "$1")
  })

/** The last hop that no trusted proxy is, or the first of all; empty where a hop cannot be read. */
const clientOf = (hops: ReadonlyArray<string>, isTrusted: (address: string) => boolean): string => {
  let client = ""
  for (const hop of hops.slice(-HOPS_MAX).reverse()) {
    const address = addressOf(hop)
    if (address === null) return ""
    client = address
    if (!isTrusted(address)) return client
  }
  return hops.length > HOPS_MAX ? "" : client
}

/**
 * `trusted`: addresses and ranges of GATEWAY_TRUSTED_PROXIES. Empty means that the client is not known, which no rule takes for
 * this machine. It is not known either when an untrusted proxy on this machine passes a request on.
 */
export const make = (trusted: ReadonlyArray<string>) => {
  const isTrusted = (address: string): boolean => IpRange.contains(trusted, address)
  return (peer: string, header: Header): string => {
    if (trusted.length === 0 || !isTrusted(peer)) return isLoopbackAddress(peer) && isForwarded(header) ? "" : peer
    const [list, elements] = [header("x-forwarded-for"), header("forwarded")]
    if (list === undefined && elements === undefined) return isForwarded(header) ? "" : peer
    if ((list?.length ?? 0) > HEADER_MAX || (elements?.length ?? 0) > HEADER_MAX) return ""
    const byList = list === undefined ? null : clientOf(list.split(","), isTrusted)
    const byElements = elements === undefined ? null : clientOf(hopsOfForwarded(elements), isTrusted)
    // A proxy writes one of the two; the other one then comes from the client, and is a lie unless it says the same.
    return byList !== null && byElements !== null && byList !== byElements ? "" : byList ?? byElements ?? ""
  }
}
