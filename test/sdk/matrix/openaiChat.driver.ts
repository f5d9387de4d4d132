/** The `openai` client on chat completions. */
import OpenAI from "openai"
import type { Driver, Heard, Setup } from "./Driver.ts"
import { remembering, schema, tools } from "./Driver.ts"

type Message = OpenAI.ChatCompletionMessageParam
/** Members beside the vendor's own, which several vendors of the format have. */
interface Thoughts {
  readonly reasoning_content?: string | null
  readonly reasoning_details?: ReadonlyArray<unknown>
}

export const client = (url: string, key: string, fetch?: typeof globalThis.fetch): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, ...(fetch === undefined ? {} : { fetch }) })

const bodyOf = (setup: Setup, messages: Array<Message>) => ({
  model: setup.model,
  messages: setup.system === undefined ? messages : [{ role: "system", content: setup.system } as const, ...messages],
  ...(setup.tools === true ? { tools: tools.map((tool) => ({ type: "function" as const, function: { ...tool } })) } : {}),
  ...(setup.forced === undefined ? {} : {
    tool_choice: setup.forced === "required" ? "required" as const : { type: "function" as const, function: { name: setup.forced } }
  }),
  ...(setup.maxTokens === undefined ? {} : { max_completion_tokens: setup.maxTokens }),
  ...(setup.stop === undefined ? {} : { stop: [...setup.stop] }),
  ...(setup.thinking === true ? { reasoning_effort: "low" as const } : {}),
  ...(setup.structured === true ? { response_format: { type: "json_schema" as const, json_schema: { name: "place", schema, strict: true } } } : {}),
  ...setup.extra
})

const heard = (completion: OpenAI.ChatCompletion, thoughts: Thoughts): Heard => {
  const choice = completion.choices[0]
  const { usage } = completion
  return {
    text: choice?.message.content ?? "",
    thinking: thoughts.reasoning_content ?? "",
    refusal: choice?.message.refusal ?? "",
    calls: (choice?.message.tool_calls ?? []).map((call) => {
      if (call.type !== "function") throw new Error("not a function call")
      return { id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) as unknown }
    }),
    finish: choice?.finish_reason ?? "",
    usage: usage === undefined ? null : { input: usage.prompt_tokens, cached: usage.prompt_tokens_details?.cached_tokens ?? 0, output: usage.completion_tokens }
  }
}

/** Without what the accumulator parsed, which the vendor refuses. */
const bare = (message: OpenAI.ChatCompletionMessage): Message =>
  JSON.parse(JSON.stringify(message, (name, value: unknown) => name === "parsed" || name === "parsed_arguments" ? undefined : value)) as Message

export const openaiChat: Driver = {
  face: "chat-completions",
  words: { stop: "stop", length: "length", tools: "tool_calls", filter: "content_filter", refusal: "stop", refusesInWords: true },
  fields: { stop: "stop", toolChoice: "tool_choice" },
  reportsCached: true,
  broken: null,
  resultImages: false,
  resultErrors: false,
  carriesSignatures: true,
  hint: { field: "seed", extra: { seed: 7 }, omittedFor: ["messages", "responses"] },
  errorClass: (status) => ({
    400: OpenAI.BadRequestError, 401: OpenAI.AuthenticationError, 404: OpenAI.NotFoundError, 429: OpenAI.RateLimitError, 500: OpenAI.InternalServerError
  })[status] ?? OpenAI.APIError,
  streamError: OpenAI.APIError,
  statusOf: (error) => error instanceof OpenAI.APIError ? error.status : undefined,
  open: (matrix, setup, key = matrix.key) => {
    const { fetch, header } = remembering()
    const openai = client(matrix.url, key, fetch)
    const messages: Array<Message> = []
    return {
      header,
      say: (text, image) => {
        messages.push({
          role: "user",
          content: image === undefined ? text : [{ type: "text", text }, { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }]
        })
      },
      results: (results) => {
        for (const result of results) messages.push({ role: "tool", tool_call_id: result.id, content: result.text })
      },
      ask: async (stream, onText, signal) => {
        const body = bodyOf(setup, messages)
        const options = signal === undefined ? {} : { signal }
        if (!stream) {
          const completion = await openai.chat.completions.create({ ...body, stream: false }, options)
          const message = completion.choices[0]?.message
          if (message !== undefined) messages.push(message)
          return heard(completion, (message ?? {}) as Thoughts)
        }
        const runner = openai.chat.completions.stream({ ...body, stream: true, stream_options: { include_usage: true } }, options)
        let thinking = ""
        const details: Array<unknown> = []
        for await (const chunk of runner) {
          const delta = chunk.choices[0]?.delta as (OpenAI.ChatCompletionChunk.Choice.Delta & Thoughts) | undefined
          thinking += delta?.reasoning_content ?? ""
          details.push(...delta?.reasoning_details ?? [])
          if (typeof delta?.content === "string" && delta.content !== "") onText?.(delta.content)
        }
        const completion = await runner.finalChatCompletion()
        // The client keeps the last piece of members it does not know; who wants the thoughts collects them.
        const collected = { ...(thinking === "" ? {} : { reasoning_content: thinking }), ...(details.length === 0 ? {} : { reasoning_details: details }) }
        const message = completion.choices[0]?.message
        if (message !== undefined) messages.push(bare({ ...message, ...collected }))
        return heard(completion, collected)
      }
    }
  }
}
