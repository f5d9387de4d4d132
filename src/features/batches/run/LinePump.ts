/**
 * The lines of one batch that are under way: begun in the order of the input, asked some at once, answered in any order, stored in groups.
 *
 * A line is plain callbacks from its begin to its stored answer. With a fiber per line, its races and its semaphores, a line cost
 * three times the request that it makes (`npm run bench -- --scenario batches`: 0.33 of the direct rate).
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import type { BatchCursor, BatchRecord } from "#schemas/batches/Batch.ts"
import type { ActsAs } from "#src/platform/server/Exchange.ts"
import { type Enrolled, Roster } from "#src/platform/structures/Roster.ts"
import type { Line } from "#src/features/batches/lines/LineCutter.ts"
import * as InputLine from "#src/features/batches/lines/inputLine.ts"
import * as OutputLine from "#src/features/batches/lines/outputLine.ts"
import { Progress } from "#src/features/batches/lines/Progress.ts"
import type { BatchStore, LineResult } from "#src/features/batches/ports/BatchStore.ts"
import type { LineCalls, LineReply, LineRequest } from "./LineCalls.ts"
import type { Slots } from "./Slots.ts"

/** Lines between two writes of the cursor: so many are read once more after a crash, and not asked again. */
const CURSOR_EVERY = 64
/** Lines that are begun before others have their turn: they hold the loop for about 2 ms, and share the turn's writes. */
const BEGIN_AT_ONCE = 32
/** Turns of the loop that answers are gathered for before they are stored: a statement costs as much as several lines. */
const GATHER_TURNS = 16
/** How often a line that was told to come later is asked again. */
const MOST_WAITS = 5
/** The first wait is so long at least, ms; each further one twice as long. */
const FIRST_WAIT_MS = 1_000
/** Time that calls in flight get when a batch is cancelled or expires, ms. */
const STOP_GRACE_MS = 10_000
/** Pause between two tries to write answers, ms. */
const WRITE_AGAIN_MS = 2_000

export interface Options {
  readonly record: BatchRecord
  readonly actsAs: ActsAs
  readonly calls: LineCalls["Service"]
  readonly store: BatchStore["Service"]
  /** Room for calls, shared by all batches. */
  readonly slots: Slots
  /** Lines that are begun and not stored: while the answers of some are stored, as many others are asked. */
  readonly most: number
  /** The line has its answer from an earlier run. */
  readonly isFinished: (line: number) => boolean
  /** Opens when the batch is cancelled or expires. */
  readonly stop: Latch.Latch
}

/** A line that was begun: asked, or waiting to be asked again. */
interface LineCall extends Enrolled {
  readonly request: LineRequest
  readonly line: number
  readonly customId: string
  readonly place: number
  readonly next: BatchCursor
  waits: number
  hasSlot: boolean
  /** It waits to be asked again. */
  isWaiting: boolean
  /** Ends the call that is asked. */
  abort: (() => void) | null
  /** Set while it waits for a slot. */
  leaveQueue: (() => void) | null
}

interface Answer {
  readonly result: LineResult
  readonly place: number
  readonly next: BatchCursor
}

const nextOf = ({ next, number }: Line): BatchCursor => ({ line: number + 1, offset: next })

export const make = Effect.fnUntraced(function*({ actsAs, calls, isFinished, most, record, slots, stop, store }: Options) {
  const { clientAddress, endpoint, id } = record
  const fork = yield* FiberSet.makeRuntime<never, void>()
  const progress = new Progress()
  const underWay = new Roster<LineCall>()
  /** Lines that are begun and not stored. */
  let open = 0
  let answers: Array<Answer> = []
  let isWriting = false
  let known = record
  let isContested = false
  let isHalted = false
  let defect: { readonly cause: unknown } | null = null
  /** The lines that are to be begun, and the place of the next one. */
  let lines: ReadonlyArray<Line> = []
  let at = 0
  let isAdvancing = false
  /** Slots that the next lines may use, and the way out of the queue for one. */
  let granted = 0
  let leaveQueue: (() => void) | null = null
  const news = Latch.makeUnsafe(false)

  /** The reader looks again: lines are begun or stored, or the batch stops. */
  const wake = (): void => void news.openUnsafe()

  const wait = Effect.andThen(news.await, Effect.sync(() => news.closeUnsafe()))

  const giveBack = (call: LineCall): void => {
    if (!call.hasSlot) return
    call.hasSlot = false
    slots.give()
  }

  /** The line ends without an answer; another run asks it. */
  const drop = (call: LineCall): void => {
    if (!underWay.remove(call)) return
    call.abort?.()
    call.leaveQueue?.()
    giveBack(call)
    open--
    wake()
  }

  /** Begins no further line, and asks none again. */
  const halt = (): void => {
    isHalted = true
    leaveQueue?.()
    leaveQueue = null
    for (; granted > 0; granted--) slots.give()
    for (const call of underWay) if (call.isWaiting) drop(call)
    wake()
  }

  /** A defect of a callback ends the batch's run in its own fiber, not in the caller's. */
  const guarded = (run: () => void): void => {
    try {
      run()
    } catch (cause) {
      defect ??= { cause }
      halt()
    }
  }

  const stored = (results: ReadonlyArray<LineResult>): Effect.Effect<BatchRecord | null> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => store.finish(id, results, now, known)).pipe(
      Effect.catch((error) => Effect.andThen(
        Effect.logWarning(`answers of batch ${id} wait to be stored: ${error.message}`), Effect.delay(Effect.suspend(() => stored(results)), WRITE_AGAIN_MS)
      ))
    )

  /** Stores what came meanwhile, together, until nothing is left. */
  const write = Effect.gen(function*() {
    while (answers.length > 0) {
      for (let turn = 0; turn < GATHER_TURNS && answers.length < most / 4; turn++) yield* Effect.yieldNow
      const group = answers
      answers = []
      const after = yield* stored(group.map(({ result }) => result))
      if (after === null) halt()
      else {
        // Each write and each change adds one to the version; a cancellation does, too, and says so.
        isContested ||= after.version !== known.version + 1 && after.state.status === "in_progress"
        known = after
        if (isContested) halt()
      }
      for (const { next, place } of group) progress.end(place, next)
      open -= group.length
      advance()
      wake()
      const cursor = progress.take(CURSOR_EVERY)
      // A cursor that stays behind costs a second reading after a crash, no second call.
      if (cursor !== null) yield* store.advance(id, cursor).pipe(Effect.catch((error) => Effect.logWarning(`the cursor of batch ${id} stays behind: ${error.message}`)))
    }
    // In the same step as the look at the answers: one that comes now begins the next write.
    isWriting = false
    wake()
  }).pipe(Effect.catchCause((cause) => Effect.sync(() => {
    defect ??= { cause: Cause.squash(cause) }
    halt()
  })))

  const keep = (result: LineResult, place: number, next: BatchCursor): void => {
    answers.push({ result, place, next })
    if (isWriting) return
    isWriting = true
    fork(write)
  }

  const keepOf = (call: LineCall, result: LineResult): void => {
    underWay.remove(call)
    keep(result, call.place, call.next)
  }

  const ask = (call: LineCall): void => {
    call.abort = ignored
    const abort = calls.ask(call.request, (reply) => guarded(() => take(call, reply)))
    if (call.abort === ignored) call.abort = abort
  }

  const slotFor = (call: LineCall) => Effect.callback<void>((resume) => {
    call.leaveQueue = slots.wait(() => {
      call.hasSlot = true
      resume(Effect.void)
    })
  })

  /** Asks the line again after its time, unless it was dropped meanwhile. */
  const again = (call: LineCall, waitMs: number) => Effect.gen(function*() {
    yield* Effect.sleep(waitMs)
    if (call.rosterSlot === -1) return
    yield* slotFor(call)
    call.leaveQueue = null
    call.isWaiting = false
    if (call.rosterSlot !== -1) guarded(() => ask(call))
  })

  const later = (call: LineCall, waitMs: number): void => {
    call.isWaiting = true
    fork(again(call, waitMs))
  }

  const take = (call: LineCall, reply: LineReply): void => {
    call.abort = null
    switch (reply._tag) {
      case "Stopping":
        drop(call)
        halt()
        break
      case "Broken":
        keepOf(call, OutputLine.unanswered(call.request.requestId, call.line, call.customId, "request_failed", reply.message))
        break
      case "Answered":
        keepOf(call, OutputLine.answered(call.request.requestId, call.line, call.customId, reply.answer))
        break
      case "Later":
        if (call.waits >= MOST_WAITS) keepOf(call, OutputLine.answered(call.request.requestId, call.line, call.customId, reply.answer))
        else if (isHalted) drop(call)
        else later(call, Math.max(reply.waitMs, FIRST_WAIT_MS * 2 ** call.waits++))
    }
    // Last, because the next line begins at once.
    giveBack(call)
  }

  /** Takes a slot for a line, or queues for one. */
  const hasRoom = (): boolean => {
    if (open >= most) return false
    if (granted > 0) {
      granted--
      return true
    }
    if (slots.take()) return true
    leaveQueue ??= slots.wait(() => {
      leaveQueue = null
      granted++
      advance()
    })
    return false
  }

  const begin = (line: Line): void => {
    const place = progress.begin()
    const next = nextOf(line)
    open++
    const requestId = OutputLine.requestIdOf(id, line.number)
    const read = InputLine.known(line, endpoint)
    if (InputLine.isProblem(read)) {
      // The input was checked and never changes; a rule that changed since is an answer, too.
      slots.give()
      return keep(OutputLine.unanswered(requestId, line.number, "", read.code, read.message), place, next)
    }
    const request = {
      endpoint, actsAs, remoteAddress: clientAddress, body: InputLine.bodyFor(endpoint, read),
      requestId, idempotencyKey: `${id}:${line.number}`
    }
    const call: LineCall = { rosterSlot: -1, request, line: line.number, customId: read.customId, place, next, waits: 0, hasSlot: true, isWaiting: false, abort: null, leaveQueue: null }
    underWay.add(call)
    ask(call)
  }

  /** Begins lines while there is room. Called wherever room may have come; an answer that comes at once finds it running. */
  const advance = (): void => {
    if (isAdvancing) return
    isAdvancing = true
    let begun = 0
    guarded(() => {
      while (!isHalted && at < lines.length) {
        const line = lines[at] as Line
        if (isFinished(line.number)) progress.end(progress.begin(), nextOf(line))
        else if (begun === BEGIN_AT_ONCE || !hasRoom()) break
        else {
          begin(line)
          begun++
        }
        at++
      }
    })
    isAdvancing = false
    if (isHalted || at === lines.length) wake()
    else if (begun === BEGIN_AT_ONCE) fork(Effect.andThen(Effect.yieldNow, Effect.sync(advance)))
  }

  yield* Effect.addFinalizer(() => Effect.sync(() => {
    halt()
    for (const call of underWay) drop(call)
  }))
  fork(stop.await.pipe(
    Effect.andThen(Effect.sync(halt)),
    Effect.andThen(Effect.sleep(STOP_GRACE_MS)),
    Effect.andThen(Effect.sync(() => {
      for (const call of underWay) drop(call)
    }))
  ))

  const failed = Effect.suspend(() => defect === null ? Effect.void : Effect.die(defect.cause))

  return {
    /** Begins the lines, each as soon as there is room; false: no further line is to be begun. */
    feed: (group: ReadonlyArray<Line>) => Effect.gen(function*() {
      lines = group
      at = 0
      advance()
      while (!isHalted && at < lines.length) yield* wait
      return !isHalted
    }),
    /** Waits until each line that was begun is stored or dropped. */
    ended: Effect.gen(function*() {
      while ((open > 0 || isWriting) && defect === null) yield* wait
      yield* failed
    }),
    isHalted: () => isHalted,
    isContested: () => isContested
  }
})

const ignored = (): void => {}
