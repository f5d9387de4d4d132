/** What strategies remember between requests, and which connection a session is pinned to: bounded, of this process. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Candidate, Memory, Moment } from "#src/routing/models/candidate.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import { prefixHashOf } from "#src/routing/strategies/fit.ts"

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

export interface CachePin {
  readonly executionKey: string
  /** ms since the epoch. */
  readonly until: number
}

/** How nodes name a conversation to each other, and how one tells the others of it. */
export interface CachePinNews {
  readonly keyOf: (conversation: string) => string
  readonly tell: (key: string, pin: CachePin) => void
}

type Asked = Pick<Moment, "keyId" | "now" | "promptPrefix" | "session">

/** The longest that vendors keep a prompt after its last use, unless one pays for more: 1 h. */
const cachedMs = 3_600_000
/** A conversation that stays where it is is told to other nodes once in this time, ms. */
const toldAgainMs = 60_000
/** A shorter prompt is cached by no vendor, and its beginning holds what changes with each turn. */
const leastPrefix = 2_048

/** Combos with `context_cache_protection`: a conversation keeps the target that answered it, because its vendor holds the prompt's cache there. */
export class CachePins {
  private readonly held = new Generations<CachePin>(keptEntries)
  /** What other nodes told, by their name of the conversation. */
  private readonly heard = new Generations<CachePin>(keptEntries)
  private hears = false
  /** Null for a node that is alone. */
  news: CachePinNews | null = null

  /** Another node's word. */
  readonly onPin = (key: string, pin: CachePin): void => {
    this.hears = true
    this.heard.set(key, pin)
  }

  /** The order with the conversation's own target first; the same list where there is none, or it is first. */
  first(comboId: string, order: ReadonlyArray<Candidate>, moment: Asked): ReadonlyArray<Candidate> {
    const key = conversationOf(comboId, moment)
    const pin = key === null ? undefined : this.newest(key)
    if (pin === undefined || pin.until <= moment.now) return order
    const at = order.findIndex(({ executionKey }) => executionKey === pin.executionKey)
    return at <= 0 ? order : [order[at] as Candidate, ...order.slice(0, at), ...order.slice(at + 1)]
  }

  /** The candidate answered; each answer begins the time anew. */
  keep(comboId: string, { executionKey }: Pick<Candidate, "executionKey">, moment: Asked): void {
    const key = conversationOf(comboId, moment)
    if (key === null) return
    const pin: CachePin = { executionKey, until: moment.now + cachedMs }
    const before = this.held.get(key)
    this.held.set(key, pin)
    if (this.news === null) return
    const isKnown = before !== undefined && this.newest(key) === pin && before.executionKey === executionKey && pin.until - before.until < toldAgainMs
    // What is not told again keeps the time at which it was told.
    if (isKnown) this.held.set(key, { executionKey, until: before.until })
    else this.news.tell(this.news.keyOf(key), pin)
  }

  clear(): void {
    this.held.clear()
    this.heard.clear()
  }

  /** This node's own or another's, whichever is newer. */
  private newest(key: string): CachePin | undefined {
    const own = this.held.get(key)
    const other = this.hears && this.news !== null ? this.heard.get(this.news.keyOf(key)) : undefined
    return own === undefined || (other !== undefined && other.until > own.until) ? other : own
  }
}

/** By its session, else by the beginning of its prompt; null when neither is known. */
const conversationOf = (comboId: string, moment: Asked): string | null => {
  const { keyId, session } = moment
  if (session !== null) return `${comboId}\n${keyId ?? ""}\ns${session}`
  const { promptPrefix } = moment
  return promptPrefix.length < leastPrefix ? null : `${comboId}\n${keyId ?? ""}\np${prefixHashOf(promptPrefix)}`
}

const keyOf = (provider: string, keyId: string | null, session: string): string => `${provider}\n${keyId ?? ""}\n${session}`
