/** One wire call as a machine: what its client gets of any bytes in any pieces, what is held back, and that it ends once. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { afterEach, beforeEach, vi } from "vitest"
import { Attempt } from "#actors/request/Attempt.ts"
import type { AnswerCheck } from "#actors/request/ports/AnswerCheck.ts"
import { LedgerUnavailable, type Ledger, type Opening } from "#actors/request/ports/Ledger.ts"
import type { Upstream, UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import type { AttemptRow } from "#actors/request/steps/AttemptRow.ts"
import type { AttemptEnd, AttemptOptions } from "#actors/request/steps/attemptValues.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Formats from "#src/wire/formats.ts"
import { target as targetOf } from "#test/features/resilience/support.ts"
import { connection } from "#test/suites/records.ts"

const dialect = Formats.dialectOf(ChatCompletions.client, ChatCompletions.upstream, { model: "p/m", request: {}, makeId: () => "x", now: () => 1 })
const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`
const delta = (given: object, finish_reason: string | null = null) => event({ id: "x", choices: [{ index: 0, delta: given, finish_reason }] })
const head = event({ id: "x", choices: [] })
const bad = "data: {\"usage\":1,nonsense\n\n"
const content = (text: string) => delta({ content: text })
const finished = delta({}, "stop")
const usage = event({ id: "x", choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } })
const done = "data: [DONE]\n\n"
const whole = head + content("one") + content("two") + finished + usage + done
const reset: UpstreamFailure = { _tag: "UpstreamFailure", reason: "reset", phase: "idle", source: "upstream", retry: "never", message: "reset" }
const rule = (broken: boolean): AnswerCheck => ({ holds: true, rules: undefined, broken: () => broken ? "minLength" : null })
const turn = () => new Promise((resolve) => {
  setImmediate(resolve)
})

const world = (more: Partial<AttemptOptions> = {}) => {
  const state = { said: "", commits: 0, spoke: 0, paused: 0, resumed: 0, aborted: 0, useful: 0, dispatched: 0, behind: false }
  const ends: Array<AttemptEnd> = []
  const drains: Array<() => void> = []
  const opened: Array<Opening> = []
  const attempt = new Attempt({
    start: { proxyId: null } as unknown as AttemptRow, target: targetOf(connection({ id: "one" }), { model: "m" }), body: new Uint8Array(), requestHeaders: [], query: "", method: "POST",
    dialect, stream: true, forwardUsage: true, estimate: null, timeouts: { connect: 0, headers: 0, firstEvent: 0, idle: 0, total: 0 }, holdMs: 0, resumption: null,
    check: null, continues: false, now: () => 5, client: {
      relay: (chunk) => {
        assert.isTrue(state.commits === 1 || more.continues === true, "the head comes before the bytes")
        assert.lengthOf(ends, 0, "nothing is said after the end")
        state.said += Buffer.from(chunk).toString()
        return !state.behind
      },
      onDrain: (listener) => void drains.push(listener)
    }, ...more
  }, {
    speaks: () => void state.spoke++,
    commit: () => void state.commits++,
    ended: (end) => void ends.push(end)
  })
  const ledger = { open: (_: unknown, opening: Opening) => void opened.push(opening) } as unknown as Ledger["Service"]
  const upstream = {
    dispatch: () => {
      state.dispatched++
      return { pause: () => void state.paused++, resume: () => void state.resumed++, abort: () => void state.aborted++, useful: () => void state.useful++ }
    }
  } as unknown as Upstream["Service"]
  attempt.run(ledger, upstream)
  return {
    attempt, drains, ends, state, go: (error: LedgerUnavailable | null = null) => opened[0]?.go(error),
    end: () => {
      assert.lengthOf(ends, 1, "it ends once")
      return ends[0] as AttemptEnd
    }
  }
}
/** A stream that has begun. */
const streaming = (more: Partial<AttemptOptions> = {}) => {
  const one = world(more)
  one.go()
  one.attempt.onHead(200, ["content-type", "text/event-stream"])
  return { ...one, feed: (text: string) => one.attempt.onData(Buffer.from(text)) }
}
const short = ({ committed, outcome, rejected, repeatable, retryable, terminated }: AttemptEnd) =>
  [outcome, ...Object.entries({ committed, retryable, repeatable, rejected, terminated }).flatMap(([name, is]) => is ? [name] : [])].join(" ")

describe("a call", () => {
  it("leaves once its start is on disk, and not without it", () => {
    const waits = world()
    assert.strictEqual(waits.state.dispatched, 0)
    waits.go()
    assert.strictEqual(waits.state.dispatched, 1)
    const refused = world()
    refused.go(new LedgerUnavailable({ message: "full" }))
    assert.deepStrictEqual([refused.state.dispatched, short(refused.end()), refused.end().opened], [0, "policy", false])
  })

  it("that was cut meanwhile does not leave, and has a row", () => {
    const { attempt, end, go, state } = world()
    attempt.cut("client-abort", null)
    go()
    assert.deepStrictEqual([state.dispatched, short(end()), end().opened], [0, "client-abort", true])
  })
})

describe("a call that is ended by the gateway", () => {
  it("is cut at its upstream at once, and once", () => {
    const { attempt, end, feed, state } = streaming()
    feed(head + content("one"))
    attempt.cut("policy", null)
    attempt.cut("client-abort", null)
    assert.deepStrictEqual([state.aborted, short(end()), end().upstreamStatus], [1, "policy committed", 200])
  })

  it("because something threw says so, and is cut", () => {
    const { attempt, end, feed, state } = streaming({ client: { relay: () => { throw new Error("no client") }, onDrain: () => undefined } })
    assert.throws(() => feed(head + content("one")), "no client")
    assert.deepStrictEqual([state.aborted, end().outcome, end().error?.code, end().retryable], [1, "policy", "internal_server_error", false])
    attempt.onEnd()
    end()
  })

  it("is not asked again elsewhere where its body is lost, or the fault is the request's own", () => {
    const lost = streaming()
    lost.attempt.onFailure({ ...reset, reason: "lost-body" })
    assert.isFalse(lost.end().retryable)
    const own = streaming()
    own.feed(event({ error: { message: "no", type: "invalid_request_error", code: 400 } }))
    assert.deepStrictEqual([own.end().error?.source, own.end().retryable], ["client", false])
  })
})

describe("a stream", () => {
  it("is forwarded from its first content on, as it came, and ends with its last event", async () => {
    const { attempt, end, ends, feed, state } = streaming()
    feed(head)
    assert.deepStrictEqual([state.commits, state.said], [0, ""])
    feed(content("one"))
    assert.deepStrictEqual([state.commits, state.spoke, state.said], [1, 0, head + content("one")])
    const { useful } = state
    feed(content("two").slice(0, 10))
    assert.strictEqual(state.useful, useful, "a part of an event is no event")
    feed(content("two").slice(10))
    assert.strictEqual(state.useful, useful + 1)
    feed(finished + usage + done)
    assert.lengthOf(ends, 0)
    await turn()
    assert.deepStrictEqual([state.said, short(end()), end().bytesOut], [whole, "completed committed terminated", whole.length])
    assert.deepStrictEqual([end().usage?.input, end().usage?.output, end().outputText(), end().answer], [7, 5, "onetwo", null])
    attempt.onEnd()
    attempt.onFailure(reset)
    attempt.cut("policy", null)
    assert.lengthOf(ends, 1)
  })

  const Pieces = Schema.Struct({ cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))), behind: Schema.Array(Schema.Boolean), total: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: whole.length })), breaks: Schema.Boolean })
  it.prop("says the same in any pieces, however slow its client, and what a break means follows from what the client has", { pieces: Arbitrary.schema(Pieces) }, ({ pieces }) => {
    const { attempt, drains, end, feed, state } = streaming()
    const cut = whole.slice(0, pieces.total)
    // An event is whole without its empty line, where its stream ends.
    const text = !pieces.breaks && whole.startsWith(`${cut.trimEnd()}\n\n`) ? `${cut.trimEnd()}\n\n` : cut
    for (let from = 0, i = 0; from < text.length; i++) {
      const to = from + (pieces.cuts[i] ?? text.length)
      state.behind = pieces.behind[i] ?? false
      feed(text.slice(from, to))
      from = to
      if (pieces.behind[i + 1] === false) for (const drain of drains.splice(0)) drain()
    }
    for (const drain of drains.splice(0)) drain()
    assert.strictEqual(state.resumed, state.paused, "who drains is read again")
    if (pieces.breaks) attempt.onFailure(reset)
    else attempt.onEnd()
    const { bytesOut, outcome } = end()
    assert.strictEqual(bytesOut, state.said.length)
    const begun = text.includes(content("one"))
    const last = text.includes(done) || (!pieces.breaks && text.includes(finished))
    // Events that came whole; the last one is ours where the answer was finished without it.
    const events = text.slice(0, text.lastIndexOf("\n\n") + 2)
    assert.strictEqual(state.said, !begun ? "" : last && !text.includes(done) ? events + done : events)
    assert.deepStrictEqual([state.commits, end().committed, end().retryable], [begun ? 1 : 0, begun, !begun])
    assert.strictEqual(outcome, last ? "completed" : "upstream-reset")
    assert.strictEqual(end().repeatable, !begun && !pieces.breaks)
  }, { arbitrary: { size: 40, runs: 400 } })

  it("pauses its upstream while its client is behind, once", () => {
    const { drains, feed, state } = streaming()
    state.behind = true
    feed(head + content("one"))
    feed(content("two"))
    assert.deepStrictEqual([state.paused, state.resumed, drains.length], [1, 0, 1])
    drains[0]?.()
    drains[0]?.()
    assert.strictEqual(state.resumed, 1)
    feed(content("three"))
    assert.deepStrictEqual([state.paused, drains.length], [2, 2])
  })

  it("whose client left is read on for its usage, also when it was paused, and says nothing more", async () => {
    const { attempt, end, feed, state } = streaming()
    assert.isFalse(attempt.detach(), "nothing is worth reading")
    state.behind = true
    feed(head + content("one"))
    const said = state.said
    assert.isTrue(attempt.detach())
    assert.strictEqual(state.resumed, 1)
    feed(content("two") + finished + usage + done)
    await turn()
    assert.deepStrictEqual([state.said, short(end()), end().bytesOut, end().usage?.output], [said, "completed committed terminated", said.length, 5])
    assert.isFalse(attempt.detach())
  })

  const error = event({ error: { message: "down", type: "server_error", code: null } })
  it.each([
    ["before its content may be had elsewhere", "", "retryable"], ["after it ends the answer", head + content("one"), "committed"]
  ])("that fails %s", (_, before, ends) => {
    for (const [frame, outcome] of [[error, "upstream-status"], [bad, "parse-error"]] as const) {
      const { end, feed, state } = streaming()
      feed(before)
      feed(frame)
      assert.deepStrictEqual([short(end()), state.aborted, state.said], [`${outcome} ${ends}`, 1, before])
    }
  })

  it("keeps content that stands before a bad frame in one read", () => {
    const { end, feed, state } = streaming()
    feed(head + content("one") + bad)
    assert.deepStrictEqual([short(end()), state.said], ["parse-error committed", head + content("one")])
  })

  it("that ends without content may be asked again on its connection; one that broke off may be asked elsewhere", () => {
    for (const text of ["", head]) {
      const { attempt, end, feed } = streaming()
      feed(text)
      attempt.onEnd()
      assert.strictEqual(short(end()), "upstream-reset retryable repeatable")
    }
    const { attempt, end } = streaming()
    attempt.onFailure(reset)
    assert.strictEqual(short(end()), "upstream-reset retryable")
  })

  it("continues an answer that the client has begun: no second head, and no other target", () => {
    const { attempt, end, feed, state } = streaming({ continues: true })
    feed(content("one"))
    assert.deepStrictEqual([state.commits, state.said], [0, content("one")])
    attempt.onFailure(reset)
    assert.strictEqual(short(end()), "upstream-reset committed")
  })
})

describe("a stream that is held back", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }))
  afterEach(() => void vi.useRealTimers())

  it("says that it speaks, and goes out whole when its time is over", () => {
    const { feed, state } = streaming({ holdMs: 50 })
    feed(head + content("one"))
    feed(content("two"))
    vi.advanceTimersByTime(49)
    assert.deepStrictEqual([state.said, state.commits, state.spoke], ["", 0, 1])
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual([state.said, state.commits], [head + content("one") + content("two"), 1])
    feed(content("three"))
    assert.strictEqual(state.said, head + content("one") + content("two") + content("three"))
  })

  it("may be asked again when it breaks off meanwhile, and is never said", () => {
    for (const reason of ["reset", "truncated", null] as const) {
      const { attempt, end, feed, state } = streaming({ holdMs: 50 })
      feed(head + content("one"))
      assert.isAbove(state.useful, 0, "its silence is over")
      if (reason !== null) attempt.onFailure({ ...reset, reason })
      else attempt.onEnd()
      vi.advanceTimersByTime(1_000)
      assert.deepStrictEqual([short(end()), state.said, state.commits], ["upstream-reset retryable repeatable", "", 0])
    }
    const { attempt, end } = streaming({ holdMs: 50 })
    attempt.onFailure({ ...reset, reason: "connect-refused" })
    assert.isFalse(end().repeatable)
  })

  it("goes out at once when it is complete, or longer than what is held", () => {
    const complete = streaming({ holdMs: 50 })
    complete.feed(head + content("one"))
    complete.feed(finished + done)
    assert.strictEqual(complete.state.said, head + content("one") + finished + done)
    const ended = streaming({ holdMs: 50 })
    ended.feed(head + content("one") + finished)
    ended.attempt.onEnd()
    assert.deepStrictEqual([short(ended.end()), ended.state.said], ["completed committed terminated", head + content("one") + finished + done])
    const long = streaming({ holdMs: 50 })
    long.feed(head + content("one"))
    long.feed(content("x".repeat(33_000)))
    assert.strictEqual(long.state.said.length, (head + content("one") + content("x".repeat(33_000))).length)
  })

  it("for the rules of its combo goes out at its end, unless it breaks one", async () => {
    const good = streaming({ check: rule(false) })
    good.feed(head + content("one"))
    good.feed(content("two") + finished + usage)
    assert.deepStrictEqual([good.state.said, good.state.spoke], ["", 1])
    good.feed(done)
    await turn()
    assert.deepStrictEqual([good.state.said, short(good.end())], [whole, "completed committed terminated"])
    const broken = streaming({ check: rule(true) })
    broken.feed(whole)
    assert.deepStrictEqual([broken.state.said, short(broken.end()), broken.state.aborted, broken.end().usage?.output], ["", "policy retryable rejected terminated", 1, 5])
    const unended = streaming({ check: rule(true) })
    unended.feed(head + content("one") + finished)
    unended.attempt.onEnd()
    assert.deepStrictEqual([unended.state.said, short(unended.end())], ["", "policy retryable rejected terminated"])
    const large = streaming({ check: rule(false) })
    large.feed(head + content("x".repeat(4_300_000)))
    assert.deepStrictEqual([large.state.said, short(large.end())], ["", "policy retryable rejected"])
  })

  it("frees its socket a second after its last event, or when its upstream ends", async () => {
    const silent = streaming()
    silent.feed(whole)
    await turn()
    silent.end()
    vi.advanceTimersByTime(999)
    assert.strictEqual(silent.state.aborted, 0)
    vi.advanceTimersByTime(1)
    assert.strictEqual(silent.state.aborted, 1)
    for (const late of ["onEnd", "onFailure"] as const) {
      const ends = streaming()
      ends.state.behind = true
      ends.feed(whole)
      await turn()
      assert.strictEqual(ends.state.resumed, 1, "what it still sends is read")
      ends.attempt[late](reset)
      vi.advanceTimersByTime(5_000)
      assert.deepStrictEqual([ends.state.aborted, short(ends.end())], [0, "completed committed terminated"])
    }
  })
})

describe("a whole answer", () => {
  const answer = JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "one" }, finish_reason: "stop" }], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } })
  const answered = (status: number, body: string, more: Partial<AttemptOptions> = {}) => {
    const one = world({ stream: false, ...more })
    one.go()
    one.attempt.onHead(status, ["content-type", "application/json"])
    one.attempt.onData(Buffer.from(body.slice(0, 20)))
    one.attempt.onData(Buffer.from(body.slice(20)))
    one.attempt.onEnd()
    return one
  }

  it("is the client's, with what it used", () => {
    const { end, state } = answered(200, answer)
    assert.deepStrictEqual([short(end()), Buffer.from(end().answer ?? []).toString(), end().usage?.input, end().firstContentAt, state.commits], ["completed", answer, 7, 5, 0])
  })

  it("becomes a stream where one was asked for", () => {
    const { end, state } = answered(200, answer, { stream: true })
    assert.deepStrictEqual([short(end()), end().answer, state.commits, state.said.endsWith(done), end().bytesOut], ["completed committed terminated", null, 1, true, state.said.length])
  })

  it("that is an error may be had elsewhere, unless it is the request's own", () => {
    const error = JSON.stringify({ error: { message: "no", type: "x", code: null } })
    assert.strictEqual(short(answered(503, error).end()), "upstream-status retryable")
    assert.strictEqual(short(answered(400, error).end()), "upstream-status")
    assert.strictEqual(short(answered(503, error, { stream: true }).end()), "upstream-status retryable")
  })
})
