/** Debate: rounds between the models of a panel until they agree, bounded by `debateTuning`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, type Place, saidTo } from "#test/support/combos.ts"
import { contentOf, type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "de")
})
afterAll(() => lab.close())

/** What a place answers to its first, second ... request. */
const answers = async (place: Place, ...texts: ReadonlyArray<string>): Promise<void> => {
  await lab.sim.rule({ id: place.name, match: { model: place.upstream, nth: texts.length + 1 }, script: { text: "more than was asked" } })
  for (const [i, text] of texts.entries()) await lab.sim.rule({ match: { model: place.upstream, nth: i + 1 }, script: { text } })
}

describe("a debate combo", () => {
  it("shows each member its own answer and the others', and the judge the last positions", async () => {
    const [a, b, judge] = [await combos.place(), await combos.place(), await combos.place({ text: "Settled." })]
    await answers(a, "red apples", "red and green apples")
    await answers(b, "green pears", "yellow pears")
    const model = await combos.combo("debate", [a.model, b.model], { config: { judgeModel: judge.model } })
    const reply = await lab.chat({ model, stream: true })
    expect([reply.status, contentOf(reply.text)]).toEqual([200, "Settled."])
    const [first, second, ...more] = await combos.seen(a)
    expect(more).toEqual([])
    expect(saidTo(first)).toBe(messages[0].content)
    expect(saidTo(second)).toMatch(/red apples[^]*Others answered[^]*green pears/)
    const [asked] = await combos.seen(judge)
    expect(saidTo(asked)).toContain("red and green apples")
    expect(saidTo(asked)).toContain("yellow pears")
    expect(saidTo(asked)).not.toContain("green pears")
    expect(asked?.stream).toBe(true)
    const rows = await lab.rows(reply)
    expect(rows.map(({ attempt, final }) => [attempt, final])).toEqual([[1, false], [2, false], [3, false], [4, false], [5, true]])
  })

  it("stops when all agree, and the first of the panel writes the answer", async () => {
    const [a, b] = [await combos.place({ text: "The answer is four." }), await combos.place({ text: "the ANSWER is: four" })]
    const reply = await lab.chat({ model: await combos.combo("debate", [a.model, b.model], { config: { debateTuning: { debateRounds: 5 } } }) })
    expect([reply.status, answerOf(reply)]).toEqual([200, "The answer is four."])
    expect([(await combos.seen(a)).length, (await combos.seen(b)).length]).toEqual([2, 1])
  })

  it("ends after debateRounds without agreement", async () => {
    const [a, b, judge] = [await combos.place({ text: "yes" }), await combos.place({ text: "no" }), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("debate", [a.model, b.model], { config: { judgeModel: judge.model, debateTuning: { debateRounds: 3 } } }) })
    expect(reply.status).toBe(200)
    expect([(await combos.seen(a)).length, (await combos.seen(b)).length, (await combos.seen(judge)).length]).toEqual([3, 3, 1])
  })

  it("a member that fails in a later round keeps its position", async () => {
    const [a, b, judge] = [await combos.place({ text: "yes" }), await combos.place(), await combos.place()]
    await lab.sim.rule({ id: b.name, match: { model: b.upstream, nth: 1 }, script: { text: "no, never" } })
    await lab.sim.rule({ match: { model: b.upstream }, script: { status: 500 } })
    const reply = await lab.chat({ model: await combos.combo("debate", [a.model, b.model], { config: { judgeModel: judge.model } }) })
    expect(reply.status).toBe(200)
    expect(saidTo((await combos.seen(judge))[0])).toContain("no, never")
  })

  it("one answer has nobody to debate with", async () => {
    const [a, b] = [await combos.place({ status: 500 }), await combos.place({ text: "alone" })]
    const reply = await lab.chat({ model: await combos.combo("debate", [a.model, b.model]) })
    expect([reply.status, answerOf(reply)]).toEqual([200, "alone"])
    expect((await combos.seen(b)).length).toBe(1)
  })
})
