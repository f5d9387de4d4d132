/** The durable tier of the response cache in memory: a fast double that passes the suite of the real one. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type CachedAnswer, type CacheEntry, type EntryQuery, type Forgotten, ResponseCacheStore } from "#src/features/cache/ports/ResponseCache.ts"

const goes = (what: Forgotten, answer: CachedAnswer): boolean => {
  switch (what._tag) {
    case "All":
      return true
    case "Signature":
      return answer.signature === what.signature
    case "Model":
      return answer.model === what.model
    case "Stale":
      return answer.createdAt <= what.storedBefore
  }
}

const sortValue = (entry: CacheEntry, by: EntryQuery["sortBy"]): number | string => {
  switch (by) {
    case "created_at":
      return entry.createdAt
    case "expires_at":
      return entry.expiresAt
    case "hit_count":
      return entry.hits
    case "tokens_saved":
      return entry.tokensSaved
    case "model":
      return entry.model
  }
}

const compare = (a: number | string, b: number | string): number => a < b ? -1 : a > b ? 1 : 0

export const layer = Layer.sync(ResponseCacheStore, () => {
  const answers = new Map<string, CachedAnswer>()
  const hitsOf = new Map<string, number>()
  const live = (now: number): Array<CachedAnswer> => [...answers.values()].filter((answer) => answer.expiresAt > now)
  const entryOf = (answer: CachedAnswer): CacheEntry => {
    const hits = hitsOf.get(answer.signature) ?? 0
    const { body: _body, ...facts } = answer
    return { ...facts, hits, tokensSaved: hits * (answer.tokensIn + answer.tokensOut) }
  }
  const removeAll = (gone: ReadonlyArray<CachedAnswer>): ReadonlyArray<string> => {
    for (const { signature } of gone) {
      answers.delete(signature)
      hitsOf.delete(signature)
    }
    return gone.map(({ signature }) => signature)
  }
  return {
    find: (signature, now) => Effect.sync(() => live(now).find((answer) => answer.signature === signature) ?? null),
    put: (given) => Effect.sync(() => {
      for (const answer of given) {
        const known = answers.get(answer.signature)
        if (known === undefined || known.createdAt <= answer.createdAt) answers.set(answer.signature, answer)
      }
    }),
    noteHits: (hits) => Effect.sync(() => {
      for (const { hits: more, signature } of hits) if (answers.has(signature)) hitsOf.set(signature, (hitsOf.get(signature) ?? 0) + more)
    }),
    entries: (query, now) => Effect.sync(() => {
      const found = live(now).map(entryOf).filter((entry) =>
        (query.model === undefined || entry.model === query.model) &&
        (query.search === undefined || `${entry.model}\n${entry.signature}`.toLowerCase().includes(query.search.toLowerCase())))
        .sort((a, b) => (query.descending ? -1 : 1) * compare(sortValue(a, query.sortBy), sortValue(b, query.sortBy)) || compare(a.signature, b.signature))
      return { entries: found.slice(query.offset, query.offset + query.limit), total: found.length }
    }),
    count: (now) => Effect.sync(() => live(now).length),
    remove: (what) => Effect.sync(() => removeAll([...answers.values()].filter((answer) => goes(what, answer)))),
    sweep: (now, most) => Effect.sync(() => {
      const expired = [...answers.values()].filter((answer) => answer.expiresAt <= now)
      const surplus = live(now).sort((a, b) => b.createdAt - a.createdAt || compare(a.signature, b.signature)).slice(most)
      return removeAll([...expired, ...surplus]).length
    })
  }
})
