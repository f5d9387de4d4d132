/** Evals and combos that are ordered by them (`evalRouting`), over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, type Place } from "#test/support/combos.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "eval")
})
afterAll(() => lab.close())

interface Result {
  readonly caseId: string
  readonly status: string
  readonly answeredBy: string | null
  readonly output: string | null
  readonly error: string | null
  readonly latencyMs: number | null
}
interface Run {
  readonly id: string
  readonly runGroupId: string
  readonly cases: number
  readonly passed: number
  readonly failed: number
  readonly errors: number
  readonly results: ReadonlyArray<Result>
}
interface Ran {
  readonly runGroupId: string
  readonly runs: ReadonlyArray<Run>
  readonly scorecard: { readonly passRate: number | null; readonly models: ReadonlyArray<{ readonly model: string; readonly cases: number; readonly passRate: number }> }
  readonly recentRuns: ReadonlyArray<{ readonly id: string }>
  readonly historyScorecard: { readonly runs: number }
}
type Expected = { readonly strategy: string; readonly value: string }

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const refused = async (method: string, path: string, body?: unknown): Promise<number> => (await lab.gateway.operator.raw(method, path, body)).status
const one = (id: string, expected: Expected, more: Record<string, unknown> = {}) =>
  ({ id, name: id, input: { messages: [{ role: "user", content: `Question ${id}` }] }, expected, ...more })
const suiteOf = async (cases: ReadonlyArray<unknown>): Promise<string> => {
  const { suite } = await call<{ suite: { id: string } }>("POST", "/api/evals/suites", { name: "a suite", cases })
  return suite.id
}
const run = (asked: Record<string, unknown>) => call<Ran>("POST", "/api/evals", asked)
const statuses = ({ results }: Run) => results.map(({ caseId, status }) => [caseId, status])
const modelOf = ({ model }: Place) => ({ type: "model", id: model })

describe("suites", () => {
  it("are stored, listed beside the built-in ones, changed and deleted", async () => {
    const id = await suiteOf([{ name: "without an id", input: { messages: [{ role: "user", content: "?" }] }, expected: { strategy: "exact", value: "!" } }])
    const { suite } = await call<{ suite: { cases: ReadonlyArray<Record<string, unknown>>; builtIn: boolean } }>("GET", `/api/evals/suites/${id}`)
    expect([suite.builtIn, suite.cases[0]]).toEqual([false, {
      id: "case-1", name: "without an id", model: null, input: { messages: [{ role: "user", content: "?" }] }, expected: { strategy: "exact", value: "!" }, tags: []
    }])
    await call("PUT", `/api/evals/suites/${id}`, { name: "renamed" })
    const listed = await call<{ suites: ReadonlyArray<{ id: string; name: string }> }>("GET", "/api/evals/suites")
    expect(listed.suites.find((each) => each.id === id)?.name).toBe("renamed")
    await call("DELETE", `/api/evals/suites/${id}`)
    expect([await refused("GET", `/api/evals/suites/${id}`), await refused("DELETE", `/api/evals/suites/${id}`)]).toEqual([404, 404])
  })

  it("refuse what could not be run: built-in ones as ours, two cases of one id, a pattern of unbounded time", async () => {
    const { suites } = await call<{ suites: ReadonlyArray<{ id: string; builtIn: boolean }> }>("GET", "/api/evals")
    const builtIn = suites.find((suite) => suite.builtIn)?.id ?? ""
    expect([await refused("PUT", `/api/evals/suites/${builtIn}`, { name: "x" }), await refused("DELETE", `/api/evals/suites/${builtIn}`)]).toEqual([400, 400])
    const yes = { strategy: "contains", value: "yes" }
    const wrong = [[one("a", yes), one("a", yes)], [one("a", { strategy: "regex", value: "(a)\\1" })], [one("a", { strategy: "guess", value: "x" })], []]
    for (const cases of wrong) expect(await refused("POST", "/api/evals/suites", { name: "wrong", cases })).toBe(400)
  })
})

describe("runs", () => {
  it("ask the cases one after another through the request path, and judge each by its own rule", async () => {
    const place = await combos.place({ text: "  The answer is 42.  " })
    const id = await suiteOf([
      one("contains", { strategy: "contains", value: "ANSWER IS" }), one("exact", { strategy: "exact", value: "The answer is 42." }),
      one("regex", { strategy: "regex", value: "\\b4[0-9]\\." }), one("wrong", { strategy: "contains", value: "43" }),
      one("limit", { strategy: "contains", value: "42" }, { input: { messages: [{ role: "user", content: "short" }], max_tokens: 7 } })
    ])
    const { historyScorecard, recentRuns, runs: [first], scorecard } = await run({ suiteId: id, target: modelOf(place) })
    expect(statuses(first as Run)).toEqual([["contains", "passed"], ["exact", "passed"], ["regex", "passed"], ["wrong", "failed"], ["limit", "passed"]])
    expect(first).toMatchObject({ cases: 5, passed: 4, failed: 1, errors: 0 })
    expect(scorecard).toMatchObject({ passRate: 0.8, models: [{ model: place.model, cases: 5, passRate: 0.8 }] })
    expect([recentRuns[0]?.id, historyScorecard.runs]).toEqual([first?.id, 1])
    const seen = await combos.seen(place)
    expect(seen.map(({ body }) => (body as { max_tokens: number }).max_tokens)).toEqual([512, 512, 512, 512, 7])
    for (const [i, { at }] of seen.entries()) if (i > 0) expect(at).toBeGreaterThanOrEqual(seen[i - 1]?.endedAt ?? Number.NaN)
  })

  it("tell of a combo which model answered, and of a broken one that there was nothing to judge", async () => {
    const [down, well] = [await combos.place({ status: 500, error: { message: "down for good" } }), await combos.place()]
    const combo = await combos.combo("priority", [down.model, well.model], { config: { maxRetries: 0 } })
    const id = await suiteOf([one("a", { strategy: "contains", value: well.name })])
    const { runGroupId, runs } = await run({ suiteId: id, target: { type: "combo", id: combo.slice("combo/".length) }, compareTarget: modelOf(down) })
    expect(runs.map(({ runGroupId: group }) => group)).toEqual([runGroupId, runGroupId])
    expect(runs.map(({ results: [result] }) => [result?.status, result?.answeredBy])).toEqual([["passed", well.model], ["error", null]])
    expect(runs[1]?.results[0]?.error).toContain("down for good")
  })

  it("by default ask each case's own model; outputs that came along are judged without a call", async () => {
    const place = await combos.place()
    const id = await suiteOf([
      one("own", { strategy: "exact", value: place.name }, { model: place.model }), one("none", { strategy: "exact", value: "x" }),
      one("given", { strategy: "exact", value: "from elsewhere" })
    ])
    const { runs: [first], scorecard } = await run({ suiteId: id, outputs: { given: "from elsewhere" } })
    expect(statuses(first as Run)).toEqual([["own", "passed"], ["none", "error"], ["given", "passed"]])
    expect(scorecard.models.map(({ cases, model }) => [model, cases])).toEqual([[place.model, 1]])
    expect(await combos.seen(place)).toHaveLength(1)
  })

  it("keep to the rules of the key in whose name they ask", async () => {
    const place = await combos.place()
    const id = await suiteOf([one("a", { strategy: "exact", value: place.name })])
    const key = await call<{ id: string }>("POST", "/api/keys", { name: "narrow", allowedModels: ["nobody/else"] })
    const { runs: [first] } = await run({ suiteId: id, target: modelOf(place), apiKeyId: key.id })
    expect(statuses(first as Run)).toEqual([["a", "error"]])
    expect(await combos.seen(place)).toHaveLength(0)
  })

  it("refuse what is not there, and a comparison with itself", async () => {
    const place = await combos.place()
    const id = await suiteOf([one("a", { strategy: "exact", value: "x" })])
    expect(await refused("POST", "/api/evals", { suiteId: "nobody" })).toBe(404)
    expect(await refused("POST", "/api/evals", { suiteId: id, apiKeyId: "nobody" })).toBe(404)
    const wrong = [
      { target: modelOf(place), compareTarget: modelOf(place) }, { target: { type: "combo", id: "nobody" } }, { target: { type: "model" } }, { outputs: { stranger: "x" } }
    ]
    for (const asked of wrong) expect(await refused("POST", "/api/evals", { suiteId: id, ...asked })).toBe(400)
  })
})

describe("evalRouting", () => {
  const graded = async (place: Place, values: ReadonlyArray<string>): Promise<void> => {
    const id = await suiteOf(values.map((value, i) => one(`c${i}`, { strategy: "exact", value })))
    await run({ suiteId: id, target: modelOf(place) })
  }
  const firstOf = async (model: string): Promise<string> => answerOf(await lab.chat({ model }))

  it("asks the best model first once there are enough cases; who was not tested keeps its place", async () => {
    const [untested, poor, good] = [await combos.place(), await combos.place(), await combos.place()]
    const order = async (models: ReadonlyArray<Place>, evalRouting: Record<string, unknown>) =>
      firstOf(await combos.combo("priority", models.map(({ model }) => model), { config: { evalRouting } }))
    await graded(poor, ["never", "never"])
    await graded(good, [good.name, "never"])
    expect(await order([poor, good], { enabled: true })).toBe(good.name)
    expect(await order([poor, untested, good], { enabled: true })).toBe(good.name)
    expect(await order([untested, poor, good], { enabled: true })).toBe(untested.name)
    expect(await order([poor, good], { enabled: false })).toBe(poor.name)
    expect(await order([poor, good], { enabled: true, minCases: 3 })).toBe(poor.name)
  })

  it("leaves the stages of a pipeline where they are", async () => {
    const [first, last] = [await combos.place(), await combos.place()]
    await graded(last, [last.name])
    await graded(first, ["never"])
    expect(await firstOf(await combos.combo("pipeline", [first.model, last.model], { config: { evalRouting: { enabled: true } } }))).toBe(last.name)
  })
})

describe("a run under way", () => {
  it("tells how many of its cases have an answer, and is gone once it ended", async () => {
    const slow = await combos.place({ text: "yes", latencyMs: 400 })
    const suiteId = await suiteOf(["a", "b", "c"].map((id) => one(id, { strategy: "contains", value: "yes" })))
    const running = () => call<{ runs: ReadonlyArray<{ suiteId: string; done: number; cases: number; target: object }> }>("GET", "/api/evals/running")
    const ended = run({ suiteId, target: modelOf(slow) })
    const { runs } = await eventually(running, (seen) => seen.runs.some(({ done }) => done >= 1), "an answer of the run")
    expect(runs).toMatchObject([{ suiteId, cases: 3, target: { type: "model" } }])
    await ended
    expect(await running()).toEqual({ runs: [] })
  })
})
