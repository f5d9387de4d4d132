/** Names to addresses: one lookup at a time per name, remembered for a moment, so that a burst of new sockets asks once. */
import { lookup } from "node:dns"

export type ResolverAnswer = (error: Error | null, addresses: ReadonlyArray<string>) => void

/** Resolves a host name to all its addresses; injected in tests. */
export type Resolve = (host: string, done: ResolverAnswer) => void

/** How long an answer is used, in ms. Every use is checked by the guard again. */
const defaultTtlMs = 5_000
/** Names remembered at once. */
const maxNames = 1_024

/** The system's resolver (getaddrinfo: hosts file, search domains), in the order the system prefers. */
export const system: Resolve = (host, done) => {
  lookup(host, { all: true, verbatim: true }, (error, addresses) => {
    if (error !== null) done(error, [])
    else done(null, addresses.map(({ address }) => address))
  })
}

/** Adds coalescing and a short memory; failures are not remembered. */
export const cached = (resolve: Resolve, options: { readonly ttlMs?: number; readonly now?: () => number } = {}): Resolve => {
  const ttlMs = options.ttlMs ?? defaultTtlMs
  const now = options.now ?? (() => performance.now())
  const known = new Map<string, { readonly until: number; readonly addresses: ReadonlyArray<string> }>()
  const waiting = new Map<string, Array<ResolverAnswer>>()
  return (host, done) => {
    const hit = known.get(host)
    if (hit !== undefined) {
      if (hit.until > now()) return done(null, hit.addresses)
      known.delete(host)
    }
    const queue = waiting.get(host)
    if (queue !== undefined) {
      queue.push(done)
      return
    }
    const answers = [done]
    waiting.set(host, answers)
    resolve(host, (error, addresses) => {
      waiting.delete(host)
      if (error === null && addresses.length > 0) {
        if (known.size >= maxNames) {
          const oldest = known.keys().next()
          if (oldest.done !== true) known.delete(oldest.value)
        }
        known.set(host, { until: now() + ttlMs, addresses })
      }
      for (const answer of answers) answer(error, addresses)
    })
  }
}
