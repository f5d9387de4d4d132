/** Why a tunnel was not changed as asked. */
import * as Schema from "effect/Schema"

export class TunnelError extends Schema.TaggedError<TunnelError>()("TunnelError", {
  reason: Schema.Literals([
    /** GATEWAY_TUNNELS is off. */
    "off",
    /** The programs do not run on this system. */
    "unsupported",
    "not_installed",
    /** Strangers would need no key. */
    "unguarded",
    /** No tailscaled answers. */
    "no_daemon",
    /** The program says that it failed. */
    "failed"
  ]),
  message: Schema.String
}) {}

export const make = (reason: TunnelError["reason"], message: string): TunnelError => new TunnelError({ reason, message })
