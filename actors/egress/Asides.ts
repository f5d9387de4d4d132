/**
 * Outbound proxies that failed a short while ago: each is set aside for a time that doubles with each failure after it. Of one process, and
 * in memory: a proxy that another node cannot reach may be well from here. Pure but for its map.
 */

/** Set aside after its first failure, ms. */
const FIRST_MS = 30_000
/** Longest time aside, ms. A proxy that has been back for as long begins at the first time again. */
const MOST_MS = 1_800_000

export interface Aside {
  /** In a row. A failure of a call that was under way when it was set aside does not count. */
  readonly failures: number
  /** ms since the epoch. */
  readonly until: number
}

/** `before`: null for a proxy whose last tunnel stood. */
export const failed = (before: Aside | null, now: number): Aside => {
  if (before !== null && now < before.until) return before
  const failures = before === null || now - before.until >= MOST_MS ? 1 : before.failures + 1
  return { failures, until: now + Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20)) }
}

/** What is known of a proxy's record: a change of it is another revision. */
export interface Named {
  readonly id: string
  readonly revision: string
}

export class Asides {
  readonly #byId = new Map<string, Aside & { readonly revision: string }>()

  failed({ id, revision }: Named, now: number): void {
    this.#byId.set(id, { revision, ...failed(this.#byId.get(id) ?? null, now) })
  }

  /** A tunnel of it stood. */
  made(id: string): void {
    if (this.#byId.size > 0) this.#byId.delete(id)
  }

  /** Null for a proxy that may be chosen. */
  of(id: string, now: number): Aside | null {
    if (this.#byId.size === 0) return null
    const aside = this.#byId.get(id)
    return aside === undefined || now >= aside.until ? null : aside
  }

  /** Forgets proxies whose record was changed or removed. */
  keep(revisions: ReadonlySet<string>): void {
    for (const [id, { revision }] of this.#byId) if (!revisions.has(revision)) this.#byId.delete(id)
  }
}

/** The first that is not set aside and was not asked; where all are set aside, the first that was not asked. */
export const choose = <A extends Named>(among: ReadonlyArray<A>, asked: ReadonlyArray<A>, asides: Asides, now: number): A | null => {
  let left: A | null = null
  for (const one of among) {
    if (asked.includes(one)) continue
    if (asides.of(one.id, now) === null) return one
    left ??= one
  }
  return left
}
