/** What members of an ensemble are told of each other's answers is bounded, however many and long they are. */
import { assert, describe, it } from "@effect/vitest"
import * as Instructions from "#actors/ensemble/instructions.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"

const empty = { turns: [], tools: [], settings: {} } as unknown as Conversation

const told = (answers: ReadonlyArray<string>): string => {
  const [part] = Instructions.judged(empty, answers).turns[0]?.parts ?? []
  return part?.kind === "text" ? part.text : ""
}

describe("the answers that a judge is told", () => {
  it("are whole where they are short", () => {
    const answers = Array.from({ length: 50 }, (_, i) => `answer ${i} ${"x".repeat(4_000)}`)
    for (const answer of answers) assert.include(told(answers), answer)
  })

  it("lose their middle where one is long, or all of them together are", () => {
    const long = `begin${"x".repeat(300_000)}end`
    assert.match(told([long, "short"]), /begin[^]*\[\.\.\.\][^]*end/)
    assert.include(told([long, "short"]), "short")
    assert.isBelow(told(Array.from({ length: 50 }, () => long)).length, 410_000)
    assert.lengthOf(told(Array.from({ length: 50 }, () => long)).match(/begin/g) ?? [], 50)
  })

  it("are compared by no more words than a turn of the loop can take", () => {
    const compared = Instructions.compared(Array.from({ length: 50 }, () => "word ".repeat(100_000)))
    assert.isBelow(compared.join("").length, 201_000)
  })
})
