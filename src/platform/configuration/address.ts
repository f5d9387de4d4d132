/** The gateway's own address as its settings have it. */
import type { Values } from "./Settings.ts"

type Listening = Pick<Values, "host" | "tlsCert">

export const schemeOf = ({ tlsCert }: Pick<Values, "tlsCert">): "http" | "https" => tlsCert === null ? "http" : "https"

/** `port` is the one that it listens on: the operator may have let the system choose. */
export const urlOf = (settings: Listening, port: number): string =>
  `${schemeOf(settings)}://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`
