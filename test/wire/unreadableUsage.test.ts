/** A usage object that holds no count is no usage: it is estimated, never a measured 0. */
import { describe, expect, it } from "vitest"
import { usageOf as ofChat } from "#src/wire/chatCompletions/answer.ts"
import { usageOf as ofGenerateContent } from "#src/wire/generateContent/facts.ts"
import { usageOf as ofLocal } from "#src/wire/localModelServer/answer.ts"
import { usageIn } from "#src/wire/responses/answer.ts"

type Read = (usage: Record<string, unknown>) => { readonly input: number; readonly output: number } | null
const formats: ReadonlyArray<readonly [string, Read, string, string, string]> = [
  ["chat-completions", ofChat, "prompt_tokens", "completion_tokens", "total_tokens"],
  ["responses", (usage) => usageIn({ usage }), "input_tokens", "output_tokens", "total_tokens"],
  ["generateContent", ofGenerateContent, "promptTokenCount", "candidatesTokenCount", "totalTokenCount"],
  ["local-model-server", ofLocal, "prompt_eval_count", "eval_count", "total_duration"]
]

describe.each(formats)("usage of %s", (_, read, input, output, total) => {
  it("without one count is none", () => {
    for (const [a, b] of [["12", -5], [null, null], [Number.NaN, Number.POSITIVE_INFINITY], [{}, []], [true, "x"], [undefined, undefined]]) {
      expect(read({ [input]: a, [output]: b, [total]: 7 })).toBeNull()
    }
    expect(read({})).toBeNull()
  })

  it("with one count is that count, 0 included", () => {
    expect(read({ [input]: 0, [output]: "x" })).toMatchObject({ input: 0, output: 0 })
    expect(read({ [input]: 12, [output]: -5 })).toMatchObject({ input: 12, output: 0 })
    expect(read({ [output]: 3 })).toMatchObject({ input: 0, output: 3 })
  })
})
