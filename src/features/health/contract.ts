/** The table of the degradation contract, read at GET /api/health/degradation. Bounds are those of the named modules. */
import { degradation as limits } from "#actors/limits/degradation.ts"
import { degradation as idempotency } from "#src/features/cache/ports/Idempotency.ts"
import { degradation as cache } from "#src/features/cache/ports/ResponseCache.ts"
import type { DegradationEffect, DegradationRow, Fault } from "#schemas/degradation.ts"

/** One exchange with Redis (`src/redis`), ms; after a few of them its breaker answers at once. */
const REDIS_MS = 50
/** One operation of a record store (`src/platform/postgres/operation.ts`), ms. */
const STORE_MS = 10_000
/** A look-up that a request waits for (`src/platform/structures/LookUps.ts`, GATEWAY_LOOKUP_TIMEOUT_MS), ms. */
const LOOKUP_MS = 1_000
/** How long a key that was read is used (`CachedKeys`), ms. */
const KEY_MS = 660_000
/** A claim on an idempotent request that nobody renews (`src/features/cache/idempotency/stage.ts`), ms. */
const CLAIM_MS = 6_000
/** How long a node that stood still holds requests back until it has looked (`src/platform/cluster/StandStill.ts`), ms. */
const HOLD_MS = 2_000
/** How soon a change reaches every node, ms. */
const NEWS_MS = 2_000

type Outcome = DegradationEffect["outcome"]

const effect = (outcome: Outcome, note: string, stalenessMs: number | null = 0, addedLatencyMs: number | null = 0): DegradationEffect => ({
  outcome, stalenessMs, addedLatencyMs, note
})
const untouched = effect("admitted", "Not used.")
const unaffected = effect("admitted", "Not affected.")
const stoodStill = effect("admitted", "A node that goes on holds its requests until it has looked once; if the records do not answer by then, it acts on what it knows.", null, HOLD_MS)
/** Most of what a node does is asked of another one instead. */
const elsewhere = effect("admitted", "The other nodes go on.")

interface Parts {
  readonly redis?: { readonly away: DegradationEffect; readonly slow?: DegradationEffect; readonly flushed?: DegradationEffect }
  readonly postgres?: { readonly away: DegradationEffect; readonly frozen?: DegradationEffect; readonly slow?: DegradationEffect; readonly flushed?: DegradationEffect }
  readonly node?: { readonly killed?: DegradationEffect; readonly paused?: DegradationEffect; readonly skewed?: DegradationEffect }
  readonly disk?: DegradationEffect
  readonly log?: DegradationEffect
}

const row = (feature: string, { disk = untouched, log = untouched, node, postgres, redis }: Parts): DegradationRow => {
  const slow = redis?.slow ?? redis?.away ?? untouched
  const frozen = postgres?.frozen ?? postgres?.away ?? untouched
  const effects: Readonly<Record<Fault, DegradationEffect>> = {
    "redis-refused": redis?.away ?? untouched,
    "redis-frozen": slow,
    "redis-slow": slow,
    "redis-flushed": redis?.flushed ?? redis?.away ?? untouched,
    "postgres-refused": postgres?.away ?? untouched,
    "postgres-frozen": frozen,
    "postgres-slow": postgres?.slow ?? frozen,
    "postgres-flushed": postgres?.flushed ?? postgres?.away ?? untouched,
    "disk-full": disk,
    "log-sink-blocked": log,
    "node-killed": node?.killed ?? elsewhere,
    "node-paused": node?.paused ?? elsewhere,
    "clock-skewed": node?.skewed ?? unaffected
  }
  return { feature, effects }
}

/** What a module itself declares about the stores it stands on. */
interface Declared {
  readonly feature: string
  readonly redis: string
  readonly postgres: string
  readonly stalenessMs: number
  readonly addedLatencyMs: number
}

/** `besides`: where one fault does something else than its store's absence. */
const declared = ({ addedLatencyMs, feature, postgres, redis, stalenessMs }: Declared, besides: Parts = {}): DegradationRow => {
  const outcome = (text: string): Outcome => text.startsWith("fail-closed") ? "denied" : "admitted"
  const of = (text: string) => text === "not used" ? untouched : effect(outcome(text), text, stalenessMs, addedLatencyMs)
  return row(feature, { ...besides, redis: { away: of(redis), ...besides.redis }, postgres: { away: of(postgres), ...besides.postgres } })
}

export const rows: ReadonlyArray<DegradationRow> = [
  row("inference", {
    postgres: {
      away: effect("admitted", "Requests are planned from the snapshot in memory and accounted for in the journal.", null),
      flushed: effect("denied", "Providers and connections are gone: requests find no target until they are made again or a backup is restored.", NEWS_MS)
    },
    disk: effect("denied", "A request whose start cannot be journaled is refused with 503 rather than served unaccounted."),
    node: {
      killed: effect("denied", "Its requests end with their sockets, each with a row; the other nodes serve."),
      paused: effect("queued", "Its requests wait in its sockets until it goes on, or end by their deadlines; the other nodes serve.", null, null)
    }
  }),
  row("ledger", {
    postgres: {
      away: effect("queued", "Settled rows stay in the journal and are inserted once the store is back; the backlog is shown.", null),
      flushed: effect("admitted", "Rows that the store had acknowledged are gone with it and cannot be made again; those in the journal are inserted.")
    },
    disk: effect("denied", "No attempt starts without its record on disk."),
    node: {
      killed: effect("queued", "Its rows are in its journal and are inserted when it starts again, or by another node that finds the same data directory; attempts that were open become rows with outcome crashed.", null),
      paused: effect("queued", "Its rows are inserted when it goes on.", null),
      skewed: effect("admitted", "Rows carry the clock of the node that wrote them; durations are measured, not subtracted from it.")
    }
  }),
  row("api-keys", {
    postgres: {
      away: effect("denied", "A key that was used in the last eleven minutes is admitted from memory; any other cannot be looked up and is refused with 503.", KEY_MS, LOOKUP_MS),
      frozen: effect("denied", "As refused, after the wait for one look-up (GATEWAY_LOOKUP_TIMEOUT_MS); while the store says nothing at all, at once.", KEY_MS, LOOKUP_MS),
      slow: effect("admitted", "A key that is not in memory waits for the store, at most for one look-up; after that 503, and the key is known when the request comes again.", KEY_MS, LOOKUP_MS),
      flushed: effect("denied", "Keys are unknown (401) as soon as nodes look again, at the latest after their minute in memory.", 60_000)
    },
    node: { paused: stoodStill, skewed: effect("admitted", "A key's expiry is read on the node's own clock.") }
  }),
  row("configuration", {
    redis: { away: effect("admitted", "Redis only rings: nodes hear of changes by polling.", NEWS_MS) },
    postgres: {
      away: effect("admitted", "Every node acts on its last snapshot; changes are refused with 503.", null),
      slow: effect("admitted", "Changes take effect later by the store's delay."),
      flushed: effect("admitted", "What is gone from the store is gone on every node at its next look; a database without tables needs a restart, which makes them.", NEWS_MS)
    },
    node: { paused: stoodStill }
  }),
  declared(limits, {
    redis: { away: effect("denied", limits.redis, limits.stalenessMs, limits.addedLatencyMs), flushed: effect("admitted", "Amounts are read from the ledger again, sessions are counted anew.") },
    postgres: {
      away: effect("denied", limits.postgres, limits.stalenessMs, LOOKUP_MS),
      slow: effect("admitted", "The first use of a limit waits for the ledger's sum, at most for one look-up; after that 503, and the sum is there when the request comes again.", limits.stalenessMs, LOOKUP_MS),
      flushed: effect("admitted", "Amounts that nodes and Redis know stand; what is read from the ledger again counts from nothing.", limits.stalenessMs)
    },
    node: {
      killed: effect("admitted", limits.killed, null),
      paused: effect("admitted", limits.paused, null),
      skewed: effect("admitted", "Rates and sessions are counted by Redis's clock. The window of an amount begins and ends by each node's own clock: around its edge nodes that differ count in two windows, each within its limit.")
    }
  }),
  row("leases", {
    redis: {
      away: effect("denied", "Leases cannot be proved: calls that carry one and acquisitions are refused with 503 LEASE_SERVICE_UNAVAILABLE."),
      slow: effect("denied", "The same, after the deadline of one exchange.", 0, REDIS_MS),
      flushed: effect("denied", "Every lease is lost and its owner is told; new ones get generations above all that were given.")
    },
    postgres: {
      away: effect("denied", "Leases that stand are renewed and used; acquisitions need a new generation and are refused with 503.", 0, LOOKUP_MS),
      frozen: effect("denied", "The same; an acquisition is refused after the wait for one look-up.", 0, LOOKUP_MS),
      slow: effect("admitted", "An acquisition takes longer by the store's delay; 503 after the wait for one look-up.", 0, LOOKUP_MS),
      flushed: effect("denied", "The keys and connections of leases are gone, and so are the leases. Generations go on above all that Redis remembers; if it was emptied as well they begin anew.")
    },
    node: {
      killed: effect("denied", "Its leases stand until their time is over; any node goes on with them for their owners."),
      paused: effect("denied", "What it wanted to send is confirmed again before it leaves: a lease that ended meanwhile is refused with 409."),
      skewed: effect("admitted", "Leases are granted, kept and ended by Redis's clock alone.")
    }
  }),
  declared(cache, { node: { skewed: effect("admitted", "An answer may be given for longer, or not as long, by the difference of the clocks.", null) } }),
  declared(idempotency, {
    redis: {
      away: effect("admitted", idempotency.redis, idempotency.stalenessMs, idempotency.addedLatencyMs),
      slow: effect("admitted", `${idempotency.redis}. A claim whose answers were all late holds up a repeat on another node until it ends.`, 0, CLAIM_MS + REDIS_MS)
    },
    node: { killed: effect("admitted", "A claim ends with its owner: the request may be made again.") }
  }),
  row("breakers", {
    redis: { away: effect("admitted", "Fails open: each node decides by its own failures, and each may send its own probe.", null) },
    node: {
      killed: effect("admitted", "A probe that was lost with its node may be sent by another one after 60 s.", null),
      paused: effect("admitted", "What it did not hear it finds out by calling.", null),
      skewed: effect("admitted", "Nodes tell each other durations. A rest that is read from a connection's record lasts longer, or not as long, by the difference of the clocks; every one ends.", null)
    }
  }),
  row("provider-sign-ins", {
    redis: {
      away: effect("denied", "Fails closed: a sign-in to a provider is neither begun nor finished (503); one that had begun goes on when the store is back, within its time.", 0, REDIS_MS),
      flushed: effect("denied", "Sign-ins that had begun are forgotten: they are begun again.")
    }
  }),
  row("provider-tokens", {
    postgres: {
      away: effect("admitted", "A token that has ended is renewed with the grant that this node knows, used from memory, and stored when the store is back.", null),
      frozen: effect("admitted", "The same, after a look for what another node renewed and a try to store it, each for the store's deadline; other tokens are used at once.", null, 2 * STORE_MS)
    }
  }),
  row("login-brake", {
    redis: {
      away: effect("admitted", "Each node brakes by the attempts that it has seen itself: n nodes let n times as many guesses through.", null, REDIS_MS),
      flushed: effect("admitted", "Attempts are counted anew.")
    }
  }),
  row("cooldowns", {
    redis: {
      away: effect("admitted", "Fails open: nodes hear of cooldowns through the records within seconds, and each learns of locked models by its own calls.", null),
      flushed: effect("admitted", "What is known stays where it is known; a node that starts meanwhile knows no locked models.", null)
    },
    postgres: { away: effect("admitted", "Nodes tell each other through Redis; what was not stored is not known after a restart.", null) }
  }),
  row("session-hand-offs", {
    redis: { away: effect("admitted", "A session that another node goes on with may get no summary of what came before.", null), flushed: untouched }
  }),
  row("webhooks", {
    postgres: {
      away: effect("queued", "Events of requests stay in the ledger's journal, others in a file of the data directory (64 MiB); deliveries go on when the store is back.", null),
      flushed: effect("denied", "The webhooks are gone with the store, and with them what waited for them.")
    },
    node: {
      killed: effect("queued", "Events are told by another node, or when it starts again: at least once, so a copy may come.", null),
      skewed: effect("admitted", "Turns are taken by the store's clock; the time in an event is the node's.")
    },
    disk: effect("denied", "Events that are not in the ledger's journal (limits that were passed, failures without an attempt) are lost, and that is logged.")
  }),
  row("management", {
    postgres: {
      away: effect("denied", "Reads of records and all changes are refused with 503; health, metrics and the snapshot's views answer."),
      frozen: effect("denied", "The same: whoever must be looked up is refused after GATEWAY_LOOKUP_TIMEOUT_MS, what had begun ends after the store's deadline; a change waits 5 s for the changes before it.", 0, STORE_MS),
      slow: effect("admitted", "Calls take longer by the store's delay, each within its deadline.", 0, STORE_MS),
      flushed: effect("denied", "Sessions and passwords are gone: sign in as on a first start, then restore a backup.")
    },
    node: { skewed: effect("admitted", "Sessions are dated by the node that began them.") }
  }),
  row("audit", { postgres: { away: effect("admitted", "The call goes on after a moment; that its entry was not stored in time is logged.", 0, LOOKUP_MS) } }),
  row("logs", { log: effect("admitted", "Lines are kept up to a bound and dropped beyond it, counted; no request waits for a line.") })
]
