/** More tokens in the bytes of an answer: the counts change, and no other byte. */
import { describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as ToldUsage from "#src/wire/contextWindow/toldUsage.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"

const inEvents = (format: FormatName, events: string): string => asBuffer(ToldUsage.inEvents(format, 100, Buffer.from(events))).toString("utf8")
const inAnswer = (format: FormatName, answer: string): string => asBuffer(ToldUsage.inAnswer(format, 100, Buffer.from(answer))).toString("utf8")

describe("an answer", () => {
  it("keeps its spelling beside the counts", () => {
    expect(inAnswer("chat-completions", "{\n \"usage\" : { \"prompt_tokens\": 5 , \"completion_tokens\":2,\"total_tokens\":7,\"é\":1.0}, \"choices\":[{\"usage\":{\"prompt_tokens\":1}}]}\n"))
      .toBe("{\n \"usage\" : { \"prompt_tokens\": 105 , \"completion_tokens\":2,\"total_tokens\":107,\"é\":1.0}, \"choices\":[{\"usage\":{\"prompt_tokens\":1}}]}\n")
  })

  it.each(["{\"usage\":null}", "{\"usage\":{\"prompt_tokens\":null}}", "{\"usage\":{\"prompt_tokens\":1e3}}", "{\"usage\":[5]}", "\"usage\"", "{\"usage\":{\"prompt_tokens\":5", "{\"text\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":5}\"}"])("stays where it tells of no count: %s", (answer) => {
    expect(inAnswer("chat-completions", answer)).toBe(answer)
  })
})

describe("events", () => {
  it.each(["\n", "\r\n", "\r"])("are read line by line, ended by %j", (end) => {
    const events = (first: number, second: number): string => [
      "event: message_start", `data: {"type":"message_start","message":{"usage":{"input_tokens":${first},"output_tokens":1}}}`, "",
      ": \"usage\"", "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"usage\"}}", "",
      "event: message_delta", `data:{"type":"message_delta","usage":{"input_tokens":${second},"output_tokens":9}}`, "", ""
    ].join(end)
    expect(inEvents("messages", events(5, 6))).toBe(events(105, 106))
  })

  it("are the same bytes where they tell of none", () => {
    const chunk = Buffer.from("data: {\"choices\":[]}\n\n")
    expect(ToldUsage.inEvents("chat-completions", 100, chunk)).toBe(chunk)
  })

  it("may be lines of JSON", () => {
    expect(inEvents("local-model-server", "{\"done\":false}\n{\"done\":true,\"prompt_eval_count\":5,\"eval_count\":2}\n")).toBe("{\"done\":false}\n{\"done\":true,\"prompt_eval_count\":105,\"eval_count\":2}\n")
  })

  it("hold a whole response", () => {
    expect(inEvents("responses", "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"usage\":{\"input_tokens\":1}}],\"usage\":{\"input_tokens\":5,\"output_tokens\":2,\"total_tokens\":7}}}\n\n"))
      .toBe("data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"usage\":{\"input_tokens\":1}}],\"usage\":{\"input_tokens\":105,\"output_tokens\":2,\"total_tokens\":107}}}\n\n")
  })
})
