/** The interceptors of a call: who is asked, who decides, and who is told that its leave has no use. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { CallRefusal, Interceptor } from "#actors/request/ports/Interceptor.ts"
import * as Interceptors from "#actors/request/steps/interceptors.ts"
import * as Errors from "#schemas/errors.ts"
import { target as targetOf } from "#test/features/resilience/support.ts"
import { connection } from "#test/suites/records.ts"

const target = targetOf(connection({ id: "one" }), { model: "m" })
const refusal: CallRefusal = { error: Errors.make("rate_limit_exceeded", "no"), final: false }

const world = (answers: ReadonlyArray<CallRefusal | null | Effect.Effect<CallRefusal | null>>) => {
  const told: Array<string> = []
  const interceptors = answers.map((answer, at): Interceptor => ({
    beforeAttempt: () => {
      told.push(`asked ${at}`)
      return answer
    },
    unused: (of) => void told.push(`unused ${at} ${of.model}`),
    attemptSettled: () => undefined,
    closed: () => undefined
  }))
  return { interceptors, told }
}

describe("the interceptors of a call", () => {
  it.each([
    ["at once", refusal], ["later", Effect.delay(Effect.succeed(refusal), 1)]
  ])("are asked until one refuses %s; those before it are told that their leave has no use", async (_, refuses) => {
    const { interceptors, told } = world([null, Effect.succeed(null), refuses, null])
    const said = Interceptors.firstRefusal(interceptors, target)
    assert.strictEqual(Effect.isEffect(said) ? await Effect.runPromise(said) : said, refusal)
    assert.deepStrictEqual(told, ["asked 0", "asked 1", "asked 2", "unused 0 m", "unused 1 m"])
  })

  it("that all agree are told nothing more", () => {
    const { interceptors, told } = world([null, null])
    assert.isNull(Interceptors.firstRefusal(interceptors, target))
    assert.deepStrictEqual(told, ["asked 0", "asked 1"])
  })
})
