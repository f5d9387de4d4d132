/** Opens the listening socket and says why when it cannot. */
import * as Effect from "effect/Effect"
import { ServeError } from "effect/http/HttpServerError"
import { promises as Dns } from "node:dns"
import * as Fs from "node:fs"
import * as Net from "node:net"
import { LISTEN_EXCLUSIVE, LISTEN_SHARED, makeApp, native, type NativeApp, type NativeListenSocket } from "#src/platform/server/uws/native.ts"
import type { TlsOptions } from "./ServerOptions.ts"

export type ListenFailure = "AddressInUse" | "AddressUnavailable" | "PermissionDenied" | "HostUnknown" | "TlsUnusable" | "Unknown"

/** Caught by the tag of effect's `ServeError`; `reason` says what to change. */
export class ListenError extends ServeError {
  readonly reason: ListenFailure
  readonly host: string
  readonly port: number

  constructor(reason: ListenFailure, host: string, port: number, cause: unknown) {
    super({ cause })
    this.reason = reason
    this.host = host
    this.port = port
    this.message = explain(reason, host, port, cause)
  }
}

const explain = (reason: ListenFailure, host: string, port: number, cause: unknown): string => {
  const at = `${host}:${port}`
  switch (reason) {
    case "AddressInUse":
      return `Cannot listen on ${at}: the port is in use. Stop the other process, choose another port, or start every process on it with reusePort`
    case "AddressUnavailable":
      return `Cannot listen on ${at}: this machine has no such address. Use 0.0.0.0, ::, or an address of one of its interfaces`
    case "PermissionDenied":
      return `Cannot listen on ${at}: permission denied. Use a port from 1024 up, or grant CAP_NET_BIND_SERVICE`
    case "HostUnknown":
      return `Cannot listen on ${at}: the host name does not resolve. Give an IP address`
    case "TlsUnusable":
      return `Cannot listen on ${at} with TLS: ${cause instanceof Error ? cause.message : String(cause)}. Check keyFile, certFile and passphrase`
    case "Unknown":
      return `Cannot listen on ${at}: ${cause instanceof Error ? cause.message : "the operating system refused the socket"}`
  }
}

const failures: Record<string, ListenFailure> = {
  EADDRINUSE: "AddressInUse",
  EADDRNOTAVAIL: "AddressUnavailable",
  EACCES: "PermissionDenied"
}

/** The native server only says no; node says why. */
const diagnose = (host: string, port: number): Effect.Effect<never, ListenError> =>
  Effect.flatMap(
    Effect.callback<ListenError>((resume) => {
      const probe = Net.createServer()
      const done = (cause: NodeJS.ErrnoException | undefined) =>
        resume(Effect.succeed(new ListenError(failures[cause?.code ?? ""] ?? "Unknown", host, port, cause)))
      probe.once("error", done)
      probe.listen({ host, port, exclusive: true }, () => probe.close(() => done(undefined)))
    }),
    Effect.fail
  )

/** The IP address of a host name. */
export const resolve = (host: string, port: number): Effect.Effect<string, ListenError> =>
  Net.isIP(host) !== 0 ? Effect.succeed(host) : Effect.tryPromise({
    try: () => Dns.lookup(host).then((found) => found.address),
    catch: (cause) => new ListenError("HostUnknown", host, port, cause)
  })

/** Makes the app; files are read first because the native side reports a bad one only as a failed app. */
export const open = (host: string, port: number, tls: TlsOptions | undefined): Effect.Effect<NativeApp, ListenError> =>
  Effect.try({
    try: () => {
      if (tls === undefined) return makeApp(undefined)
      Fs.accessSync(tls.keyFile, Fs.constants.R_OK)
      Fs.accessSync(tls.certFile, Fs.constants.R_OK)
      return makeApp({
        key_file_name: tls.keyFile,
        cert_file_name: tls.certFile,
        ...(tls.passphrase === undefined ? undefined : { passphrase: tls.passphrase })
      })
    },
    catch: (cause) => new ListenError("TlsUnusable", host, port, cause)
  })

export interface Listening {
  readonly ip: string
  readonly port: number
  readonly socket: NativeListenSocket
}

export const listen = Effect.fnUntraced(function*(app: NativeApp, host: string, port: number, reusePort: boolean) {
  const ip = yield* resolve(host, port)
  const socket = yield* Effect.callback<NativeListenSocket | false>((resume) => {
    app.listen(ip, port, reusePort ? LISTEN_SHARED : LISTEN_EXCLUSIVE, (socket) => resume(Effect.succeed(socket)))
  })
  if (socket === false) return yield* diagnose(ip, port)
  const listening: Listening = { ip, port: native.us_socket_local_port(socket), socket }
  return listening
})
