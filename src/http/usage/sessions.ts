/** Client sessions as the ledger saw them (supplement 5.6). Pure. */
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

interface Seen {
  first: number
  last: number
  requests: number
  connectionId: string | null
  readonly keys: Set<string>
}

/** `rows` newest first; a request counts once however many attempts it took. */
export const sessionsOf = (rows: ReadonlyArray<LedgerRow>, now: number) => {
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
    session.keys.add(row.apiKeyId ?? "anonymous")
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
  }))
  return { count: sessions.length, sessions, byApiKey }
}
