/** The thoughts that one node keeps. */
import * as Crypto from "node:crypto"
import type { Forgotten, KeptCall, KeptReasoning, Thought } from "#src/inference/ports/pastCalls/KeptReasoning.ts"
import { type Bounds, ExpiringMemory } from "#src/platform/structures/ExpiringMemory.ts"

/** Sizes are characters. */
export const bounds: Bounds = { entries: 10_000, size: 32 * 1024 * 1024, each: 256 * 1024, ttlMs: 2 * 3_600_000 }

const isMeant = (what: Forgotten) => ({ callId, provider }: KeptCall): boolean =>
  what._tag === "All" || (what._tag === "Call" ? callId === what.callId : provider === what.provider)

/** What a call is named by: ids of one caller say nothing to another. */
const keyOf = (scope: string, callId: string): string => Crypto.hash("sha256", `${scope}\n${callId}`, "base64url")

export type KeyedCall = readonly [key: string, callId: string]

export class ReasoningMemory implements Omit<KeptReasoning["Service"], "remember"> {
  private readonly memory: ExpiringMemory<KeptCall>
  private hits = 0
  private misses = 0

  constructor(now: () => number) {
    this.memory = new ExpiringMemory(now, bounds, ({ reasoning }) => reasoning.length)
  }

  readonly keyed = (scope: string, callIds: ReadonlyArray<string>): ReadonlyArray<KeyedCall> => callIds.map((callId) => [keyOf(scope, callId), callId])

  /** False when the thoughts are too long to be kept. */
  readonly put = (calls: ReadonlyArray<KeyedCall>, thought: Thought): boolean => calls.every(([key, callId]) => this.memory.put(key, { callId, ...thought }))

  readonly recall = (scope: string, callId: string): string | null => {
    const known = this.memory.get(keyOf(scope, callId))
    if (known === null) this.misses++
    else this.hits++
    return known === null ? null : known.reasoning
  }

  readonly list = () => this.memory.list()
  readonly counts = () => ({ hits: this.hits, misses: this.misses })
  readonly forget = (what: Forgotten): number => this.memory.forget(isMeant(what))
}
