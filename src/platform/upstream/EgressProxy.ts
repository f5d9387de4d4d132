/**
 * Tunnels through an egress proxy: HTTP CONNECT (over TCP or TLS) and SOCKS5.
 *
 * A tunnel is a few bytes each way; made here, it can be cancelled at any time and says whose fault a failure is. The target's
 * name is resolved by the proxy: names that are (or spell) a blocked address are refused before the proxy sees them; what the
 * proxy resolves is the proxy operator's responsibility.
 */
import * as net from "node:net"
import * as Redacted from "effect/Redacted"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import { codeOf } from "#actors/thrown.ts"
import type { Dial, Dialed, Dialer, SessionSlot, DialTarget } from "./Dialer.ts"
import { peerOf } from "./Dialer.ts"
import { isLocalName, isMetadataName } from "./addressRules.ts"
import { DialError } from "./failures.ts"

/** What the URL of a proxy says. */
export interface ProxyUrl {
  readonly type: "http" | "https" | "socks5"
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
}

/** Bytes of a proxy's greeting that are read before giving up. */
const maxGreetingBytes = 16 * 1024

const defaultPorts = { http: 80, https: 443, socks5: 1080 } as const

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Reads a proxy URL (`http`, `https` or `socks5`, credentials inside); a string says what is wrong with it. */
export const parse = (url: string): ProxyUrl | string => {
  // The host of a scheme that the URL standard does not know is not normalised: read it as http.
  const scheme = /^(https?|socks5):\/\//i.exec(url)?.[1]?.toLowerCase() as ProxyUrl["type"] | undefined
  if (scheme === undefined) return "the proxy URL must start with http://, https:// or socks5://"
  const parsed = URL.parse(url.replace(/^[a-z0-9]+:/i, scheme === "socks5" ? "http:" : `${scheme}:`))
  if (parsed === null) return "the proxy URL cannot be read"
  // A port that is the default of the borrowed scheme vanishes from `port`; look at the text for it.
  const explicit = scheme === "socks5" && /:80(?:\/|$)/.test(url) ? 80 : Number(parsed.port)
  return {
    type: scheme,
    host: parsed.hostname.replace(/^\[|\]$/g, ""),
    port: explicit === 0 ? defaultPorts[scheme] : explicit,
    username: decode(parsed.username),
    password: decode(parsed.password)
  }
}

/** One step of a handshake: needs more bytes, or says what to write next, or is done with `rest` left over. */
type Reading =
  | { readonly _tag: "More" }
  | { readonly _tag: "Write"; readonly bytes: Buffer; readonly rest: Buffer; readonly next: Reader }
  | { readonly _tag: "Done"; readonly rest: Buffer }
  /** `ofTarget`: the proxy itself is well. */
  | { readonly _tag: "Refused"; readonly message: string; readonly ofTarget: boolean }
type Reader = (bytes: Buffer) => Reading

const more: Reading = { _tag: "More" }
const refused = (message: string, ofTarget = false): Reading => ({ _tag: "Refused", message, ofTarget })

const readConnectHead: Reader = (bytes) => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return more
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(bytes.toString("latin1", 0, end))?.[1]
  if (status === undefined) return refused("did not answer CONNECT with HTTP/1.1")
  if (status[0] === "2") return { _tag: "Done", rest: bytes.subarray(end + 4) }
  return status === "407" ? refused("asks for other credentials (407)") : refused(`refused the tunnel (status ${status})`, true)
}

const hasCredentials = ({ password, username }: OutboundProxy): boolean => Redacted.value(username) !== "" || Redacted.value(password) !== ""

const connectRequest = (proxy: OutboundProxy, target: DialTarget): Buffer => {
  const peer = peerOf(target)
  const authorization = hasCredentials(proxy)
    ? `proxy-authorization: Basic ${Buffer.from(`${Redacted.value(proxy.username)}:${Redacted.value(proxy.password)}`).toString("base64")}\r\n`
    : ""
  return Buffer.from(`CONNECT ${peer} HTTP/1.1\r\nhost: ${peer}\r\n${authorization}\r\n`, "latin1")
}

/** RFC 1928, section 6. */
const socksReplies: ReadonlyArray<string> = [
  "succeeded", "general failure", "not allowed by its rules", "network unreachable", "host unreachable", "connection refused",
  "TTL expired", "command not supported", "address type not supported"
]

/** Those of them that tell of the target, and not of the proxy. */
const targetCodes: ReadonlySet<number> = new Set([2, 3, 4, 5, 6, 8])

const socksAddress = (host: string): Buffer => {
  if (net.isIPv4(host)) return Buffer.from([1, ...host.split(".").map(Number)])
  if (net.isIPv6(host)) {
    const halves = host.split("::")
    const groups = (part: string | undefined): ReadonlyArray<number> =>
      part === undefined || part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))
    const head = groups(halves[0])
    const tail = halves.length === 2 ? groups(halves[1]) : []
    const all = [...head, ...Array.from<number>({ length: 8 - head.length - tail.length }).fill(0), ...tail]
    return Buffer.from([4, ...all.flatMap((group) => [group >> 8, group & 255])])
  }
  const name = Buffer.from(host, "latin1")
  return Buffer.concat([Buffer.from([3, name.length]), name])
}

const socksReader = (proxy: OutboundProxy, target: DialTarget): Reader => {
  const request = Buffer.concat([Buffer.from([5, 1, 0]), socksAddress(target.host), Buffer.from([target.port >> 8, target.port & 255])])
  const readReply: Reader = (bytes) => {
    if (bytes.length < 5) return more
    if (bytes[0] !== 5) return refused("does not speak SOCKS5")
    const code = bytes[1] ?? 1
    if (code !== 0) return refused(`could not open the tunnel: ${socksReplies[code] ?? `code ${code}`}`, targetCodes.has(code))
    const length = bytes[3] === 1 ? 10 : bytes[3] === 4 ? 22 : 7 + (bytes[4] ?? 0)
    return bytes.length < length ? more : { _tag: "Done", rest: bytes.subarray(length) }
  }
  const readAuthentication: Reader = (bytes) => {
    if (bytes.length < 2) return more
    if (bytes[1] !== 0) return refused("rejected the credentials")
    return { _tag: "Write", bytes: request, rest: bytes.subarray(2), next: readReply }
  }
  return (bytes) => {
    if (bytes.length < 2) return more
    if (bytes[0] !== 5) return refused("does not speak SOCKS5")
    const rest = bytes.subarray(2)
    if (bytes[1] === 0) return { _tag: "Write", bytes: request, rest, next: readReply }
    if (bytes[1] !== 2 || Redacted.value(proxy.username) === "") return refused("accepts no authentication method that we have")
    const user = Buffer.from(Redacted.value(proxy.username))
    const password = Buffer.from(Redacted.value(proxy.password))
    if (user.length > 255 || password.length > 255) return refused("takes credentials of at most 255 bytes")
    const bytesOut = Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password])
    return { _tag: "Write", bytes: bytesOut, rest, next: readAuthentication }
  }
}

/** Runs a handshake on an open socket; the socket is handed on paused, without listeners. */
const handshake = (socket: net.Socket, first: Buffer, reader: Reader, label: string, done: (error: DialError | null) => void): void => {
  let bytes: Buffer = Buffer.alloc(0)
  let read = reader
  const finish = (error: DialError | null) => {
    socket.removeListener("readable", onReadable)
    socket.removeListener("error", onError)
    socket.removeListener("close", onClose)
    if (error !== null) socket.destroy()
    done(error)
  }
  const fail = (message: string, ofTarget = false) => finish(new DialError("proxy", `${label} ${message}`, undefined, ofTarget))
  const onError = (error: Error) => fail(`broke the connection (${error.message})`)
  const onClose = () => fail("closed the connection during the handshake")
  const onReadable = () => {
    for (let chunk: unknown = socket.read(); Buffer.isBuffer(chunk); chunk = socket.read()) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    }
    for (;;) {
      const step = read(bytes)
      switch (step._tag) {
        case "More":
          if (bytes.length > maxGreetingBytes) fail("sent too long an answer")
          return
        case "Write":
          bytes = step.rest
          read = step.next
          socket.write(step.bytes)
          break
        case "Done":
          if (step.rest.length > 0) socket.unshift(step.rest)
          return finish(null)
        case "Refused":
          return fail(step.message, step.ofTarget)
      }
    }
  }
  socket.on("readable", onReadable)
  socket.on("error", onError)
  socket.on("close", onClose)
  socket.write(first)
}

/** What the guard can say of a target that the proxy will resolve: null when the tunnel may be asked for. */
const refuseTarget = (dialer: Dialer, target: DialTarget): DialError | null => {
  const address = net.isIP(target.host) !== 0
    ? target.host
    : isMetadataName(target.host) ? "169.254.169.254" : isLocalName(target.host) ? "127.0.0.1" : null
  const problem = address === null ? null : dialer.checkAddress(target.host, address, "provider")
  return problem === null ? null : new DialError("blocked-url", problem.message, problem)
}

/** What came of it, without the proxy's address: clients read it, and operators find the address by the id. */
const unreachable = (label: string, error: DialError | null): DialError => {
  const reason = error?.reason === "blocked-url" ? "blocked-url" : "proxy"
  const detail = error === null ? "unknown" : codeOf(error.cause) || error.reason
  return new DialError(reason, `${label} cannot be reached (${detail})`, error)
}

/**
 * Connects to `target` through `proxy`; every failure of the proxy has the reason `proxy`, and nothing ever goes direct. `connectMs`:
 * time for TCP and TLS to the proxy, for what it then does the call's own deadline holds.
 */
export const connect = (
  dialer: Dialer, proxy: OutboundProxy, connectMs: number, target: DialTarget, proxySessions: SessionSlot, sessions: SessionSlot, done: Dialed
): Dial => {
  const refusal = refuseTarget(dialer, target)
  if (refusal !== null) {
    const late = setImmediate(() => done(refusal, null))
    return { cancel: () => clearImmediate(late) }
  }
  const label = `the proxy ${proxy.id}`
  let cancelled = false
  const overdue = setTimeout(() => {
    current.cancel()
    done(new DialError("proxy", `${label} cannot be reached: no connection was made within ${connectMs} ms (PROXY_FAST_FAIL_TIMEOUT_MS)`), null)
  }, connectMs)
  let current: Dial = dialer.connect({ host: proxy.host, port: proxy.port, secure: proxy.secure, family: proxy.family }, "proxy", proxySessions, null, (error, socket) => {
    clearTimeout(overdue)
    if (socket === null) return done(unreachable(label, error), null)
    current = {
      cancel: () => socket.destroy()
    }
    const methods = Redacted.value(proxy.username) === "" ? [5, 1, 0] : [5, 2, 0, 2]
    const first = proxy.kind === "socks5" ? Buffer.from(methods) : connectRequest(proxy, target)
    const reader = proxy.kind === "socks5" ? socksReader(proxy, target) : readConnectHead
    handshake(socket, first, reader, label, (failure) => {
      if (cancelled) return
      if (failure !== null) return done(failure, null)
      if (!target.secure) return done(null, socket)
      current = dialer.secure(socket, target, sessions, done)
    })
  })
  return {
    cancel: () => {
      cancelled = true
      clearTimeout(overdue)
      current.cancel()
    }
  }
}
