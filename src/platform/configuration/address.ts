/** The gateway's own address as its settings have it. */
import type { Values } from "./Settings.ts"

type Listening = Pick<Values, "host" | "tlsCert">

/** Loopback in the place of an address that means all of the machine's. */
const everyAddress: ReadonlyMap<string, string> = new Map([["0.0.0.0", "127.0.0.1"], ["::", "::1"]])

export const schemeOf = ({ tlsCert }: Pick<Values, "tlsCert">): "http" | "https" => tlsCert === null ? "http" : "https"

/** `port` is the one that it listens on: the operator may have let the system choose. */
export const urlOf = (settings: Listening, port: number): string =>
  `${schemeOf(settings)}://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`

/** The same for callers on this machine. */
export const localUrlOf = (settings: Listening, port: number): string =>
  urlOf({ ...settings, host: everyAddress.get(settings.host) ?? settings.host }, port)
