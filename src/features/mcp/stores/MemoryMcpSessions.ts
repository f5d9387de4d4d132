/** `McpSessions` of a node that is alone: bounded, the oldest goes first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SessionBudget } from "#src/features/mcp/budgetGuard.ts"
import { type McpMessage, McpSessions, type McpSession, MESSAGES_CHARACTERS, MESSAGES_MAX, SESSION_MS } from "#src/features/mcp/ports/McpSessions.ts"
import * as Wakers from "#src/platform/structures/wakers.ts"

/** Sessions that are kept at once. */
const SESSIONS_MAX = 10_000
/** Characters of all sessions; the oldest go first. */
const CHARACTERS_MAX = 134_217_728
/** A beat is as old as this at most, ms. */
const BEAT_MS = 15_000

interface Held {
  session: McpSession
  /** ms since the epoch. */
  until: number
  count: number
  messages: Array<McpMessage>
  /** Characters of the messages. */
  characters: number
  budget: SessionBudget
}

const unbounded: SessionBudget = { guard: null, spent: 0 }

const lengthOf = ({ text }: McpMessage): number => text?.length ?? 0
const charactersOf = ({ characters, session: { opening } }: Held): number => characters + (opening?.length ?? 0)

export const make = Effect.map(Clock.Clock, (clock) => {
  const held = new Map<string, Held>()
  const wakers = Wakers.make()
  const now = (): number => clock.currentTimeMillisUnsafe()
  let beat: { readonly text: string; readonly until: number } | null = null
  /** Characters of all. */
  let all = 0
  const drop = (id: string): void => {
    const one = held.get(id)
    if (one === undefined) return
    all -= charactersOf(one)
    held.delete(id)
    wakers.wakeUnsafe(id)
  }
  /** Room for one more; `kept` stays. */
  const makeRoom = (kept: string): void => {
    for (const [id, { until }] of held) {
      if (held.size < SESSIONS_MAX && all <= CHARACTERS_MAX && until > now()) break
      if (id !== kept) drop(id)
    }
  }
  const live = (id: string): Held | null => {
    const one = held.get(id)
    if (one === undefined || one.until <= now()) return null
    // In the order of their last use.
    held.delete(id)
    held.set(id, one)
    one.until = now() + SESSION_MS
    return one
  }
  return McpSessions.of({
    put: (session) => Effect.sync(() => {
      const known = held.get(session.id)
      all += (session.opening?.length ?? 0) - (known?.session.opening?.length ?? 0)
      makeRoom(session.id)
      if (known === undefined) held.set(session.id, { session, until: now() + SESSION_MS, count: 0, messages: [], characters: 0, budget: unbounded })
      else known.session = session
    }),
    find: (id) => Effect.sync(() => live(id)?.session ?? null),
    remove: (id) => Effect.sync(() => drop(id)),
    append: (id, stream, text) => Effect.sync(() => {
      const one = live(id)
      if (one === null) return
      const message = { place: String(++one.count).padStart(16, "0"), stream, text }
      one.messages.push(message)
      let more = lengthOf(message)
      // The newest always stays: a client waits for it.
      while (one.messages.length > MESSAGES_MAX || (one.characters + more > MESSAGES_CHARACTERS && one.messages.length > 1)) more -= lengthOf(one.messages.shift() as McpMessage)
      one.characters += more
      all += more
      if (all > CHARACTERS_MAX) makeRoom(id)
      wakers.wakeUnsafe(id)
    }),
    behind: (id, place) => Effect.sync(() => held.get(id)?.messages.filter((message) => message.place > place) ?? []),
    next: wakers.next,
    tell: () => Effect.void,
    hear: () => Effect.void,
    guard: (id, guard) => Effect.sync(() => {
      const one = live(id)
      if (one !== null) one.budget = { ...one.budget, guard }
    }),
    spend: (id, usd) => Effect.sync(() => {
      const one = live(id)
      if (one !== null) one.budget = { ...one.budget, spent: one.budget.spent + usd }
    }),
    budget: (id) => Effect.sync(() => live(id)?.budget ?? unbounded),
    beat: (text) => Effect.sync(() => {
      beat = { text, until: now() + BEAT_MS }
    }),
    lastBeat: Effect.sync(() => beat === null || beat.until <= now() ? null : beat.text)
  })
})

export const layer: Layer.Layer<McpSessions> = Layer.effect(McpSessions, make)
