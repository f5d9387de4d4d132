/** What strategies remember between requests, and which connection a session is pinned to: bounded, of this process. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Memory, Moment } from "#src/routing/models/candidate.ts"
import { Generations } from "#src/routing/models/Generations.ts"

/** Memories and pins that are surely kept; up to twice as many are. */
const keptEntries = 10_000

/** Memories by the key of `memoryKey`; a null key remembers nothing. */
export class Memories {
  private readonly held = new Generations<NonNullable<Memory>>(keptEntries)

  get(key: string | null): Memory {
    return key === null ? null : this.held.get(key) ?? null
  }

  /** Cheap when nothing changed, which is the rule. */
  set(key: string | null, before: Memory, after: Memory): void {
    if (key === null || before === after) return
    this.held.set(key, after ?? forgotten)
  }

  entries(): IterableIterator<[string, NonNullable<Memory>]> {
    return this.held.entries()
  }

  clear(): void {
    this.held.clear()
  }
}

const forgotten: NonNullable<Memory> = {}

interface Pin {
  connectionId: string
  /** ms since the epoch. */
  until: number
}

/** Session affinity (settings.sessionAffinityTtlMs, 0 = off): a session keeps the connection that answered it, per provider and key. */
export class SessionPins {
  private readonly held = new Generations<Pin>(keptEntries)

  /** Id of the connection the session is pinned to at this provider; null without one. */
  of(provider: string, ttlMs: number, moment: Pick<Moment, "keyId" | "now" | "session">): string | null {
    if (ttlMs <= 0 || moment.session === null) return null
    const pin = this.held.get(keyOf(provider, moment.keyId, moment.session))
    return pin === undefined || pin.until <= moment.now ? null : pin.connectionId
  }

  /** Pins the session to the connection that answered; each answer begins the time anew. */
  keep(target: Target, ttlMs: number, moment: Pick<Moment, "keyId" | "now" | "session">): void {
    if (ttlMs <= 0 || moment.session === null || target.connection === null) return
    const key = keyOf(target.provider, moment.keyId, moment.session)
    const pin = this.held.get(key)
    if (pin === undefined) this.held.set(key, { connectionId: target.connection.id, until: moment.now + ttlMs })
    else {
      pin.connectionId = target.connection.id
      pin.until = moment.now + ttlMs
    }
  }

  clear(): void {
    this.held.clear()
  }
}

const keyOf = (provider: string, keyId: string | null, session: string): string => `${provider}\n${keyId ?? ""}\n${session}`
