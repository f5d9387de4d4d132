/**
 * The request actor over targets that answer, fail, break off, rest, refuse or say nothing, hedged or not, while its client may leave
 * and the gateway may stop at any moment: everything that begins ends exactly once.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { notEmpty } from "#actors/request/ports/AnswerCheck.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { LedgerUnavailable } from "#actors/request/ports/Ledger.ts"
import type { UpstreamHandler } from "#actors/request/ports/Upstream.ts"
import { RequestActor } from "#actors/request/Request.ts"
import type { Client } from "#actors/request/Inbound.ts"
import type { Services } from "#actors/request/services.ts"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import * as Errors from "#schemas/errors.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Formats from "#src/wire/formats.ts"

const face = Formats.faceOf(ChatCompletions.client, true)
const dialect = Formats.dialectOf(ChatCompletions.client, ChatCompletions.upstream, { model: "p/m", request: {}, makeId: () => "x", now: () => 1 })
const TICK = 10
/** What making a body takes, ms. */
const MAKING = 1
/** Ticks after which the client of a request that still runs leaves. */
const END = 60

const ticks = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: most }))
const Kind = Schema.Literals(["answer", "empty", "fail", "refuse", "cut", "silent", "busy", "turned-away", "barred", "unsaid", "unrecorded"])
const World = Schema.Struct({
  targets: Schema.Array(Schema.Struct({ kind: Kind, at: ticks(8) })).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
  /** Ticks; null = not hedged. */
  hedge: Schema.NullOr(ticks(4)),
  stream: Schema.Boolean,
  leavesAt: Schema.NullOr(ticks(12)),
  stopsAt: Schema.NullOr(ticks(12)),
  maxAttempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
  maxRetries: ticks(2),
  /** Targets whose interceptor takes this many ticks. */
  waits: ticks(3)
})
type World = typeof World.Type

const answerOf = (content: string) => Buffer.from(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] }))
const frame = (content: string, finish: string | null = null) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`)
const resting: Unavailable = { reason: "connection-busy", until: null, detail: "busy" }

const play = (world: World) => Effect.gen(function*() {
  const targets = world.targets.map((_, index): Target => ({
    provider: `p${index}`, providerAlias: `p${index}`, publicModel: `p${index}/m`, model: "m", connection: null, wireFormat: "chat-completions",
    origin: "http://127.0.0.1:1", path: "/", streamPath: "/", headers: [], price: null, streamOptions: true, proxy: null, maxOutputTokens: null,
    reasoning: null, thinking: null
  }))
  const scriptOf = (target: Target) => world.targets[targets.indexOf(target)] as World["targets"][number]
  let now = 0
  const due: Array<{ readonly at: number; readonly run: () => void }> = []
  const later = (after: number, run: () => void) => due.push({ at: now + after * TICK, run })

  const opened: Array<string> = []
  const rows: Array<LedgerRow> = []
  const released: Array<boolean> = []
  let passes = 0
  let calls = 0
  let live = 0
  let mostLive = 0
  let asked = 0
  /** Leaves of the interceptor that were given, and that turned out to have no use. */
  let given = 0
  let unused = 0
  /** Calls that were not made, because no record of them could be written. */
  let unrecorded = 0
  let openedAtBar: number | null = null
  const settled: Array<string> = []
  /** What is told of each settled call beside its row. */
  const spent: Array<string> = []
  const told: Array<string> = []
  const reported: Array<string> = []
  const said: Array<string> = []
  const summaries: Array<string> = []
  const finished: Array<boolean | null> = []
  let closed = 0
  let left = false

  const client: Client = {
    start: () => void said.push("start"),
    relay: () => {
      assert.isFalse(left, "wrote to a client that had gone")
      assert.deepStrictEqual(said, ["start"], "wrote before the head or after the end")
      return true
    },
    onDrain: () => undefined,
    end: () => void said.push("end"),
    respond: (status) => void said.push(`respond ${status}`),
    close: () => void said.push("close")
  }
  const play = (target: Target, handler: UpstreamHandler, isOver: () => boolean, over: () => void) => {
    const { at, kind } = scriptOf(target)
    const end = (run: () => void) => later(at, () => {
      if (isOver()) return
      over()
      run()
    })
    const whole = (status: number, body: Buffer) => end(() => {
      handler.onHead(status, ["content-type", "application/json"])
      handler.onData(body)
      handler.onEnd()
    })
    if (kind === "silent") return
    if (kind === "fail") whole(503, Buffer.from(`{"error":{"message":"down"}}`))
    else if (kind === "refuse") whole(400, Buffer.from(`{"error":{"message":"no"}}`))
    else if (!world.stream) whole(200, answerOf(kind === "empty" ? "" : kind))
    else {
      // Content a tick before the end: the commit point and the end are two moments.
      later(at, () => {
        if (isOver()) return
        handler.onHead(200, ["content-type", "text/event-stream"])
        if (kind !== "empty") handler.onData(frame("x"))
      })
      later(at + 1, () => {
        if (isOver()) return
        over()
        if (kind === "answer") handler.onData(Buffer.concat([frame("y", "stop"), Buffer.from("data: [DONE]\n\n")]))
        if (kind === "cut") handler.onFailure({ _tag: "UpstreamFailure", reason: "reset", phase: "idle", source: "upstream", retry: "never", message: "reset" })
        else handler.onEnd()
      })
    }
  }
  let current: Target = targets[0] as Target
  const services: Services = {
    ledger: {
      open: (start, opening) => {
        if (scriptOf(current).kind === "unrecorded") {
          unrecorded++
          return opening.go(new LedgerUnavailable({ message: "the disk is full" }))
        }
        opened.push(start.attemptId)
        opening.go(null)
      },
      settle: (row) => rows.push(row), journal: () => undefined, flush: () => Effect.succeed(0), reconciliation: () => { throw new Error("not asked") }
    },
    upstream: {
      dispatch: () => { throw new Error("replaced below") },
      stats: () => []
    },
    credentials: { peek: () => null, token: () => Effect.die("not asked") },
    resilience: {
      check: () => null,
      spent: (target, tokens) => void spent.push(`${target.provider} ${tokens}`),
      enter: (target) => {
        if (scriptOf(target).kind === "busy") return resting
        passes++
        let out = false
        return {
          answered: () => undefined,
          release: (verdict) => {
            assert.isFalse(out, "a place was given back twice")
            out = true
            released.push(verdict !== null)
          }
        }
      }
    },
    accounting: { cost: () => 0, estimate: () => 1 },
    telemetry: {
      requestStarted: () => undefined, attemptSettled: ({ attemptId }) => void told.push(attemptId), requestSettled: ({ outcome }) => summaries.push(outcome), render: () => ""
    },
    limits: { timeouts: { connect: 0, headers: 0, firstEvent: 0, idle: 0, total: 0 }, maxAttempts: world.maxAttempts, drainForUsageMs: 0, pulse: { heartbeatMs: 0, earlyMs: 0 } },
    nodeId: "n", now: () => now, makeAttemptId: () => `a-${++calls}`, report: (target) => void reported.push(target.provider),
    defect: (_, cause) => { throw new Error(`a defect: ${String(cause)}`) }, closed: () => undefined
  }
  const actor = new RequestActor({
    ...services,
    upstream: {
      stats: () => [],
      dispatch: (_, handler) => {
        const target = current
        let isOver = false
        const over = () => {
          if (!isOver) live--
          isOver = true
        }
        live++
        mostLive = Math.max(mostLive, live)
        play(target, handler, () => isOver, over)
        return { pause: () => undefined, resume: () => undefined, abort: over, useful: () => undefined }
      }
    }
  }, {
    requestId: "r", client, face, endpoint: "/v1/chat/completions", requestedModel: "c", stream: world.stream, forwardUsage: false, progress: false,
    recovery: { holds: false, sibling: false, continues: false, stopsAtEmpty: false }, units: null, key: null, sessionTag: null, targets, refusalOf: () => null,
    interceptors: [{
      beforeAttempt: (target) => {
        asked++
        const { kind } = scriptOf(target)
        if (kind === "barred") openedAtBar ??= opened.length
        const refusal = kind === "turned-away" || kind === "barred" ? { error: Errors.make("rate_limit_exceeded", "no"), final: kind === "barred" } : null
        if (refusal === null) given++
        return world.waits === 0 ? refusal : Effect.delay(Effect.succeed(refusal), world.waits * TICK)
      },
      unused: () => void unused++,
      attemptSettled: ({ attemptId }) => void settled.push(attemptId),
      closed: () => void closed++
    }],
    route: {
      strategy: "priority", combo: "c",
      policy: { ...once, maxRetries: world.maxRetries, retryDelayMs: TICK, hedgeDelayMs: world.hedge === null ? null : world.hedge * TICK, answers: notEmpty },
      lastResort: false, succeeded: () => undefined, finished: (ok) => void finished.push(ok), terminal: (error) => error, line: () => ""
    },
    bodyFor: (target) => {
      current = target
      now += MAKING
      return scriptOf(target).kind === "unsaid" ? Errors.make("unsupported_feature", "cannot be said") : new Uint8Array()
    },
    continuationFor: () => new Uint8Array(), omittedFor: () => [], dialectFor: () => dialect, headersFor: () => [], promptText: () => "",
    release: () => undefined, responseHeaders: () => [], errorHeaders: () => []
  })
  const fiber = yield* Effect.forkChild(actor.run, { startImmediately: true })
  for (let tick = 0; tick <= END + 20 && fiber.pollUnsafe() === undefined; tick++) {
    now = tick * TICK
    for (let i = 0; i < due.length; i++) {
      const event = due[i]
      if (event === undefined || event.at > now) continue
      due.splice(i--, 1)
      event.run()
    }
    if (tick === world.stopsAt) actor.shutDown()
    if (!left && (tick === world.leavesAt || tick === END) && fiber.pollUnsafe() === undefined && !said.some((one) => one !== "start")) {
      left = true
      actor.clientLeft()
    }
    yield* TestClock.adjust(TICK)
  }
  yield* Fiber.await(fiber)
  return { asked, closed, finished, given, left, live, mostLive, opened, openedAtBar, passes, released, reported, rows, said, settled, spent, summaries, told, unrecorded, unused }
})

describe("a request over any targets", () => {
  it.effect.prop("begins, settles and ends each thing exactly once, inside its budget", { world: Arbitrary.schema(World) }, ({ world }) => Effect.gen(function*() {
    const { asked, closed, finished, given, left, live, mostLive, opened, openedAtBar, passes, released, reported, rows, said, settled, spent, summaries, told, unrecorded, unused } = yield* play(world)
    // One row per wire call, told to who goes along; nothing is left running.
    assert.deepStrictEqual(rows.map(({ attemptId }) => attemptId).sort(), [...opened].sort())
    for (const heard of [settled, told]) assert.deepStrictEqual([...heard].sort(), [...opened].sort())
    assert.deepStrictEqual([...spent].sort(), rows.map(({ provider, tokensIn, tokensOut }) => `${provider} ${tokensIn + tokensOut}`).sort())
    // Neither a client that leaves nor a rule of ours says anything of an upstream.
    assert.deepStrictEqual([...reported].sort(), rows.filter(({ outcome }) => outcome !== "client-abort" && outcome !== "policy").map(({ provider }) => provider).sort())
    // The time that making a body takes is not its upstream's.
    for (const { phases } of rows) assert.isAtLeast(phases?.limits ?? Number.NaN, MAKING)
    assert.strictEqual(live, 0)
    assert.strictEqual(released.length, passes)
    assert.isAtMost(opened.length, world.maxAttempts)
    assert.isAtMost(mostLive, world.hedge === null ? 1 : 2)
    assert.isAtLeast(asked, opened.length)
    // A leave has a call, or is told that it has none; a request that ends meanwhile tells it by its own end.
    if (world.waits === 0) assert.strictEqual(given, opened.length + unrecorded + unused)
    // After a final refusal no further target is called.
    if (openedAtBar !== null && (world.hedge === null || world.waits === 0)) assert.strictEqual(opened.length, openedAtBar)
    // One answer, one error, or a client that left.
    assert.isAtMost(said.filter((one) => one.startsWith("respond") || one === "end" || one === "close").length, 1)
    if (!left) assert.isTrue(said.some((one) => one.startsWith("respond") || one === "end"))
    if (left) assert.isFalse(said.some((one) => one.startsWith("respond")))
    assert.isAtMost(rows.filter(({ final }) => final).length, 1)
    assert.deepStrictEqual([closed, finished.length, summaries.length], [1, 1, 1])
    const winners = rows.filter(({ outcome }) => outcome === "completed")
    assert.isAtMost(winners.length, 1)
    for (const winner of winners) assert.isTrue(winner.final)
    assert.strictEqual(finished[0], left ? null : winners.length === 1)
    if (left) assert.strictEqual(summaries[0], "client-abort")
    assert.isFalse(rows.some(({ errorCode }) => errorCode === "internal_server_error"))
    // Who lost says nothing about its health: no verdict, no class of failure.
    for (const { outcome } of rows.filter(({ errorCode }) => errorCode === "hedge_lost")) assert.strictEqual(outcome, "policy")
    // An answer that broke a rule is an answer all the same.
    const verdicts = rows.filter(({ errorCode, outcome }) => outcome !== "client-abort" && (outcome !== "policy" || errorCode === "response_validation_failed")).length
    assert.strictEqual(released.filter((one) => one).length, verdicts)
  }), { arbitrary: { runs: 1_000 } })
})
