/** Clients seen with a key since the process started: memory only, bounded, addresses masked. */
import * as Context from "effect/Context"

export interface Device {
  /** Masked: the last octet, or all but the first two groups, are gone. */
  readonly ip: string
  readonly userAgent: string
  readonly lastSeenAt: string
}

export class KeyDevices extends Context.Service<KeyDevices, {
  readonly note: (keyId: string, ip: string, userAgent: string, now: number) => void
  /** Newest first. */
  readonly list: (keyId: string) => ReadonlyArray<Device>
  readonly forget: (keyId: string) => void
}>()("gateway/ports/KeyDevices") {}
