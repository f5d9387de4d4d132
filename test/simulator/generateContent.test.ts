/** What the simulated generateContent vendor refuses, and how it answers. */
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { afterAll, beforeAll } from "vitest"
import { formatOf } from "#src/simulator/formats/index.ts"
import { readGenerateContent } from "#src/simulator/formats/generateContent/generateContentRequest.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { eventsOf, raw } from "./rawClient.ts"

const publicPath = (model: string, method = "generateContent") => `/v1beta/models/${model}:${method}`
const vertexPath = (model: string) => `/v1/projects/p/locations/us-central1/publishers/google/models/${model}:generateContent`
const read = (body: object, path = publicPath("gemini-3-flash-preview")): string | null => {
  const result = readGenerateContent({ ...body }, { headers: {}, path, query: "" })
  return Result.isFailure(result) ? result.failure.message : null
}
const user = (...parts: ReadonlyArray<object>) => ({ role: "user", parts })
const model = (...parts: ReadonlyArray<object>) => ({ role: "model", parts })
const contents = [user({ text: "x" })]
const config = (generationConfig: object, path?: string) => read({ contents, generationConfig }, path)
const call = (over: object = {}) => ({ functionCall: { name: "f", args: {} }, thoughtSignature: "EiQBcsjafF5k", ...over })
const response = (over: object = {}) => ({ functionResponse: { name: "f", response: { result: "ok" }, ...over } })

describe("takes what the vendor takes", () => {
  it.each<[string, object]>([
    ["snake_case and nulls", { contents: [{ parts: [{ inline_data: { mime_type: "image/png", data: "AAAA" } }], role: null }], generation_config: { top_p: 1, stop_sequences: null } }],
    ["calls with results", { contents: [user({ text: "x" }), model(call(), { functionCall: { name: "g" } }), user(response(), response())] }],
    ["the documented dummy signature", { contents: [user({ text: "x" }), model(call({ thoughtSignature: "skip_thought_signature_validator" })), user(response())] }],
    ["an unsigned call of an earlier turn", { contents: [user({ text: "x" }), model(call({ thoughtSignature: undefined })), user(response()), model({ text: "y" }), user({ text: "z" })] }],
    ["JSON schema and levels", { contents, tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: { type: ["object"], oneOf: [] } }] }], toolConfig: { functionCallingConfig: { mode: "VALIDATED", allowedFunctionNames: ["f"] } }, generationConfig: { thinkingConfig: { thinkingLevel: "low", includeThoughts: true }, responseMimeType: "application/json", responseJsonSchema: {} } }]
  ])("%s", (_, body) => {
    expect(read(body)).toBe(null)
  })
})

describe("refuses what the vendor refuses", () => {
  it.each<[string, object, RegExp]>([
    ["an unknown name", { contents, stream: true }, /Unknown name "stream"/],
    ["an unknown name deep inside", { contents: [user({ text: "x", cache_control: {} })] }, /Unknown name "cache_control" at 'contents\[0\]\.parts\[0\]'/],
    ["no contents", { contents: [] }, /contents is not specified/],
    ["another role", { contents: [{ role: "assistant", parts: [{ text: "x" }] }] }, /valid role/],
    ["an empty part", { contents: [user({})] }, /required oneof field/],
    ["two kinds in a part", { contents: [user({ text: "x", fileData: { fileUri: "u" } })] }, /oneof/],
    ["no base64", { contents: [user({ inlineData: { mimeType: "image/png", data: "?" } })] }, /Base64/],
    ["a missing signature", { contents: [user({ text: "x" }), model(call({ thoughtSignature: undefined })), user(response())] }, /missing a thought_signature/],
    ["a signature that is text", { contents: [user({ text: "x" }), model(call({ thoughtSignature: Buffer.from("gateway-signature:messages:x").toString("base64") })), user(response())] }, /Corrupted/],
    ["an orphan", { contents: [user({ text: "x" }), user(response())] }, /equal to the number/],
    ["an unanswered call", { contents: [user({ text: "x" }), model(call()), user({ text: "y" })] }, /equal to the number/],
    ["ids that do not match", { contents: [user({ text: "x" }), model({ ...call(), functionCall: { id: "a", name: "f" } }), user(response({ id: "b" }))] }, /matches no function call/],
    ["a response that is no object", { contents: [user({ text: "x" }), model(call()), user(response({ response: "ok" }))] }, /Struct/],
    ["a bad function name", { contents, tools: [{ functionDeclarations: [{ name: "3d" }] }] }, /Invalid function name/],
    ["two functions of a name", { contents, tools: [{ functionDeclarations: [{ name: "f" }, { name: "f" }] }] }, /Duplicate/],
    ["JSON schema in parameters", { contents, tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "object", $schema: "x" } }] }] }, /Unknown name "\$schema"/],
    ["allowed names with AUTO", { contents, tools: [{ functionDeclarations: [{ name: "f" }] }], toolConfig: { functionCallingConfig: { mode: "AUTO", allowedFunctionNames: ["f"] } } }, /ANY or VALIDATED/],
    ["a wrong threshold", { contents, safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "SOME" }] }, /TYPE_ENUM/]
  ])("%s", (_, body, message) => {
    expect(read(body)).toMatch(message)
  })

  it("settings out of range", () => {
    for (const over of [{ temperature: 3 }, { topP: 2 }, { seed: 2 ** 31 }, { candidateCount: 9 }, { maxOutputTokens: 0 }, { frequencyPenalty: 2 }, { stopSequences: ["a", "b", "c", "d", "e", "f"] },
      { logprobs: 3 }, { responseSchema: {} }, { responseModalities: ["SMELL"] }, { thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } }, { maxTokens: 1 }]) {
      expect([over, config(over)]).toEqual([over, expect.any(String)])
    }
    expect(config({ thinkingConfig: { thinkingLevel: "LOW" } }, publicPath("gemini-2.5-pro"))).toMatch(/not supported/)
    expect(config({ thinkingConfig: { thinkingBudget: 0 } }, publicPath("gemini-2.5-pro"))).toMatch(/thinking mode/)
    expect(config({ thinkingConfig: { thinkingBudget: 99_999 } }, publicPath("gemini-2.5-flash"))).toMatch(/between 0 and 24576/)
  })

  it("Vertex AI: a role, a media type, and no ids before Gemini 3", () => {
    expect(read({ contents: [{ parts: [{ text: "x" }] }] }, vertexPath("gemini-2.5-pro"))).toMatch(/valid role/)
    expect(read({ contents: [user({ fileData: { fileUri: "gs://x" } })] }, vertexPath("gemini-2.5-pro"))).toMatch(/mimeType/)
    const withIds = { contents: [user({ text: "x" }), model({ ...call(), functionCall: { id: "a", name: "f" } }), user(response({ id: "a" }))] }
    expect(read(withIds, vertexPath("gemini-2.5-pro"))).toMatch(/Unknown name "id"/)
    expect([read(withIds, vertexPath("gemini-3-pro-preview")), read(withIds, publicPath("gemini-2.5-pro"))]).toEqual([null, null])
    expect(formatOf(vertexPath("gemini-2.5-pro"))?.name).toBe("generate-content")
  })
})

describe("answers", () => {
  let sim: Sim
  beforeAll(async () => {
    sim = await startSim({ models: { "gemini-3-flash-preview": { reasoning: 2, toolCalls: [{ name: "f", arguments: { a: 1 } }] }, "gemini-3-thinks": { reasoning: 2, text: "ok" }, blocked: { finishReason: "prompt_blocked" } } })
  })
  afterAll(() => sim.stop())
  const ask = async (path: string, body: object = { contents }) => await raw(sim.port, { ...body }, { path })

  it("signs calls and texts that follow thoughts, and gives ids from Gemini 3 on", async () => {
    const whole = JSON.parse((await ask(publicPath("gemini-3-flash-preview"))).body.toString()) as { candidates: ReadonlyArray<{ content: { parts: ReadonlyArray<object> } }> }
    expect(whole.candidates[0]?.content.parts).toEqual([
      expect.objectContaining({ thought: true }),
      { functionCall: { id: expect.stringMatching(/^call_/) as string, name: "f", args: { a: 1 } }, thoughtSignature: expect.any(String) as string }
    ])
    const stream = eventsOf((await ask(`${publicPath("gemini-3-thinks", "streamGenerateContent")}?alt=sse`)).body)
    expect(JSON.parse(stream.at(-1) ?? "")).toMatchObject({ candidates: [{ content: { parts: [{ text: "", thoughtSignature: expect.any(String) as string }] }, finishReason: "STOP" }] })
  })

  it("refuses a prompt without candidates", async () => {
    expect(JSON.parse((await ask(publicPath("blocked"))).body.toString())).toMatchObject({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })
    const [only, ...rest] = eventsOf((await ask(`${publicPath("blocked", "streamGenerateContent")}?alt=sse`)).body)
    expect([JSON.parse(only ?? ""), rest]).toMatchObject([{ promptFeedback: {} }, []])
  })

  it("counts tokens", async () => {
    const count = async (body: object) => JSON.parse((await ask(publicPath("echo", "countTokens"), body)).body.toString()) as object
    expect(await count({ contents })).toMatchObject({ totalTokens: 5 })
    expect(await count({ generateContentRequest: { model: "models/echo", contents, systemInstruction: { parts: [{ text: "be kind" }] } } })).toMatchObject({ totalTokens: 11 })
    expect(await count({ contents, systemInstruction: { parts: [{ text: "x" }] } })).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } })
  })

  it("takes its key from the query or the header", async () => {
    const keyed = await startSim({ keys: ["good"] })
    const status = async (path: string, headers: Record<string, string> = {}) => (await raw(keyed.port, { contents }, { path, headers })).status
    expect(await status(`${publicPath("echo")}?key=good`)).toBe(200)
    expect(await status(publicPath("echo"), { "x-goog-api-key": "good" })).toBe(200)
    expect(await status(`${publicPath("echo")}?key=bad`)).toBe(401)
    await keyed.stop()
  })
})
