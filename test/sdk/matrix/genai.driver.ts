/** The `@google/genai` client: its chats, which keep the history themselves. */
import { ApiError, FunctionCallingConfigMode, type GenerateContentConfig, type GenerateContentResponse, GoogleGenAI, type Part } from "@google/genai"
import type { Driver, Heard, HeardCall, Setup } from "./Driver.ts"
import { remembering, schema, tools } from "./Driver.ts"

export const client = (url: string, key: string, fetch?: typeof globalThis.fetch): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url, apiVersion: "v1beta", ...(fetch === undefined ? {} : { fetch }) } })

/** As it is made by who knows nothing of versions. */
export const plainClient = (url: string, key: string): GoogleGenAI => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })

const configOf = (setup: Setup): GenerateContentConfig => ({
  ...(setup.system === undefined ? {} : { systemInstruction: setup.system }),
  ...(setup.tools === true ? {
    tools: [{ functionDeclarations: tools.map(({ parameters, ...tool }) => ({ ...tool, parametersJsonSchema: parameters })) }],
    automaticFunctionCalling: { disable: true }
  } : {}),
  ...(setup.forced === undefined ? {} : {
    toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, ...(setup.forced === "required" ? {} : { allowedFunctionNames: [setup.forced] }) } }
  }),
  ...(setup.maxTokens === undefined ? {} : { maxOutputTokens: setup.maxTokens }),
  ...(setup.stop === undefined ? {} : { stopSequences: [...setup.stop] }),
  ...(setup.thinking === true ? { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } } : {}),
  ...(setup.structured === true ? { responseMimeType: "application/json", responseJsonSchema: schema } : {}),
  ...setup.extra
})

const partsOf = (response: GenerateContentResponse): ReadonlyArray<Part> => response.candidates?.[0]?.content?.parts ?? []

const heard = (responses: ReadonlyArray<GenerateContentResponse>): Heard => {
  const parts = responses.flatMap(partsOf)
  const texts = (thought: boolean) => parts.filter((part) => (part.thought === true) === thought).map((part) => part.text ?? "").join("")
  const usage = responses.findLast((response) => response.usageMetadata !== undefined)?.usageMetadata
  return {
    text: texts(false),
    thinking: texts(true),
    refusal: "",
    calls: parts.flatMap((part): ReadonlyArray<HeardCall> => part.functionCall === undefined
      ? []
      : [{ id: part.functionCall.id ?? "", name: part.functionCall.name ?? "", args: part.functionCall.args }]),
    finish: responses.findLast((response) => response.candidates?.[0]?.finishReason !== undefined)?.candidates?.[0]?.finishReason ?? "",
    usage: usage === undefined ? null : {
      input: usage.promptTokenCount ?? 0, cached: usage.cachedContentTokenCount ?? 0,
      output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)
    }
  }
}

export const genai: Driver = {
  face: "generateContent",
  words: { stop: "STOP", length: "MAX_TOKENS", tools: "STOP", filter: "SAFETY", refusal: "SAFETY", refusesInWords: false },
  fields: { stop: "generationConfig.stopSequences", toolChoice: "toolConfig.functionCallingConfig" },
  reportsCached: true,
  broken: null,
  resultImages: true,
  resultErrors: true,
  carriesSignatures: true,
  hint: { field: "generationConfig.seed", extra: { seed: 7 }, omittedFor: ["messages", "responses"] },
  errorClass: () => ApiError,
  streamError: ApiError,
  statusOf: (error) => error instanceof ApiError ? error.status : undefined,
  open: (matrix, setup, key = matrix.key) => {
    const { fetch, header } = remembering()
    const chat = client(matrix.url, key, fetch).chats.create({ model: setup.model, config: configOf(setup) })
    let message: Array<Part> = []
    return {
      header,
      say: (text, image) => {
        message.push({ text }, ...(image === undefined ? [] : [{ inlineData: { mimeType: "image/png", data: image } }]))
      },
      results: (results) => {
        message.push(...results.map(({ id, image, isError, name, text }): Part => ({
          functionResponse: {
            ...(id === "" ? {} : { id }), name, response: isError === true ? { error: text } : { output: text },
            ...(image === undefined ? {} : { parts: [{ inlineData: { mimeType: "image/png", data: image } }] })
          }
        })))
      },
      ask: async (stream, onText, signal) => {
        const sent = message
        message = []
        const params = { message: sent, ...(signal === undefined ? {} : { config: { ...configOf(setup), abortSignal: signal } }) }
        if (!stream) return heard([await chat.sendMessage(params)])
        const responses: Array<GenerateContentResponse> = []
        for await (const response of await chat.sendMessageStream(params)) {
          responses.push(response)
          for (const part of partsOf(response)) if (part.thought !== true && part.text !== undefined && part.text !== "") onText?.(part.text)
        }
        return heard(responses)
      }
    }
  }
}
