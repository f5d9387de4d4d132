/** Client sessions: those that name themselves by X-Session-Id as this process sees them, tagged ones as the ledger saw them. Pure. */
import type { LiveSession } from "#src/inference/ports/LiveCalls.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

interface Seen {
  first: number
  last: number
  requests: number
  connectionId: string | null
  readonly keys: Set<string>
}

const keyOf = (keyId: string | null): string => keyId ?? "anonymous"

/** `rows` newest first; a request counts once however many attempts it took. */
const tagged = (rows: ReadonlyArray<LedgerRow>): Map<string, Seen> => {
  const seen = new Map<string, Seen>()
  for (const row of rows) {
    if (row.sessionTag === null) continue
    let session = seen.get(row.sessionTag)
    if (session === undefined) {
      session = { first: row.startedAt, last: row.startedAt, requests: 0, connectionId: row.connectionId, keys: new Set() }
      seen.set(row.sessionTag, session)
    }
    session.first = Math.min(session.first, row.startedAt)
    session.last = Math.max(session.last, row.startedAt)
    if (row.final) session.requests++
    session.keys.add(keyOf(row.apiKeyId))
  }
  return seen
}

/** A session that is known both ways is one. */
export const sessionsOf = (rows: ReadonlyArray<LedgerRow>, live: ReadonlyArray<LiveSession>, now: number) => {
  const seen = tagged(rows)
  for (const { connectionId, firstAt, id, keyId, lastAt, requests } of live) {
    const session = seen.get(id)
    if (session === undefined) {
      seen.set(id, { first: firstAt, last: lastAt, requests, connectionId, keys: new Set([keyOf(keyId)]) })
      continue
    }
    if (lastAt > session.last) session.connectionId = connectionId ?? session.connectionId
    session.first = Math.min(session.first, firstAt)
    session.last = Math.max(session.last, lastAt)
    session.requests += requests
    session.keys.add(keyOf(keyId))
  }
  const byApiKey: Record<string, number> = {}
  for (const { keys } of seen.values()) for (const key of keys) byApiKey[key] = (byApiKey[key] ?? 0) + 1
  const sessions = Array.from(seen, ([sessionId, session]) => ({
    sessionId,
    createdAt: iso(session.first),
    lastActive: iso(session.last),
    requestCount: session.requests,
    connectionId: session.connectionId,
    ageMs: Math.max(0, now - session.first)
  })).sort((a, b) => a.lastActive < b.lastActive ? 1 : -1)
  return { count: sessions.length, sessions, byApiKey }
}
