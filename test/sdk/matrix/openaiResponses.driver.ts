/** The `openai` client on responses. */
import OpenAI from "openai"
import type { Driver, Heard, Setup } from "./Driver.ts"
import { remembering, schema, tools } from "./Driver.ts"
import { client, openaiChat } from "./openaiChat.driver.ts"

type Item = OpenAI.Responses.ResponseInputItem

const bodyOf = (setup: Setup, input: Array<Item>) => ({
  model: setup.model,
  input,
  // What is not kept must come with its proof, or cannot be given back.
  store: false,
  include: ["reasoning.encrypted_content" as const],
  ...(setup.system === undefined ? {} : { instructions: setup.system }),
  ...(setup.tools === true ? { tools: tools.map((tool) => ({ type: "function" as const, strict: false, ...tool })) } : {}),
  ...(setup.forced === undefined ? {} : { tool_choice: setup.forced === "required" ? "required" as const : { type: "function" as const, name: setup.forced } }),
  ...(setup.maxTokens === undefined ? {} : { max_output_tokens: setup.maxTokens }),
  ...(setup.thinking === true ? { reasoning: { effort: "low" as const, summary: "auto" as const } } : {}),
  ...(setup.structured === true ? { text: { format: { type: "json_schema" as const, name: "place", schema, strict: true } } } : {}),
  ...setup.extra
})

const heard = (response: OpenAI.Responses.Response): Heard => ({
  text: response.output_text,
  thinking: response.output.flatMap((item) => item.type === "reasoning" ? item.summary : []).map((part) => part.text).join(""),
  refusal: response.output.flatMap((item) => item.type === "message" ? item.content : []).map((part) => part.type === "refusal" ? part.refusal : "").join(""),
  calls: response.output.flatMap((item) => item.type === "function_call" ? [{ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) as unknown }] : []),
  finish: response.status === "incomplete" ? response.incomplete_details?.reason ?? "" : response.status ?? "",
  usage: response.usage === undefined || response.usage === null
    ? null
    : { input: response.usage.input_tokens, cached: response.usage.input_tokens_details.cached_tokens, output: response.usage.output_tokens }
})

export const openaiResponses: Driver = {
  ...openaiChat,
  face: "responses",
  words: { stop: "completed", length: "max_output_tokens", tools: "completed", filter: "content_filter", refusal: "completed", refusesInWords: true },
  fields: { stop: null, toolChoice: "tool_choice" },
  broken: "failed",
  resultImages: true,
  hint: { field: "text.verbosity", extra: { text: { verbosity: "low" } }, omittedFor: ["messages", "generateContent", "local-model-server"] },
  open: (matrix, setup, key = matrix.key) => {
    const { fetch, header } = remembering()
    const openai = client(matrix.url, key, fetch)
    const input: Array<Item> = []
    return {
      header,
      say: (text, image) => {
        input.push({
          role: "user",
          content: image === undefined ? text : [
            { type: "input_text", text }, { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${image}` }
          ]
        })
      },
      results: (results) => {
        for (const { id, image, text } of results) {
          input.push({
            type: "function_call_output", call_id: id,
            output: image === undefined ? text : [{ type: "input_text", text }, { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${image}` }]
          })
        }
      },
      ask: async (stream, onText, signal) => {
        const body = bodyOf(setup, input)
        const options = signal === undefined ? {} : { signal }
        if (!stream) {
          const response = await openai.responses.create({ ...body, stream: false }, options)
          input.push(...response.output as Array<Item>)
          return heard(response)
        }
        const runner = openai.responses.stream({ ...body, stream: true }, options)
        let before = -1
        for await (const event of runner) {
          if (event.sequence_number <= before) throw new Error(`sequence number ${event.sequence_number} after ${before}`)
          before = event.sequence_number
          if (event.type === "response.output_text.delta") onText?.(event.delta)
        }
        const response = await runner.finalResponse()
        input.push(...response.output.map((item) => strip(item)) as Array<Item>)
        return heard(response)
      }
    }
  }
}

/** The accumulator adds what it parsed. */
const strip = (item: object): object => Object.fromEntries(Object.entries(item).filter(([name]) => name !== "parsed_arguments"))
