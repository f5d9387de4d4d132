/** A proxy that a call leaves by, as the wire needs it. */
import type * as Redacted from "effect/Redacted"

export interface OutboundProxy {
  /** Of its record: what errors and counts name. */
  readonly id: string
  /** Another text after every change of the record: sockets are kept by it. Holds no secret. */
  readonly revision: string
  readonly kind: "http" | "socks5"
  /** Name or address, without brackets. */
  readonly host: string
  readonly port: number
  /** TLS to the proxy itself. */
  readonly secure: boolean
  /** Which addresses of its name are used; 0 = all. */
  readonly family: 0 | 4 | 6
  /** Both empty: it asks for none. */
  readonly username: Redacted.Redacted<string>
  readonly password: Redacted.Redacted<string>
  /** Why no call may leave by it now; null = calls may. */
  readonly refusal: string | null
  /** The proxies that the call may leave by, in their order; this is the first of them. Absent: it leaves by this one and no other. */
  readonly among?: ReadonlyArray<OutboundProxy>
}
