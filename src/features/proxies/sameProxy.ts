/** Whether two records are the same proxy: where it is and what it is told, whatever it is called. Pure. */
import * as Redacted from "effect/Redacted"
import type { Proxy } from "#schemas/egress/Proxy.ts"

type Place = Pick<Proxy, "type" | "host" | "port" | "username" | "password">

export const plain = (secret: Redacted.Redacted<string> | null): string | null => secret === null ? null : Redacted.value(secret)

/** The same text for the same proxy. It holds the credentials: for memory only. */
export const identityOf = ({ host, password, port, type, username }: Place): string => JSON.stringify([type, host, port, plain(username), plain(password)])

export const isSame = (a: Place, b: Place): boolean =>
  a.type === b.type && a.host === b.host && a.port === b.port && plain(a.username) === plain(b.username) && plain(a.password) === plain(b.password)
