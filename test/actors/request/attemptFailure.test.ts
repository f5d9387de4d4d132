/** What an upstream says is searched, and may be what a client sent: servers quote the input that they refuse. */
import { expect, it } from "vitest"
import type { Target } from "#actors/request/ports/Target.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import { cpuMs } from "#test/support/late.ts"

const target = { path: "/", headers: [] as ReadonlyArray<string>, connection: null, providerAlias: "lab", wireFormat: "chat-completions" } as unknown as Target
const ofStatus = (message: string) =>
  AttemptFailure.ofStatus({ status: 400, body: { message, type: "BadRequestError", code: null, status: null }, headers: [], target, sent: [], now: 0 })

it.each([
  ["The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).", "context_length_exceeded"],
  ["This model's maximum context length is 8192 tokens.", "context_length_exceeded"], ["prompt is too long: 9 tokens", "context_length_exceeded"],
  ["The input token count is fine, the image is not.", "bad_request"]
])("%j has the code %s", (message, code) => expect(ofStatus(message).code).toBe(code))

it.each(["input token count ", "maximum context ", "exceeds the ", "wait ", "retry", " "])("words full of %j are judged in linear time", (part) => {
  expect(cpuMs(() => ofStatus(`wait${part.repeat(200_000 / part.length)}`))).toBeLessThan(1_000)
})
