/**
 * Which Host headers are answered. A page can point its own name at this machine (DNS rebinding); the browser then calls us with
 * that name, takes us for the page's own server and hands the page every answer. So callers on this machine must use a loopback
 * name or one that the operator listed.
 */
import * as Errors from "#schemas/errors.ts"
import { version } from "#schemas/version.ts"
import type { ExchangeGuard } from "#src/platform/server/Exchange.ts"
import { errorBodyAt } from "#src/wire/errorBodyAt.ts"
import { hostname, isLoopbackAddress, isLoopbackName } from "./loopback.ts"
import type { Names } from "./publicNames.ts"

export interface HostRules {
  /** HOST: the name or address that is listened on. */
  readonly host: string
  /** GATEWAY_PUBLIC_URL. */
  readonly publicUrl: string | null
  /** GATEWAY_ALLOWED_HOSTS; when there is one, every caller is held to the list. */
  readonly allowedHosts: ReadonlyArray<string>
  /** Names that come and go: asked of those alone that are refused else. */
  readonly publicNames?: Pick<Names, "has">
}

const dnsName = /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i
const v6Address = /^\[?[0-9a-f:.]*:[0-9a-f:.]*\]?$/i

/** A name, `*.name`, or an address; never a port. */
export const isPattern = (text: string): boolean => dnsName.test(text) || (v6Address.test(text) && text.split(":").length > 2)

/** IPv6 addresses stand in brackets in a Host header. */
const written = (text: string): string => text.includes(":") && !text.startsWith("[") ? `[${text}]` : text

/** Answers requests that name a host which is not ours with 421; the verdict of the last host is remembered. */
export const guard = ({ allowedHosts, host, publicNames, publicUrl }: HostRules): ExchangeGuard => {
  const own = [host, ...allowedHosts].map((name) => hostname(written(name)))
  if (publicUrl !== null) own.push(hostname(URL.parse(publicUrl)?.host ?? ""))
  const exact = new Set(own.filter((name) => !name.startsWith("*.")))
  const suffixes = own.filter((name) => name.startsWith("*.")).map((name) => name.slice(1))
  const everyCaller = allowedHosts.length > 0 || isLoopbackName(hostname(written(host)))

  const isOurs = (sent: string): boolean => {
    const name = hostname(sent)
    return name === "" || isLoopbackName(name) || exact.has(name) || suffixes.some((suffix) => name.endsWith(suffix) && name.length > suffix.length)
  }

  let last = ""
  let lastIsOurs = true
  return (exchange) => {
    const sent = exchange.header("host") ?? ""
    if (sent !== last) {
      last = sent
      lastIsOurs = isOurs(sent)
    }
    if (lastIsOurs) return false
    if (!everyCaller && !isLoopbackAddress(exchange.peerAddress)) return false
    if (publicNames?.has(hostname(sent)) === true) return false
    const error = Errors.make("host_not_allowed", `This gateway is not called '${hostname(sent).slice(0, 100)}': use a loopback name such as localhost, or add the name to GATEWAY_ALLOWED_HOSTS.`)
    exchange.respond(error.status, ["Content-Type", "application/json", "X-Gateway-Version", version], errorBodyAt(exchange.path)(error))
    return true
  }
}
