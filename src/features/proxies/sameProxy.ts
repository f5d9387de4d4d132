/** Whether two records are the same proxy: where it is and what it is told, whatever it is called. Pure. */
import * as Redacted from "effect/Redacted"
import type { Proxy } from "#schemas/egress/Proxy.ts"

export const plain = (secret: Redacted.Redacted<string> | null): string | null => secret === null ? null : Redacted.value(secret)

export const isSame = (a: Proxy, b: Proxy): boolean =>
  a.type === b.type && a.host === b.host && a.port === b.port && plain(a.username) === plain(b.username) && plain(a.password) === plain(b.password)
