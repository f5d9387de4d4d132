/** The walk of a request, rule by rule, where sequences of any events say too little: what is told, remembered, left out and waited for. */
import { assert, describe, it } from "@effect/vitest"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import * as RequestState from "#actors/request/walk/RequestState.ts"
import * as Transition from "#actors/request/walk/transition.ts"
import * as Errors from "#schemas/errors.ts"
import { failure, rulesOf, type World } from "./driver.ts"

const plain: World = {
  targets: ["well", "well", "well", "well"], isCombo: true, lastResort: false, maxAttempts: 9, deadline: null, maxRetries: 0, maxSetRetries: 0, failoverBeforeRetry: true,
  delayMs: 0, hedgeDelayMs: null, mayQueue: false, drains: false, continues: false, stopsAtEmpty: false, sibling: false
}
type Event = RequestState.RequestEvent
type Rules = RequestState.WalkRules

const play = (world: Partial<World>, events: ReadonlyArray<Event>, more: Partial<Rules> = {}, now = 0) => {
  let state = RequestState.fresh
  const rules: Rules = { ...rulesOf({ ...plain, ...world }), ...more }
  const intents = [{ _tag: "Started" } as const, ...events].map((event) => {
    const [next, made] = Transition.step(state, event, now, rules)
    state = next
    return made
  })
  return { state, intents, last: intents.at(-1) ?? [] }
}
type Played = ReturnType<typeof play>
/** Targets in the order of their turns. */
const turns = ({ intents }: Played) => intents.flat().flatMap((intent) => intent._tag === "Prepare" ? [intent.index] : [])
const tags = (intents: ReadonlyArray<RequestState.Intent>) => intents.map((intent) => "id" in intent ? `${intent._tag} ${intent.id}` : intent._tag)
const refusal = ({ last }: Played) => last.flatMap((intent) => intent._tag === "Refuse" ? [intent.error] : [])[0]
const skips = ({ state }: Played) => state.course?.skips.map(({ index, unavailable }) => [index, unavailable.reason])

const error = Errors.make("bad_gateway", "of the call")
const no = Errors.make("rate_limit_exceeded", "of the refusal")
const ready = (id: number): Event => ({ _tag: "Ready", id })
const ended = (id: number, end: Partial<RequestState.End> = {}, more: { readonly retryAfterMs?: number; readonly partialText?: string } = {}): Event =>
  ({ _tag: "Ended", id, end: { ...failure, error, ...end }, retryAfterMs: more.retryAfterMs ?? null, partialText: more.partialText ?? null })
const failed = (id: number, end: Partial<RequestState.End> = {}): ReadonlyArray<Event> => [ready(id), ended(id, end)]
const answered = (id: number) => ended(id, { outcome: "completed", error: null, retryable: false, upstreamStatus: 200 })
const refused = (id: number, more: Partial<Extract<Event, { readonly _tag: "Refused" }>> = {}): Event =>
  ({ _tag: "Refused", id, error: no, final: false, yields: false, skip: null, ...more })
const busy: Unavailable = { reason: "connection-busy", until: null, detail: "" }
const blocked = (id: number): Event => ({ _tag: "Blocked", id, unavailable: busy })

describe("targets that cost no call", () => {
  it("are passed over once each, and told with their reasons", () => {
    const limit: Unavailable = { reason: "limit", until: null, detail: "" }
    const played = play({}, [refused(0, { skip: limit }), blocked(1), refused(2), refused(3, { skip: limit })])
    assert.deepStrictEqual(turns(played), [0, 1, 2, 3])
    assert.deepStrictEqual(skips(played), [[0, "limit"], [1, "connection-busy"], [3, "limit"]])
    assert.deepStrictEqual(tags(played.last), ["Cancel 3", "Refuse"])
    assert.strictEqual(played.state.refusal, no)
  })

  it.each<readonly [string, Partial<Extract<Event, { readonly _tag: "Refused" }>>, Errors.PublicError]>([
    ["yields to the error of a call", { yields: true }, error], ["says its own", {}, no], ["that is final says its own", { yields: true, final: true }, no]
  ])("a refusal %s", (_, more, told) => {
    assert.strictEqual(refusal(play({ targets: ["well", "well"] }, [...failed(0), refused(1, more)])), told)
    assert.strictEqual(refusal(play({ targets: ["well"] }, [refused(0, more)])), no)
  })

  it("a target without a place yields to the error of a call", () => {
    const full = Errors.make("service_unavailable", "full")
    assert.strictEqual(refusal(play({ targets: ["well", "well"] }, [...failed(0), blocked(1)], { errorOf: () => full })), error)
    assert.strictEqual(refusal(play({ targets: ["well"] }, [blocked(0)], { errorOf: () => full })), full)
  })

  it("a wait that brings an error says it; one that is over says why there is no place", () => {
    const full = Errors.make("service_unavailable", "full")
    const after = (turn: Extract<Event, { readonly _tag: "TurnCame" }>["turn"]) =>
      refusal(play({ targets: ["well"], mayQueue: true }, [blocked(0), { _tag: "TurnCame", id: 0, turn }], { errorOf: () => full }))
    assert.deepStrictEqual([after(no), after("late"), after(null)], [no, full, full])
  })

  it("each wait is counted", () => {
    const go: Event = { _tag: "TurnCame", id: 0, turn: "go" }
    const { intents } = play({ targets: ["well"], mayQueue: true }, [blocked(0), go, blocked(0), go, blocked(0)])
    assert.deepStrictEqual(intents.flat().flatMap((intent) => intent._tag === "Queue" ? [intent.rounds] : []), [0, 1, 2])
  })
})

describe("guesses are passed over", () => {
  const passes = (world: Partial<World>, events: ReadonlyArray<Event>) =>
    play(world, events).intents.flat().flatMap((intent) => intent._tag === "Prepare" ? [intent.passesGuesses] : [])
  it("by the last resort, and by what is repeated at once or with its list", () => {
    assert.deepStrictEqual(passes({}, [...failed(0), ...failed(1)]), [false, false, false])
    assert.deepStrictEqual(passes({ lastResort: true }, [...failed(0)]), [true, true])
    assert.deepStrictEqual(passes({ maxRetries: 1, failoverBeforeRetry: false }, failed(0)), [false, true])
    assert.deepStrictEqual(passes({ targets: ["well", "well"], maxSetRetries: 1 }, [...failed(0), ...failed(1), ...failed(2)]), [false, false, true, true])
    assert.deepStrictEqual(passes({}, failed(0, { outcome: "upstream-reset", repeatable: true })), [false, true])
  })
})

describe("what the client is told of the time", () => {
  it("is the earliest that any call heard, also beside another call", () => {
    assert.strictEqual(refusal(play({ targets: ["well", "well"] }, [ready(0), ended(0, {}, { retryAfterMs: 3_000 }), ...failed(1)]))?.retryAfterSeconds, 3)
    assert.strictEqual(refusal(play({ targets: ["well", "well"] }, [ready(0), ended(0, {}, { retryAfterMs: 3_000 }), refused(1, { yields: true })]))?.retryAfterSeconds, 3)
    const hedged = play({ targets: ["well", "well"], hedgeDelayMs: 1 }, [ready(0), { _tag: "HedgeDue" }, ready(1), ended(1, {}, { retryAfterMs: 4_000 }), ended(0)])
    assert.strictEqual(refusal(hedged)?.retryAfterSeconds, 4)
  })
})

describe("after a failure", () => {
  it("that no other try may mend, only another provider of a combo that answered is asked", () => {
    const fault = { retryable: false, upstreamStatus: 400 }
    assert.deepStrictEqual(turns(play({}, failed(0, fault))), [0, 1])
    assert.deepStrictEqual(turns(play({}, failed(0, { ...fault, outcome: "parse-error" }))), [0])
    assert.deepStrictEqual(turns(play({ isCombo: false }, failed(0, fault))), [0])
  })

  it("of two streams that ended early on one connection its siblings are left out", () => {
    const early = { outcome: "upstream-reset", repeatable: true, upstreamStatus: 200 } as const
    assert.deepStrictEqual(turns(play({}, [...failed(0, early), ...failed(1, early), ...failed(2), ...failed(3)])), [0, 0, 1, 3])
    assert.deepStrictEqual(turns(play({ sibling: true }, [...failed(0, early), ...failed(1, early), ...failed(2), ...failed(3), ...failed(4)])), [0, 0, 1, 2, 3])
  })

  it("to connect, what leaves the same way is left out, unless the gateway itself refused", () => {
    const over = [...failed(1), ...failed(2), ...failed(3)]
    assert.deepStrictEqual(turns(play({}, [...failed(0, { phase: "connect" }), ...over])), [0, 1, 2])
    assert.deepStrictEqual(turns(play({}, [...failed(0, { phase: "connect", outcome: "policy" }), ...over])), [0, 1, 2, 3])
    assert.deepStrictEqual(turns(play({}, [...failed(0, { phase: "idle" }), ...over])), [0, 1, 2, 3])
  })

  it("no further target is called once an interceptor refused the whole request", () => {
    const world = { hedgeDelayMs: 1 } as const
    const barred = [ready(0), { _tag: "HedgeDue" }, refused(1, { final: true })] as const
    assert.deepStrictEqual(tags(play(world, [...barred, ended(0)]).last), ["Settle 0", "Refuse"])
    assert.deepStrictEqual(play(world, [...barred, { _tag: "HedgeDue" }]).last, [])
    assert.strictEqual(play(world, [...barred, ended(0)]).state.failure, error)
  })
})

describe("all connections rest", () => {
  const resting = { reason: "connection-cooldown", until: 30, detail: "" } as const
  const world = { targets: ["well", "well"], isCombo: false, mayQueue: true } as const
  /** The first call fails when both rest. */
  const after = (more: Partial<World> = {}, rules: Partial<Rules> = {}, events: ReadonlyArray<Event> = []) =>
    play({ ...world, ...more }, [...failed(0), ...events], { blocked: () => resting, resting: (index) => ({ ...resting, until: 30 - index }), ...rules })

  it("the request waits for the one that is back first, where it may", () => {
    const played = after({}, {}, [blocked(1)])
    assert.deepStrictEqual(turns(played), [0, 1])
    assert.deepStrictEqual(tags(played.last), ["Queue 1"])
    assert.strictEqual(tags(after().last)[0], "Settle 0")
  })

  it("for as long as its time lasts, not for a guess: what it waited for has no other pause", () => {
    const prepared = after({}, { resting: () => resting }).last.flatMap((intent) => intent._tag === "Prepare" ? [intent] : [])
    assert.deepStrictEqual(prepared, [{ _tag: "Prepare", id: 1, index: 0, passesGuesses: false }])
  })

  it.each<readonly [string, Partial<World>, Partial<Rules>]>([
    ["without a queue", { mayQueue: false }, {}], ["in a combo", { isCombo: true }, {}], ["against the settings", {}, { mayWaitFor: () => false }],
    ["beyond the deadline", { deadline: 0 }, {}], ["without a time", {}, { resting: () => ({ ...resting, until: null }) }]
  ])("it does not wait %s", (_, more, rules) => {
    assert.deepStrictEqual(tags(after(more, rules).last), ["Settle 0", "Refuse"])
  })

  it("the settings hear of the target and of the waits so far", () => {
    const asked: Array<ReadonlyArray<unknown>> = []
    after({}, { mayWaitFor: (index, unavailable, rounds) => asked.push([index, unavailable.until, rounds]) > 0 }, [blocked(1), { _tag: "TurnCame", id: 1, turn: "go" }, ...failed(1)])
    assert.deepStrictEqual(asked, [[1, 29, 0], [1, 29, 1]])
  })

  it("what was waited for is no longer waited for after the next call", () => {
    const played = after({ targets: ["well", "well"] }, { mayWaitFor: (_, __, rounds) => rounds === 0 }, [blocked(1), { _tag: "TurnCame", id: 1, turn: "go" }, ...failed(1)])
    assert.deepStrictEqual(tags(played.last), ["Settle 1", "Refuse"])
  })
})

describe("an answer that broke off", () => {
  const committed = (id: number): Event => ({ _tag: "Committed", id })
  const broken = (id: number, partialText: string | null, end: Partial<RequestState.End> = {}): Event =>
    ended(id, { outcome: "upstream-reset", retryable: false, committed: true, ...end }, partialText === null ? {} : { partialText })
  const world = { continues: true, stopsAtEmpty: true } as const
  const begin = [ready(0), committed(0)] as const

  it("is continued on its own target, through guesses and without a hedge", () => {
    const played = play({ ...world, hedgeDelayMs: 1 }, [...begin, broken(0, "a")])
    assert.deepStrictEqual(played.last.at(-1), { _tag: "Prepare", id: 1, index: 0, passesGuesses: true })
    assert.isFalse(tags(played.last).includes("ArmHedge"))
  })

  it.each<readonly [string, Partial<World>, Event]>([
    ["where recovery does not", { continues: false }, broken(0, "a")], ["that may not be continued", {}, broken(0, null)],
    ["for another reason", {}, broken(0, "a", { outcome: "upstream-status" })]
  ])("is not continued %s", (_, more, event) => {
    assert.deepStrictEqual(tags(play({ ...world, ...more }, [...begin, event]).last), ["Settle 0", "EndStream 0"])
  })

  it("is continued when it said something more, or where an empty continuation does not stop it", () => {
    const events = (text: string) => [...begin, broken(0, "a"), ready(1), broken(1, text)]
    const last = (more: Partial<World>, text: string) => tags(play({ ...world, ...more }, events(text)).last)[0]
    assert.deepStrictEqual([last({}, "ab"), last({}, "a"), last({ stopsAtEmpty: false }, "a")], ["KeepPartial 1", "Settle 1", "KeepPartial 1"])
    assert.strictEqual(tags(play(world, [...begin, broken(0, "")]).last)[0], "KeepPartial 0", "the first one says what it says")
  })

  it("whose client leaves before it is continued is not read on", () => {
    assert.deepStrictEqual(tags(play({ ...world, drains: true }, [...begin, broken(0, "a"), { _tag: "ClientLeft" }]).last), ["Cancel 1"])
  })
})

describe("two calls at once", () => {
  const hedged = [ready(0), { _tag: "HedgeDue" }, ready(1)] as const
  const world = { hedgeDelayMs: 5 } as const

  it("the whole answer of one cuts the other, which is settled and changes nothing", () => {
    for (const [winner, loser] of [[0, 1], [1, 0]] as const) {
      const played = play(world, [...hedged, answered(winner)])
      assert.deepStrictEqual(played.last.map((intent) => "reason" in intent ? [intent._tag, intent.id, intent.reason] : "id" in intent ? [intent._tag, intent.id] : intent._tag), [
        ["Cut", loser, "hedge-lost"], ["Settle", winner], ["Give", winner]
      ])
      assert.isFalse(RequestState.isDone(played.state))
      const over = play(world, [...hedged, answered(winner), ended(loser, { outcome: "policy" })])
      assert.deepStrictEqual(over.last, [{ _tag: "Settle", id: loser, as: "late" }])
      assert.isTrue(RequestState.isDone(over.state))
    }
  })

  it("the next free target joins when the one that joined is passed over, not when the first one is", () => {
    assert.deepStrictEqual(tags(play(world, [ready(0), { _tag: "HedgeDue" }, refused(1)]).last), ["Cancel 1", "Prepare 2"])
    assert.deepStrictEqual(tags(play(world, [{ _tag: "HedgeDue" }, ready(1), refused(0)]).last), ["Cancel 0"])
  })

  it("a second one begins before the deadline, not at it", () => {
    assert.deepStrictEqual(tags(play({ ...world, deadline: 6 }, [ready(0), { _tag: "HedgeDue" }], {}, 5).last), ["Prepare 1"])
    assert.deepStrictEqual(play({ ...world, deadline: 5 }, [ready(0), { _tag: "HedgeDue" }], {}, 5).last, [])
  })

  it("what stands before the one that joins is told", () => {
    const played = play({ ...world, targets: ["well", "busy", "busy"] }, [ready(0), { _tag: "HedgeDue" }])
    assert.deepStrictEqual([played.last, skips(played)], [[], [[1, "connection-busy"], [2, "connection-busy"]]])
  })

  it("end with the gateway, each with its reason, and with a defect, both settled", () => {
    const cuts = (events: ReadonlyArray<Event>) => play(world, [...hedged, ...events]).last.flatMap((intent) => intent._tag === "Cut" ? [[intent.id, intent.reason]] : [])
    assert.deepStrictEqual(cuts([{ _tag: "ShutDown" }]), [[0, "shutting-down"], [1, "shutting-down"]])
    assert.deepStrictEqual(cuts([{ _tag: "ClientLeft" }]), [[0, "client-gone"], [1, "client-gone"]])
    assert.deepStrictEqual(cuts([{ _tag: "Committed", id: 1 }, { _tag: "Defect" }]), [[0, "defect"], [1, "defect"]])
    const after = play(world, [...hedged, { _tag: "Defect" }, ended(0, { outcome: "policy" })])
    assert.deepStrictEqual(after.last, [{ _tag: "Settle", id: 0, as: "late" }])
  })
})

describe("what comes twice or too late", () => {
  it("changes nothing", () => {
    const again: ReadonlyArray<Event> = [{ _tag: "ShutDown" }, { _tag: "DrainOver" }]
    for (const event of again) assert.deepStrictEqual(play({}, [ready(0), { _tag: "ShutDown" }, event]).last, [], event._tag)
    assert.deepStrictEqual(play({}, [ready(0), { _tag: "DrainOver" }]).last, [], "nothing is drained")
  })

  it("a client that leaves after the end has left all the same", () => {
    const played = play({}, [ready(0), answered(0), { _tag: "ClientLeft" }])
    assert.deepStrictEqual([played.last, played.state.clientGone], [[], true])
  })

  it("a request that the gateway ended before its call says so", () => {
    assert.strictEqual(play({}, [{ _tag: "ShutDown" }]).state.refusal?.code, "shutting_down")
  })
})
