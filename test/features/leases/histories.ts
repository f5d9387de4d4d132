/** Histories of what owners, operators and time do to leases, for the transitions and for stores that claim to be like them. */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Acquire, LeaseClaim, Lease } from "#schemas/protocols/Lease.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** Owners, keys and connections are named by number; `which` picks among the leases granted last. */
export const Act = Schema.Union([
  Schema.Struct({ act: Schema.Literal("acquire"), owner: upTo(3), key: upTo(1), print: upTo(1), fits: upTo(15), available: upTo(15), ttl: upTo(3) }),
  Schema.Struct({ act: Schema.Literal("acquire"), owner: upTo(3), key: Schema.Literal(0), print: Schema.Literal(0), fits: Schema.Literal(15), available: upTo(15), ttl: upTo(3) }),
  Schema.Struct({ act: Schema.Literals(["renew", "release", "find"]), which: upTo(30), key: upTo(3), print: upTo(5), off: upTo(6) }),
  Schema.Struct({ act: Schema.Literal("move"), which: upTo(30), key: upTo(5), print: upTo(5), off: upTo(6), from: upTo(6), to: upTo(3) }),
  Schema.Struct({ act: Schema.Literal("invalidate"), which: upTo(30) }),
  Schema.Struct({ act: Schema.Literal("sweep") }),
  Schema.Struct({ act: Schema.Literal("wait"), ms: upTo(1_500) })
])
export type Act = typeof Act.Type

export const histories = Arbitrary.schema(Schema.Array(Act).check(Schema.isMinLength(30), Schema.isMaxLength(120)))

const connectionIds = ["c-0", "c-1", "c-2", "c-3"]
const chosen = (bits: number) => connectionIds.filter((_, i) => (bits & (1 << i)) !== 0)

/** One of the leases granted last, dead or alive; undefined while there is none. */
export const recent = <A>(granted: ReadonlyArray<A>, which: number): A | undefined => granted[granted.length - 1 - which % Math.max(1, Math.min(6, granted.length))]

/** `available` is always part of `fits`. */
export const wishOf = (act: Extract<Act, { readonly act: "acquire" }>, ttls: ReadonlyArray<number>, prefix = ""): Acquire => ({
  owner: `${prefix}o-${act.owner}`,
  keyId: `k-${act.key}`,
  keyPrint: `p-${act.print}`,
  fits: chosen(act.fits).map((id) => prefix + id),
  available: chosen(act.fits & act.available).map((id) => prefix + id),
  ttlMs: ttls[act.ttl] ?? 1_000,
  drawn: null
})

/** What somebody says of a lease that was granted once: mostly right, sometimes with another key or generation. */
export const claimOf = (lease: Lease, { key, off, print }: { readonly key: number; readonly print: number; readonly off: number }): LeaseClaim => ({
  owner: lease.owner,
  keyId: key === 0 ? "k-another" : lease.keyId,
  keyPrint: print === 0 ? "p-another" : lease.keyPrint,
  generation: lease.generation + (off === 0 ? 1 : off === 1 ? -1 : 0)
})

/** Where a mover believes the lease to be, and where it shall be. */
export const moveOf = (lease: Lease, act: Extract<Act, { readonly act: "move" }>, prefix = "") => ({
  from: act.from < connectionIds.length && act.off > 3 ? `${prefix}${connectionIds[act.from]}` : lease.connection,
  to: `${prefix}${connectionIds[act.to]}`
})
