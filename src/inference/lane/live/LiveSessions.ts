/** Sessions that clients name by X-Session-Id, as this process saw them: bounded, the ones used longest ago go first. */
import type { LiveSession } from "#src/inference/ports/LiveCalls.ts"
import * as Redact from "#src/platform/telemetry/redact.ts"

/** Sessions that are surely kept. */
const keptSessions = 10_000
/** A session ends after this time without a request, ms. */
const idleMs = 3_600_000

export interface TrackedSession {
  readonly id: string
  readonly keyId: string | null
  readonly firstAt: number
  lastAt: number
  requests: number
  lastRequest: string
  connectionId: string | null
}

export class LiveSessions {
  /** In the order of their last request. */
  private readonly sessions = new Map<string, TrackedSession>()

  /** A request of the session is planned, maybe in several parts; the session learns later which target answered. */
  note(id: string, keyId: string | null, requestId: string, now: number): TrackedSession {
    const name = `${keyId ?? ""}\n${id}`
    const known = this.sessions.get(name)
    const session = known !== undefined && now - known.lastAt < idleMs ? known : { id, keyId, firstAt: now, lastAt: now, requests: 0, lastRequest: "", connectionId: null }
    session.lastAt = now
    if (session.lastRequest !== requestId) session.requests++
    session.lastRequest = requestId
    this.sessions.delete(name)
    this.sessions.set(name, session)
    if (this.sessions.size > keptSessions) this.sessions.delete(this.sessions.keys().next().value as string)
    return session
  }

  /** Newest first. An id that looks like a credential is masked. */
  readonly list = (now: number): ReadonlyArray<LiveSession> =>
    [...this.sessions.values()].filter(({ lastAt }) => now - lastAt < idleMs).reverse().map((session) => ({ ...session, id: Redact.text(session.id) }))
}
