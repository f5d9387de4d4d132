/** How a connection is, in one word. */
import type { Answer } from "../../api/contract.ts"
import { left } from "../../format/time.ts"
import type { Tone } from "../../parts/Status.tsx"

export type Connection = Answer<"GET /api/providers">["connections"][number]

export interface State {
  readonly tone: Tone
  readonly word: string
  /** When it is asked again, if it rests. */
  readonly until: string | null
}

export const stateOf = (connection: Connection, now: number): State => {
  if (!connection.isActive) return { tone: "off", word: "Off", until: null }
  switch (connection.testStatus) {
    case "banned":
      return { tone: "bad", word: "Banned", until: null }
    case "credits_exhausted":
      return { tone: "bad", word: "No credits", until: null }
    case "expired":
      return { tone: "bad", word: "Expired", until: null }
  }
  if (left(connection.rateLimitedUntil, now) > 0) return { tone: "info", word: "Rests", until: connection.rateLimitedUntil }
  switch (connection.testStatus) {
    case "error":
      return { tone: "bad", word: "Broken", until: null }
    case "unavailable":
      return { tone: "warn", word: "Unavailable", until: null }
    case "refreshing":
      return { tone: "info", word: "Renews its token", until: null }
    case "active":
      return { tone: "ok", word: "Works", until: null }
    default:
      return { tone: "off", word: "Not tested", until: null }
  }
}

/** A token that ends within this time is told of, ms. */
const SOON_MS = 604_800_000

/** When the connection's own token ends, if that is soon; the gateway renews those that it can. */
export const endsSoon = ({ authType, tokenExpiresAt }: Connection, now: number): string | null => {
  if (authType !== "oauth" || tokenExpiresAt === null) return null
  return left(tokenExpiresAt, now) < SOON_MS ? tokenExpiresAt : null
}

/** How many connections are in which state, most first. */
export const summaryOf = (connections: ReadonlyArray<Connection>, now: number): ReadonlyArray<State & { readonly count: number }> => {
  const found = new Map<string, State & { readonly count: number }>()
  for (const connection of connections) {
    const state = stateOf(connection, now)
    found.set(state.word, { ...state, count: (found.get(state.word)?.count ?? 0) + 1 })
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}
