/** Opens the listening socket and says why when it cannot. */
import * as Effect from "effect/Effect"
import { ServeError } from "effect/http/HttpServerError"
import * as Crypto from "node:crypto"
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

const certificateIn = ({ certFile }: TlsOptions): Crypto.X509Certificate => {
  const pem = Fs.readFileSync(certFile)
  try {
    return new Crypto.X509Certificate(pem)
  } catch (error) {
    throw new Error(`${certFile} holds no certificate in PEM form`, { cause: error })
  }
}

const keyIn = ({ keyFile, passphrase }: TlsOptions): Crypto.KeyObject => {
  const pem = Fs.readFileSync(keyFile)
  try {
    return Crypto.createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) })
  } catch (error) {
    const why = !pem.includes("ENCRYPTED") ? "holds no private key in PEM form" : passphrase === undefined ? "needs a passphrase" : "is not opened by the passphrase"
    throw new Error(`${keyFile} ${why}`, { cause: error })
  }
}

/** Throws what is wrong with the files, and with which of them: the native side only says that it made no app. */
export const checkTls = (tls: TlsOptions): void => {
  const key = keyIn(tls)
  if (!certificateIn(tls).checkPrivateKey(key)) throw new Error(`the key of ${tls.keyFile} is not the one of the certificate in ${tls.certFile}`)
}

/** Makes the app; files are checked first because the native side reports a bad one only as a failed app. */
export const open = (host: string, port: number, tls: TlsOptions | undefined): Effect.Effect<NativeApp, ListenError> =>
  Effect.try({
    try: () => {
      if (tls === undefined) return makeApp(undefined)
      checkTls(tls)
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
