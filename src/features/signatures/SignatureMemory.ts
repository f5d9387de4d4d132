/** The signatures that one node remembers, bounded by number, bytes and age; the oldest goes first. */
import * as Crypto from "node:crypto"
import type { Signature } from "#schemas/wire/conversation.ts"

export interface Bounds {
  readonly entries: number
  /** Of all signatures together. */
  readonly bytes: number
  /** Of one signature; a larger one is not remembered. */
  readonly each: number
  readonly ttlMs: number
}

export const defaultBounds: Bounds = { entries: 10_000, bytes: 32 * 1024 * 1024, each: 64 * 1024, ttlMs: 3_600_000 }

/** What a call is named by: it has one length, and tells neither the caller nor the id. */
export const keyOf = (scope: string, callId: string): string => Crypto.hash("sha256", `${scope}\n${callId}`, "base64url")

interface Held {
  readonly signature: Signature
  /** ms since the epoch. */
  readonly until: number
}

export class SignatureMemory {
  private readonly now: () => number
  private readonly bounds: Bounds
  /** In the order of their coming. All live equally long, so the first one expires first. */
  private readonly held = new Map<string, Held>()
  private bytes = 0

  constructor(now: () => number, bounds = defaultBounds) {
    this.now = now
    this.bounds = bounds
  }

  /** False when the signature is too large to be remembered. */
  put(key: string, signature: Signature): boolean {
    const size = sizeOf(signature)
    if (size > this.bounds.each) return false
    this.drop(key)
    this.held.set(key, { signature, until: this.now() + this.bounds.ttlMs })
    this.bytes += size
    for (const [oldest, { until }] of this.held) {
      if (this.held.size <= this.bounds.entries && this.bytes <= this.bounds.bytes && until > this.now()) break
      this.drop(oldest)
    }
    return true
  }

  get(key: string): Signature | null {
    const known = this.held.get(key)
    return known === undefined || known.until <= this.now() ? null : known.signature
  }

  private drop(key: string): void {
    const known = this.held.get(key)
    if (known === undefined) return
    this.held.delete(key)
    this.bytes -= sizeOf(known.signature)
  }
}

/** Signatures are base64, a byte each character. */
const sizeOf = (signature: Signature): number => signature.value.length
