/**
 * The change feed of nodes that share a Postgres: once a second each node says that it lives and learns the version of the records.
 * When that is not the one it acts on, it reads what was changed, applies it, and acknowledges. A message over Redis only makes
 * this happen at once: a lost message, or a Redis that is down, costs at most a second.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { firstInARow } from "#actors/firstInARow.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { ChangeFeed, type News } from "#actors/ports/ChangeFeed.ts"
import { ClusterStore, type Node, Nodes } from "#actors/ports/Nodes.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as ClusterCheck from "./ClusterCheck.ts"
import { StandStill, TICK_MS } from "./StandStill.ts"

/** Between two looks at the version, ms. */
export const POLL_MS = 1_000
/** Changes that arrive together are applied together, ms. */
const GATHER_MS = 15
/** Changes read at once; more are applied in turns. */
const BATCH = 1_000
/** Time to take the own row away at the end, ms. */
const LEAVE_MS = 1_000

/** How nodes notify each other of changes; null = by polling only. */
export interface ChangeNotifier {
  readonly notify: Effect.Effect<void>
  /** Calls `woken` for each notification of another node, and whenever notifications may have been missed. */
  readonly listen: (woken: () => void) => Effect.Effect<void, never, Scope.Scope>
}

export interface Options {
  readonly self: Node
  readonly notifier: ChangeNotifier | null
  readonly pollMs?: number | undefined
}

type Apply = (news: News) => Effect.Effect<void, StoreError>

export const make = Effect.fnUntraced(function*({ notifier, pollMs = POLL_MS, self }: Options) {
  const store = yield* ClusterStore
  const runLog = Effect.runForkWith(yield* Effect.context<never>())
  yield* ClusterCheck.check(self, notifier !== null)
  // Read before anything is loaded: what is loaded later is at least this version.
  let applied = yield* store.version
  const listeners = new Set<Apply>()
  const wake = Latch.makeUnsafe(false)
  let stuck: { readonly sinceMs: number; readonly why: string } | null = null
  const clock = yield* Clock.Clock
  const fresh = Latch.makeUnsafe(true)
  const stand = new StandStill(() => clock.currentTimeMillisUnsafe(), () => {
    fresh.closeUnsafe()
    wake.openUnsafe()
  })

  // A database that is away makes no node differ from the others; records that one node cannot read do.
  const noteStuck = (cause: Cause.Cause<StoreError>) => Effect.sync(() => {
    const failure = Cause.findErrorOption(cause)
    if (Cause.hasInterruptsOnly(cause) || (Option.isSome(failure) && failure.value.reason === "unavailable")) return
    const why = Option.isSome(failure) ? failure.value.message : "an unexpected failure, see the log"
    stuck = { sinceMs: stuck?.sinceMs ?? clock.currentTimeMillisUnsafe(), why }
  })

  const turn = Effect.gen(function*() {
    let current = yield* store.beat(self, applied)
    if (current === applied) return
    while (applied !== current) {
      const news = yield* store.newsAfter(applied, BATCH)
      yield* Effect.tapCause(Effect.forEach(listeners, (apply) => apply(news), { discard: true }), noteStuck)
      stuck = null
      applied = news.version
      if (applied >= current) break
    }
    yield* store.beat(self, applied)
  })

  const round = firstInARow(
    Effect.suspend(() => {
      const since = stand.look()
      return Effect.tap(turn, () => Effect.sync(() => {
        if (stand.looked(since)) fresh.openUnsafe()
      }))
    }),
    ({ message }) => Effect.logWarning("changes of other nodes cannot be read now; they are applied as soon as they can", { cause: message })
  )

  yield* store.beat(self, applied)
  // Before the loop, so that it runs after it: the row goes at the end, not after its silence.
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(Effect.interruptible(store.leave(self.id, self.incarnation)), LEAVE_MS)))
  yield* Supervisor.loop("change feed", round.pipe(
    Effect.andThen(Effect.raceFirst(Effect.sleep(pollMs), wake.await)),
    Effect.andThen(Effect.suspend(() => {
      if (!wake.closeUnsafe()) return Effect.void
      return Effect.sleep(GATHER_MS)
    }))
  ))
  const ticker = yield* Supervisor.ticker("stand-still watch")
  yield* Effect.acquireRelease(Effect.sync(() => ticker.every(TICK_MS, stand.tick)), (stop) => Effect.sync(stop))
  if (notifier !== null) yield* notifier.listen(() => wake.openUnsafe())

  return Context.make(ChangeFeed, {
    applied: () => applied,
    version: store.version,
    hear: (apply) => Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() => listeners.add(apply)),
      () => Effect.sync(() => listeners.delete(apply))
    )),
    isBehind: stand.isBehind,
    stuck: () => stuck,
    caughtUp: Effect.suspend(() => Effect.raceFirst(fresh.await, Effect.sleep(stand.leftMs))),
    announce: () => {
      // The own acknowledgement need not wait for the next look either.
      wake.openUnsafe()
      if (notifier !== null) runLog(notifier.notify)
    },
    reread: Effect.flatMap(store.version, (version) => Effect.forEach(listeners, (apply) => apply({ version, changes: null }), { discard: true }))
  }).pipe(Context.add(Nodes, { self, version: store.version, list: store.nodes }))
})

export const layer = (options: Options) => Layer.effectContext(make(options))
