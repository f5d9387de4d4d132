/** Opens sockets: DNS, the guard on every resolved address, TCP, TLS; each attempt can be cancelled and fails with its own reason. */
import * as net from "node:net"
import * as tls from "node:tls"
import type { UrlBlocked, UrlPurpose } from "#actors/ports/UrlGuard.ts"
import { codeOf } from "#actors/thrown.ts"
import { DialError, dialError } from "./failures.ts"
import type { Resolve } from "./Resolver.ts"

/** Where to connect. */
export interface DialTarget {
  /** Host name or address, without brackets. */
  readonly host: string
  readonly port: number
  /** TLS on top. */
  readonly secure: boolean
  /** Which addresses of the name are used; absent or 0 = all. */
  readonly family?: 0 | 4 | 6
}

/** The latest TLS session of one origin, so that the next handshake is shorter. */
export interface SessionSlot {
  session: Buffer | undefined
}

/** Called once, unless the attempt was cancelled. */
export type Dialed = (error: DialError | null, socket: net.Socket | null) => void

export interface Dial {
  /** Closes what is open so far; `Dialed` is not called any more. */
  readonly cancel: () => void
}

export interface Dialer {
  /**
   * Connects directly; every address is checked for `purpose` first (null: trusted), and only checked addresses are dialled.
   * With `onread` the socket's bytes go there and never through its stream.
   */
  readonly connect: (target: DialTarget, purpose: UrlPurpose | null, sessions: SessionSlot, onread: net.OnReadOpts | null, done: Dialed) => Dial
  /** Puts TLS on an open tunnel. */
  readonly secure: (socket: net.Socket, target: DialTarget, sessions: SessionSlot, done: Dialed) => Dial
  readonly checkAddress: CheckAddress
}

export type CheckAddress = (host: string, address: string, purpose: UrlPurpose) => UrlBlocked | null

export interface Options {
  readonly resolve: Resolve
  readonly checkAddress: CheckAddress
  /** Extra certificate authorities in PEM, added to the system's own list. */
  readonly ca?: ReadonlyArray<string> | undefined
}

/** Read-ahead per plain socket that is read as a stream, in bytes: what a paused call holds in this process. */
const plain = { highWaterMark: 64 * 1024 }
/** TLS cannot read ahead more than one record. */
const tlsReadAheadBytes = 16 * 1024
/** First TCP keep-alive probe after this silence, in ms. */
const tcpKeepAliveMs = 60_000

/** `host:port`, with brackets around an IPv6 address. */
export const peerOf = (target: DialTarget): string =>
  net.isIPv6(target.host) ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`

const blocked = (problem: UrlBlocked): DialError => new DialError("blocked-url", problem.message, problem)

const dnsError = (host: string, error: Error | null): DialError =>
  error instanceof DialError
    ? error
    : new DialError("dns", `the name ${host} cannot be resolved${error === null ? "" : ` (${codeOf(error) || error.message})`}`, error)

export const make = (options: Options): Dialer => {
  const { checkAddress, resolve } = options
  const ca = options.ca === undefined || options.ca.length === 0 ? undefined : [...tls.rootCertificates, ...options.ca]

  const lookupFor = (purpose: UrlPurpose | null): net.LookupFunction => (host, lookupOptions, done) => {
    resolve(host, (error, addresses) => {
      if (error !== null || addresses.length === 0) return done(dnsError(host, error), "")
      for (const address of addresses) {
        const problem = purpose === null ? null : checkAddress(host, address, purpose)
        if (problem !== null) return done(blocked(problem), "")
      }
      const family = lookupOptions.family === 4 || lookupOptions.family === 6 ? lookupOptions.family : 0
      const usable = addresses
        .map((address) => ({ address, family: net.isIP(address) }))
        .filter((entry) => family === 0 || entry.family === family)
      const first = usable[0]
      if (first === undefined) return done(dnsError(host, null), "")
      if (lookupOptions.all === true) done(null, usable)
      else done(null, first.address, first.family)
    })
  }

  const secureOptions = (target: DialTarget, sessions: SessionSlot) => ({
    highWaterMark: tlsReadAheadBytes,
    ALPNProtocols: ["http/1.1"],
    ...(net.isIP(target.host) === 0 ? { servername: target.host } : {}),
    ...(sessions.session === undefined ? {} : { session: sessions.session }),
    ...(ca === undefined ? {} : { ca })
  })

  /** Waits for `event` or an error on `socket`. */
  const settle = (socket: net.Socket, target: DialTarget, event: "connect" | "secureConnect", sessions: SessionSlot, tunnel: boolean, done: Dialed): Dial => {
    let open = true
    let tcp = tunnel
    const fail = (error: unknown) => {
      if (!open) return
      open = false
      done(dialError(error, peerOf(target), tcp), null)
    }
    const onClose = () => fail(Object.assign(new Error("closed"), { code: "ECONNRESET" }))
    if (!tunnel) {
      socket.once("connect", () => {
        tcp = true
      })
    }
    if (event === "secureConnect") {
      socket.on("session", (session: Buffer) => {
        sessions.session = session
      })
    }
    // Stays for the life of the socket: an error after the hand-over is reported by the connection's own listener.
    socket.on("error", fail)
    socket.once("close", onClose)
    socket.once(event, () => {
      if (!open) return
      open = false
      socket.removeListener("close", onClose)
      done(null, socket)
    })
    return {
      cancel: () => {
        open = false
        socket.destroy()
      }
    }
  }

  return {
    checkAddress,
    connect: (target, purpose, sessions, onread, done) => {
      if (purpose !== null && net.isIP(target.host) !== 0) {
        const problem = checkAddress(target.host, target.host, purpose)
        if (problem !== null) {
          const late = setImmediate(() => done(blocked(problem), null))
          return { cancel: () => clearImmediate(late) }
        }
      }
      const common = {
        host: target.host,
        port: target.port,
        lookup: lookupFor(purpose),
        autoSelectFamily: true,
        ...(target.family === undefined || target.family === 0 ? {} : { family: target.family }),
        ...(onread === null ? {} : { onread })
      }
      const socket = target.secure
        ? tls.connect({ ...common, ...secureOptions(target, sessions) })
        : net.connect({ ...common, ...plain })
      socket.setNoDelay(true)
      socket.setKeepAlive(true, tcpKeepAliveMs)
      return settle(socket, target, target.secure ? "secureConnect" : "connect", sessions, false, done)
    },
    secure: (socket, target, sessions, done) =>
      settle(tls.connect({ socket, ...secureOptions(target, sessions) }), target, "secureConnect", sessions, true, done)
  }
}
