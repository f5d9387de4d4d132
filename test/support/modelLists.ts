/** A server of public lists of models: files as LiteLLM and models.dev publish them, cut to a few entries. */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

/** As of LiteLLM's list: USD per token. */
export const litellm = {
  sample_spec: { litellm_provider: "one of https://docs.litellm.ai/docs/providers", mode: "one of: chat, embedding", input_cost_per_token: 0, max_tokens: "LEGACY parameter" },
  "gpt-4o-mini": {
    cache_read_input_token_cost: 7.5e-8, input_cost_per_token: 1.6e-7, input_cost_per_token_batches: 7.5e-8, litellm_provider: "openai", max_input_tokens: 128_000, max_output_tokens: 16_384,
    mode: "chat", output_cost_per_token: 6.4e-7, supports_function_calling: true
  },
  "gpt-9-preview": { input_cost_per_token: 2e-6, litellm_provider: "openai", mode: "chat", output_cost_per_token: 8e-6, output_cost_per_reasoning_token: 9e-6 },
  "claude-haiku-4-5": {
    cache_creation_input_token_cost: 1.25e-6, cache_creation_input_token_cost_above_1hr: 2e-6, cache_read_input_token_cost: 1e-7, input_cost_per_token: 1e-6, litellm_provider: "anthropic", mode: "chat",
    output_cost_per_token: 5e-6
  },
  "gemini/gemini-2.5-pro": {
    cache_read_input_token_cost: 1.25e-7, input_cost_per_token: 1.25e-6, input_cost_per_token_above_200k_tokens: 2.5e-6, litellm_provider: "gemini", mode: "chat", output_cost_per_token: 1e-5,
    output_cost_per_token_above_200k_tokens: 1.5e-5
  },
  "whisper-1": { input_cost_per_second: 1e-4, litellm_provider: "openai", mode: "audio_transcription", output_cost_per_second: 1e-4 },
  "hd/1024-x-1024/dall-e-3": { input_cost_per_pixel: 7.629e-8, litellm_provider: "openai", mode: "image_generation" },
  "rerank-v3.5": { input_cost_per_query: 0.002, input_cost_per_token: 0, litellm_provider: "cohere", mode: "rerank", output_cost_per_token: 0 },
  "github_copilot/gpt-4o": { litellm_provider: "github_copilot", mode: "chat" }
}

/** As of models.dev's list: USD per million tokens. */
export const modelsDev = {
  openai: {
    id: "openai", env: ["OPENAI_API_KEY"], npm: "@ai-sdk/openai", name: "OpenAI", doc: "https://platform.openai.com/docs/models",
    models: {
      "gpt-4o-mini": {
        id: "gpt-4o-mini", name: "GPT-4o mini", attachment: true, reasoning: false, tool_call: false, structured_output: true, temperature: true, release_date: "2024-07-18",
        modalities: { input: ["text", "image", "telepathy"], output: ["text"] }, open_weights: false, cost: { input: 0.15, output: 0.6, cache_read: 0.08 }, limit: { context: 8_192, output: 4_096 }
      },
      "gpt-5.5": {
        id: "gpt-5.5", name: "GPT-5.5", attachment: true, reasoning: true, tool_call: true, modalities: { input: ["text", "image"], output: ["text"] }, open_weights: false,
        cost: {
          input: 5, output: 30, cache_read: 0.5, tiers: [{ input: 10, output: 45, cache_read: 1, tier: { type: "context", size: 272_000 } }], context_over_200k: { input: 10, output: 45, cache_read: 1 }
        },
        limit: { context: 1_050_000, input: 922_000, output: 128_000 }
      }
    }
  },
  "amazon-bedrock": { id: "amazon-bedrock", name: "Amazon Bedrock", models: { "anthropic.claude-haiku-4-5": { limit: { context: 0, output: 64_000 }, cost: { input: 1, output: 5 } } } },
  "some-reseller": { id: "some-reseller", models: { "gpt-4o-mini": { cost: { input: 99, output: 99 } } } }
}

export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text as it is, anything else as JSON. */
  readonly body: unknown
}

export interface ModelLists {
  readonly environment: Readonly<Record<string, string>>
  /** By path: `/litellm.json`, `/models-dev.json`. */
  readonly answers: Map<string, Answer>
  /** Paths that were asked for. */
  readonly asked: Array<string>
  readonly close: () => Promise<void>
}

export const start = async (): Promise<ModelLists> => {
  const answers = new Map<string, Answer>([["/litellm.json", { body: litellm }], ["/models-dev.json", { body: modelsDev }]])
  const asked: Array<string> = []
  const server = Http.createServer(({ url = "" }, response) => {
    const path = url.split("?")[0] ?? ""
    asked.push(path)
    const { body, headers, status = 200 } = answers.get(path) ?? { status: 404, body: "none" }
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers })
    response.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    environment: { GATEWAY_LITELLM_PRICES_URL: `${origin}/litellm.json?token=canary-list-t0ken`, GATEWAY_MODELS_DEV_URL: `${origin}/models-dev.json` },
    answers, asked,
    close: () => new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  }
}
