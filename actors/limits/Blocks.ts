/**
 * What the nodes have in common about one meter in one window: what each node is known to have spent, and its block, a lease.
 * Pure: `(state, draw, node, now) -> [reply, state]`; the Redis store's script says the same in Lua.
 *
 * What a node has spent only grows, and the largest amount reported counts: by the node itself, or by the ledger for it. So
 * nothing is booked twice, in whatever order reports arrive. An expired block stays and counts as spent until one of them has
 * reported all of it.
 */
import type { BlockDraw, BlockDrawn, Unsettled } from "#actors/limits/ports/LimitStore.ts"

export interface NodeShare {
  /** Everything that this node is known to have spent. */
  readonly reported: number
  /** Its block; 0 = none. */
  readonly held: number
  /** When the block expires (ms since the epoch). */
  readonly until: number
}

export type Blocks = ReadonlyMap<string, NodeShare>

export interface Terms {
  /** ms that a block is its node's without another exchange. */
  readonly leaseMs: number
  /** Only this part of what is left is given ahead of need: 1 over it. */
  readonly share: number
}

const unknown: BlockDrawn = { known: false, booked: 0, reported: 0, held: 0, leaseMs: 0, unsettled: [], nextExpiryMs: null }
const nothing: NodeShare = { reported: 0, held: 0, until: 0 }

/** Null = nothing is known. */
export const exchange = (blocks: Blocks | null, draw: BlockDraw, node: string, terms: Terms, now: number): readonly [BlockDrawn, Blocks | null] => {
  if (blocks === null && draw.seen === null) return [unknown, null]
  const parts = new Map(blocks)
  for (const [name, amount] of draw.seen ?? []) {
    const part = parts.get(name) ?? nothing
    parts.set(name, { ...part, reported: Math.max(part.reported, amount) })
  }
  const reported = Math.max(parts.get(node)?.reported ?? 0, draw.total)
  let booked = reported
  let others = 0
  let next = Number.POSITIVE_INFINITY
  const unsettled: Array<Unsettled> = []
  for (const [name, part] of parts) {
    if (name === node) continue
    booked += part.reported
    const isExpired = part.held > 0 && part.until <= now
    if (isExpired && draw.settled.includes(name)) parts.set(name, { ...nothing, reported: part.reported })
    else {
      others += part.held
      if (isExpired) unsettled.push({ node: name, amount: part.held, grantedAt: part.until - terms.leaseMs, forMs: now - part.until })
      else if (part.held > 0) next = Math.min(next, part.until - now)
    }
  }
  const free = Math.max(0, draw.limit - booked - others)
  const held = draw.need <= 0 ? 0 : Math.min(free, Math.max(draw.need, Math.min(draw.want, Math.floor(free / terms.share))))
  // Calls in flight may use what they reserved, whatever is left; only new ones are bound by what is.
  const counted = Math.max(draw.reserved, held)
  parts.set(node, { reported, held: counted, until: counted > 0 ? now + terms.leaseMs : 0 })
  return [{ known: true, booked, reported, held, leaseMs: terms.leaseMs, unsettled, nextExpiryMs: Number.isFinite(next) ? next : null }, parts]
}
