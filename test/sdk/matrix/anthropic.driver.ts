/** The `@anthropic-ai/sdk` client on messages. */
import Anthropic from "@anthropic-ai/sdk"
import type { Driver, Heard, Setup } from "./Driver.ts"
import { remembering, schema, tools } from "./Driver.ts"

export const client = (url: string, key: string, fetch?: typeof globalThis.fetch): Anthropic =>
  new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0, ...(fetch === undefined ? {} : { fetch }) })

const bodyOf = (setup: Setup, messages: Array<Anthropic.MessageParam>) => ({
  model: setup.model,
  messages,
  max_tokens: setup.maxTokens ?? 8192,
  ...(setup.system === undefined ? {} : { system: setup.system }),
  ...(setup.tools === true ? { tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: { ...parameters, required: "required" in parameters ? [...parameters.required] : [] } })) } : {}),
  ...(setup.forced === undefined ? {} : { tool_choice: setup.forced === "required" ? { type: "any" as const } : { type: "tool" as const, name: setup.forced } }),
  ...(setup.stop === undefined ? {} : { stop_sequences: [...setup.stop] }),
  ...(setup.thinking === true ? { thinking: { type: "enabled" as const, budget_tokens: 2048 } } : {}),
  ...(setup.structured === true ? { output_config: { format: { type: "json_schema" as const, schema } } } : {}),
  ...setup.extra
})

const heard = (message: Anthropic.Message): Heard => ({
  text: message.content.map((block) => block.type === "text" ? block.text : "").join(""),
  thinking: message.content.map((block) => block.type === "thinking" ? block.thinking : "").join(""),
  refusal: "",
  calls: message.content.flatMap((block) => block.type === "tool_use" ? [{ id: block.id, name: block.name, args: block.input }] : []),
  finish: message.stop_reason ?? "",
  usage: {
    input: message.usage.input_tokens + (message.usage.cache_read_input_tokens ?? 0) + (message.usage.cache_creation_input_tokens ?? 0),
    cached: message.usage.cache_read_input_tokens ?? 0,
    output: message.usage.output_tokens
  }
})

const source = (data: string) => ({ type: "base64" as const, media_type: "image/png" as const, data })

export const anthropic: Driver = {
  face: "messages",
  words: { stop: "end_turn", length: "max_tokens", tools: "tool_use", filter: "refusal", refusal: "refusal", refusesInWords: false },
  fields: { stop: "stop_sequences", toolChoice: "tool_choice" },
  reportsCached: true,
  broken: null,
  resultImages: true,
  resultErrors: true,
  carriesSignatures: true,
  hint: { field: "metadata.user_id", extra: { metadata: { user_id: "u-1" } }, omittedFor: ["generateContent", "local-model-server"] },
  errorClass: (status) => ({
    400: Anthropic.BadRequestError, 401: Anthropic.AuthenticationError, 404: Anthropic.NotFoundError, 429: Anthropic.RateLimitError, 500: Anthropic.InternalServerError
  })[status] ?? Anthropic.APIError,
  streamError: Anthropic.APIError,
  statusOf: (error) => error instanceof Anthropic.APIError ? error.status : undefined,
  open: (matrix, setup, key = matrix.key) => {
    const { fetch, header } = remembering()
    const claude = client(matrix.url, key, fetch)
    const messages: Array<Anthropic.MessageParam> = []
    return {
      header,
      say: (text, image) => {
        messages.push({ role: "user", content: image === undefined ? text : [{ type: "image", source: source(image) }, { type: "text", text }] })
      },
      results: (results) => {
        messages.push({
          role: "user",
          content: results.map(({ id, image, isError, text }) => ({
            type: "tool_result" as const, tool_use_id: id,
            content: image === undefined ? text : [{ type: "text" as const, text }, { type: "image" as const, source: source(image) }],
            ...(isError === true ? { is_error: true } : {})
          }))
        })
      },
      ask: async (stream, onText, signal) => {
        const body = bodyOf(setup, messages)
        const options = signal === undefined ? {} : { signal }
        let message: Anthropic.Message
        if (stream) {
          const runner = claude.messages.stream(body, options)
          for await (const event of runner) {
            if (event.type === "content_block_delta" && event.delta.type === "text_delta") onText?.(event.delta.text)
          }
          message = await runner.finalMessage()
        } else message = await claude.messages.create({ ...body, stream: false }, options)
        messages.push({ role: "assistant", content: message.content })
        return heard(message)
      }
    }
  }
}
