/** The `Events` port: what is published is in a file at once, and in the webhooks' queue soon. */
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Supervisor from "#actors/Supervisor.ts"
import { messageOf } from "#actors/thrown.ts"
import { Events } from "#actors/webhook/Events.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import type { QueuedEvent } from "#actors/webhook/ports/WebhookQueue.ts"
import * as Payloads from "#actors/webhook/payloads.ts"
import type { GatewayEvent } from "#schemas/events.ts"
import * as Directories from "#src/platform/structures/directories.ts"
import * as JournalOwner from "#src/platform/accounting/journal/JournalOwner.ts"
import { EventFile, readUnsafe } from "./EventFile.ts"

/** Between two tries while the store is away, ms. */
const AGAIN_MS = 1_000
/** How often files of dead processes are looked for, ms. */
const SWEEP_MS = 30_000
/** Time for the store to take what is left at the end, ms. */
const DRAIN_MS = 1_000

export interface Options {
  /** `<data>/events`. */
  readonly directory: string
  readonly processId: string
}

const idOf = (event: GatewayEvent): string => {
  const otherwise = `evt_${randomUUID()}`
  if (event.type === "quota.exceeded") return Payloads.quotaEventId(event, otherwise)
  if (event.type !== "request.completed" && event.type !== "request.failed") return otherwise
  const trace = event.data["trace_id"]
  return typeof trace === "string" ? Payloads.requestEventId(trace, String(event.at)) : otherwise
}

/** The file system refuses a file of a dead process, which stays for the next look. */
class LeftoverRefused extends Schema.TaggedError<LeftoverRefused>()("LeftoverRefused", { message: Schema.String }) {}

const asked = <A>(path: string, use: () => A): Effect.Effect<A, LeftoverRefused> => Effect.try({
  try: use,
  catch: (error) => new LeftoverRefused({ message: `${path}: ${messageOf(error)}. Let the gateway's user read and remove it, or move it away.` })
})

export const make = Effect.fnUntraced(function*(options: Options) {
  const webhooks = yield* Webhooks
  const runLog = Effect.runForkWith(yield* Effect.context<never>())
  const file = yield* Effect.acquireRelease(
    Effect.try({
      try: () => new EventFile(options.directory, options.processId),
      catch: (error) => Directories.unusable(options.directory, error)
    }).pipe(Effect.orDie),
    (opened) => Effect.sync(() => opened.close())
  )
  const wake = Latch.makeUnsafe(false)
  let losing = false

  const put = (event: QueuedEvent): void => {
    const kept = file.append(event)
    if (kept) wake.openUnsafe()
    if (!kept && !losing) {
      runLog(Effect.logError("events for webhooks cannot be kept and are lost; free the data directory (GATEWAY_DATA_DIR) or bring the record store back"))
    }
    losing = !kept
  }

  const drain = Effect.gen(function*() {
    while (file.waiting) {
      const { end, events } = file.peek()
      yield* webhooks.append(events)
      file.done(end)
    }
  })

  const bringOver = (claim: JournalOwner.JournalClaim) => Effect.gen(function*() {
    for (const path of claim.segments) {
      const fd = yield* asked(path, () => fs.openSync(path, "r"))
      try {
        const { size } = yield* asked(path, () => fs.fstatSync(fd))
        for (let from = 0; from < size;) {
          const { end, events } = yield* asked(path, () => readUnsafe(fd, from, size))
          yield* webhooks.append(events)
          from = end
        }
      } finally {
        fs.closeSync(fd)
      }
      yield* asked(path, () => fs.rmSync(path, { force: true }))
    }
    yield* asked(claim.file, () => fs.rmSync(claim.file, { force: true }))
  }).pipe(
    Effect.onError(() => Effect.sync(() => JournalOwner.unclaim(file.owner, claim))),
    // The files of the others do not wait for it.
    Effect.catchTag("LeftoverRefused", ({ message }) => Effect.logError(`events for webhooks: what a dead process left cannot be read and is tried again: ${message}`))
  )

  const sweep = Effect.suspend(() => {
    JournalOwner.touch(file.owner, () => {})
    return Effect.forEach(JournalOwner.deadOwners(file.owner), (dead) => {
      const claim = JournalOwner.claim(file.owner, dead)
      return claim === null ? Effect.void : bringOver(claim)
    }, { discard: true })
  })

  const again = <E>(loop: "webhook events" | "webhook leftovers", what: string, turn: Effect.Effect<void, E>) => Supervisor.loop(loop, turn.pipe(
    Effect.catch((error) => Effect.logWarning(`events for webhooks: ${what} is tried again`, error).pipe(
      Effect.andThen(Effect.sleep(AGAIN_MS)),
      Effect.andThen(wake.open)
    )),
    // What it was woken for is still there.
    Effect.tapDefect(() => wake.open)
  ))

  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(Effect.interruptible(drain), DRAIN_MS)))
  yield* again("webhook events", "bringing them to the queue", Effect.andThen(wake.await, Effect.suspend(() => {
    wake.closeUnsafe()
    return drain
  })))
  yield* again("webhook leftovers", "reading what dead processes left", Effect.andThen(sweep, Effect.sleep(SWEEP_MS)))

  return Events.of({
    wants: webhooks.wants,
    publish: (event) => {
      if (webhooks.wants(event.type)) put(Payloads.queued(event, idOf(event)))
    }
  })
})

export const layer = (options: Options): Layer.Layer<Events, never, Webhooks> => Layer.effect(Events, make(options))
