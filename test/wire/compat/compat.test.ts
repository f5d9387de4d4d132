/** What operators say of a model's bodies: ids of tool calls, roles, thinking in chat templates, and presets. */
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { ModelCompat } from "#schemas/words/ModelFormats.ts"
import * as Compat from "#src/wire/compat/compat.ts"
import * as Preset from "#src/wire/compat/preset.ts"
import { ToolCallIds } from "#src/wire/compat/ToolCallIds.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { ofNine } from "#src/wire/shortIds.ts"

const plain: ModelCompat = { callsOfNine: false, developerRole: null, reasoningControl: null, preset: null }
const chat: Compat.Asked = { model: "m", thinking: null, family: "chat-completions", isOwn: true }
const said = (compat: Partial<ModelCompat>, asked: Partial<Compat.Asked>, body: string): string =>
  asBuffer(Compat.apply({ ...plain, ...compat }, { ...chat, ...asked }, Buffer.from(body))).toString("utf8")
const nine = /^[a-zA-Z0-9]{9}$/

const Ids = Schema.Array(Schema.String)
const mapped = (ids: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new ToolCallIds()
  return ids.map((id) => known.of(id))
}

describe("ids of tool calls", () => {
  it.prop("are nine letters and digits, and as many as there were", { ids: Ids }, ({ ids }) => {
    const sent = mapped(ids)
    expect(sent.every((id) => nine.test(id))).toBe(true)
    expect(new Set(sent).size).toBe(new Set(ids).size)
  })

  it.prop("stay as the conversation grows, and are their own when they come back", { ids: Ids, more: Ids }, ({ ids, more }) => {
    const sent = mapped(ids)
    expect(mapped([...ids, ...more]).slice(0, ids.length)).toEqual(sent)
    expect(mapped(sent)).toEqual(sent)
  })

  it("are two where one id is what another one is sent as", () => {
    const taken = ofNine("call_1")
    const sent = mapped(["call_1", taken, "call_1", taken])
    expect(sent).toEqual([taken, sent[1], taken, sent[1]])
    expect(sent[1]).toMatch(nine)
    expect(sent[1]).not.toBe(taken)
  })

  const a = ofNine("call_a")
  it.each([
    ["chat-completions", `{"messages":[{"tool_calls":[{"id":"call_a","n":1.0}]},{"tool_call_id":"call_a"},{"content":"call_a"}]}`, `{"messages":[{"tool_calls":[{"id":"${a}","n":1.0}]},{"tool_call_id":"${a}"},{"content":"call_a"}]}`],
    ["local-model-server", `{"messages":[{"tool_calls":[{"id":"call_a"}]}]}`, `{"messages":[{"tool_calls":[{"id":"${a}"}]}]}`],
    ["messages", `{"messages":[{"content":"t"},{"content":[{"type":"tool_use","id":"call_a"},{"type":"server_tool_use","id":"srv"}]},{"content":[{"type":"tool_result","tool_use_id":"call_a"}]}]}`, `{"messages":[{"content":"t"},{"content":[{"type":"tool_use","id":"${a}"},{"type":"server_tool_use","id":"srv"}]},{"content":[{"type":"tool_result","tool_use_id":"${a}"}]}]}`],
    ["responses", `{"input":[{"type":"function_call","id":"fc_1","call_id":"call_a"},{"call_id":"call_a"}]}`, `{"input":[{"type":"function_call","id":"fc_1","call_id":"${a}"},{"call_id":"${a}"}]}`],
    ["responses", `{"previous_response_id":"r","input":[{"call_id":"call_a"}]}`, `{"previous_response_id":"r","input":[{"call_id":"call_a"}]}`],
    ["generateContent", `{"contents":[{"parts":[{"functionCall":{"id":"call_a"}}]},{"parts":[{"function_response":{"id":"call_a"}}]}]}`, `{"contents":[{"parts":[{"functionCall":{"id":"${a}"}}]},{"parts":[{"function_response":{"id":"${a}"}}]}]}`]
  ] as const)("%s says them where calls and results are", (family, before, after) => expect(said({ callsOfNine: true }, { family }, before)).toBe(after))

  it("leave a body without them, and one that is no object, as they are", () => {
    const body = Buffer.from(`{"messages": [ {"content" :1.0} ]}`)
    expect(Compat.apply({ ...plain, callsOfNine: true }, chat, body)).toBe(body)
    expect(said({ callsOfNine: true }, {}, "[1]")).toBe("[1]")
  })
})

describe("the role developer", () => {
  it("is system where the server knows no other", () => {
    const body = `{"messages":[{"role":"developer","content":"a"},{"role":"user","content":"developer"}],"n":1.0}`
    expect(said({ developerRole: false }, {}, body)).toBe(`{"messages":[{"role":"system","content":"a"},{"role":"user","content":"developer"}],"n":1.0}`)
    expect(said({ developerRole: true }, {}, body)).toBe(body)
    expect(said({ developerRole: false }, { family: "responses" }, `{"input":[{"role":"developer"}]}`)).toBe(`{"input":[{"role":"system"}]}`)
  })
})

describe("thinking in a chat template", () => {
  const control = { reasoningControl: "chat-template" } as const
  const kwargs = (on: boolean, effort?: string) => ({ enable_thinking: on, thinking: on, ...effort === undefined ? {} : { reasoning_effort: effort } })
  it.each([
    [{ reasoning_effort: "high" }, kwargs(true, "high")], [{ reasoning_effort: "none" }, kwargs(false)], [{ reasoning: { effort: "low" } }, kwargs(true, "low")],
    [{ reasoning: { enabled: false } }, kwargs(false)], [{ thinking: { type: "disabled" } }, kwargs(false)], [{ thinking: { type: "enabled" } }, kwargs(true)],
    [{ enable_thinking: true }, kwargs(true)]
  ])("says %j", (asked, chat_template_kwargs) => expect(JSON.parse(said(control, {}, JSON.stringify({ n: 1, ...asked })))).toEqual({ n: 1, chat_template_kwargs }))

  it("is off where the model id says so, stays where the client says it, and is unsaid where nothing was", () => {
    expect(JSON.parse(said(control, { thinking: "off" }, "{}"))).toEqual({ chat_template_kwargs: kwargs(false) })
    expect(JSON.parse(said(control, {}, `{"reasoning_effort":"high","chat_template_kwargs":{"thinking":false}}`))).toEqual({ chat_template_kwargs: { ...kwargs(true, "high"), thinking: false } })
    expect(said(control, {}, `{"n":1.0}`)).toBe(`{"n":1.0}`)
    expect(said({ reasoningControl: "openai" }, {}, `{"reasoning_effort":"low"}`)).toBe(`{"reasoning_effort":"low"}`)
    expect(said(control, { family: "responses" }, `{"reasoning":{"effort":"low"}}`)).toBe(`{"reasoning":{"effort":"low"}}`)
  })
})

describe("a preset", () => {
  const preset = { temperature: 0.2, topP: 0.9, topK: 40, maxOutputTokens: 500, stopSequences: ["END"] }
  const told = (asked: Partial<Compat.Asked>, body: object): unknown => JSON.parse(said({ preset }, asked, JSON.stringify(body)))

  it("says in each format what its client left open", () => {
    expect(told({}, {})).toEqual({ temperature: 0.2, top_p: 0.9, top_k: 40, max_tokens: 500, stop: ["END"] })
    expect(told({ model: "gpt-5" }, {})).toMatchObject({ max_completion_tokens: 500 })
    expect(told({ family: "messages" }, { max_tokens: 7 })).toEqual({ max_tokens: 7, temperature: 0.2, top_p: 0.9, top_k: 40, stop_sequences: ["END"] })
    expect(told({ family: "responses" }, {})).toEqual({ temperature: 0.2, top_p: 0.9, max_output_tokens: 500 })
    expect(told({ family: "generateContent" }, {})).toEqual({ generationConfig: { temperature: 0.2, topP: 0.9, topK: 40, maxOutputTokens: 500, stopSequences: ["END"] } })
    expect(told({ family: "local-model-server" }, { options: { top_k: 3 } })).toEqual({ options: { top_k: 3, temperature: 0.2, top_p: 0.9, num_predict: 500, stop: ["END"] } })
  })

  it("never says what the client said, under any of its names; null is nothing said", () => {
    expect(told({}, { temperature: 0, top_p: null, max_completion_tokens: 9, stop: "x", top_k: 1 })).toEqual({ temperature: 0, top_p: 0.9, max_completion_tokens: 9, stop: "x", top_k: 1 })
    expect(told({ family: "generateContent" }, { generation_config: { max_output_tokens: 3, top_p: 1 } })).toEqual({
      generation_config: { max_output_tokens: 3, top_p: 1, temperature: 0.2, topK: 40, stopSequences: ["END"] }
    })
  })

  it("says no samplers to a vendor that refuses them beside thinking, and nothing of a body in another format", () => {
    expect(told({ family: "messages" }, { max_tokens: 7, thinking: { type: "enabled" } })).toEqual({ max_tokens: 7, thinking: { type: "enabled" }, stop_sequences: ["END"] })
    expect(told({ isOwn: false }, { a: 1 })).toEqual({ a: 1 })
  })

  it("is told by the neutral conversation, too", () => {
    const conversation = { settings: { temperature: 0, topP: null, topK: null, maxTokens: null, stop: null } }
    expect(Preset.ofConversation(preset, conversation as never).settings).toEqual({ temperature: 0, topP: 0.9, topK: 40, maxTokens: 500, stop: ["END"] })
  })
})
