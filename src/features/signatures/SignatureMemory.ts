/** The signatures that one node remembers. */
import * as Crypto from "node:crypto"
import type { Signature } from "#schemas/wire/conversation.ts"
import { type Bounds, ExpiringMemory } from "#src/platform/structures/ExpiringMemory.ts"

/** Signatures are base64, a byte each character. */
export const bounds: Bounds = { entries: 10_000, size: 32 * 1024 * 1024, each: 64 * 1024, ttlMs: 3_600_000 }

export const make = (now: () => number): ExpiringMemory<Signature> => new ExpiringMemory(now, bounds, ({ value }) => value.length)

/** What a call is named by: it has one length, and tells neither the caller nor the id. */
export const keyOf = (scope: string, callId: string): string => Crypto.hash("sha256", `${scope}\n${callId}`, "base64url")
