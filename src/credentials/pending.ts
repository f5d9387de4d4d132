/** Sign-ins that have begun and are not finished: bounded, short-lived, in memory only. Each state is handed out once. */
import type { Purpose } from "#actors/ports/SignIns.ts"

interface Common {
  readonly provider: string
  readonly purpose: Purpose
  readonly tokenUrl: string
  readonly expiresAt: number
}

export interface CodeFlow extends Common {
  readonly flow: "authorization-code"
  readonly verifier: string
  readonly redirectUri: string
}

export interface DeviceFlow extends Common {
  readonly flow: "device-code"
  readonly deviceCode: string
  intervalMs: number
  /** No question to the vendor before this time. */
  nextPollAt: number
  /** A question is on its way. */
  asking: boolean
}

export type Entry = CodeFlow | DeviceFlow

/** Sign-ins that may be pending at once; the oldest goes first. */
const ENTRIES_MAX = 256

export class PendingSignIns {
  readonly #entries = new Map<string, Entry>()

  add(state: string, entry: Entry, now: number): void {
    for (const [known, one] of this.#entries) if (one.expiresAt <= now) this.#entries.delete(known)
    while (this.#entries.size >= ENTRIES_MAX) this.#entries.delete(this.#entries.keys().next().value as string)
    this.#entries.set(state, entry)
  }

  /** The entry of a state with this provider and flow, else undefined: another provider's state is no state. */
  find<F extends Entry["flow"]>(state: string, provider: string, flow: F): Extract<Entry, { readonly flow: F }> | undefined {
    const entry = this.#entries.get(state)
    return entry !== undefined && entry.provider === provider && entry.flow === flow ? entry as Extract<Entry, { readonly flow: F }> : undefined
  }

  remove(state: string): void {
    this.#entries.delete(state)
  }
}
