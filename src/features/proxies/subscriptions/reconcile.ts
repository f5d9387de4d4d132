/** What a list that was read changes in the registry. Pure. */
import type { Proxy } from "#schemas/egress/Proxy.ts"
import { identityOf } from "#src/features/proxies/sameProxy.ts"

export interface Changes {
  readonly insert: ReadonlyArray<Proxy>
  /** Those that have left the list, or are back in it, as they are now. */
  readonly replace: ReadonlyArray<Proxy>
  /** Ids. */
  readonly remove: ReadonlyArray<string>
}

export interface Present {
  /** Every proxy of the registry. */
  readonly proxies: ReadonlyArray<Proxy>
  /** Ids of those that something is assigned to. */
  readonly assigned: ReadonlySet<string>
}

/** Sockets are kept by this time: each change has a later one. */
export const later = (at: string, before: string): string => at > before ? at : new Date(Date.parse(before) + 1).toISOString()

/**
 * `listed`: what the list names, each once, by `identityOf`; `drafts`: those of them that may be added. A proxy that the registry has from
 * elsewhere is left as it is. One that has left the list goes, unless something is assigned to it: then it stays and its calls fail,
 * because they must not go another way.
 */
export const reconcile = (subscriptionId: string, { assigned, proxies }: Present, listed: ReadonlySet<string>, drafts: ReadonlyArray<Proxy>, at: string): Changes => {
  const known = new Set(proxies.map(identityOf))
  const replace: Array<Proxy> = []
  const remove: Array<string> = []
  for (const proxy of proxies) {
    if (proxy.subscriptionId !== subscriptionId) continue
    const isListed = listed.has(identityOf(proxy))
    if (!isListed && !assigned.has(proxy.id)) remove.push(proxy.id)
    else if (isListed === (proxy.leftAt !== null)) replace.push({ ...proxy, leftAt: isListed ? null : at, updatedAt: later(at, proxy.updatedAt) })
  }
  const insert: Array<Proxy> = []
  for (const draft of drafts) {
    const identity = identityOf(draft)
    if (known.has(identity)) continue
    known.add(identity)
    insert.push(draft)
  }
  return { insert, replace, remove }
}
