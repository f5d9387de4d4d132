/** The operations of requests without a conversation, described by examples. */
import type { Json, JsonObject } from "./json.ts"
import { errors, type Operation, provider, ref, requestIdHeader, text } from "./operation.ts"

const images = (id: string, summary: string, parameters?: ReadonlyArray<JsonObject>): Operation => ({
  id,
  summary,
  description: "Makes images of a prompt; fields that are not named here are forwarded.",
  ...(parameters === undefined ? {} : { parameters }),
  body: {
    required: true,
    content: { "application/json": { schema: ref("ImageRequest"), example: { model: "openai/gpt-image-1", prompt: "A lighthouse at dusk", n: 1, size: "1024x1024" } } }
  },
  responses: {
    200: {
      description: "The images, as addresses or as base64.",
      headers: { "X-Gateway-Request-Id": requestIdHeader },
      content: { "application/json": { schema: { type: "object" }, example: { created: 1790000000, data: [{ b64_json: "iVBORw0KGgo=" }] } } }
    },
    ...errors([400, 401, 403, 404, 413, 429, 502, 503, 504], "ChatError")
  }
})

const embeddings = (id: string, summary: string, description: string, parameters?: ReadonlyArray<JsonObject>): Operation => ({
  id,
  summary,
  description: `${description} One vector for each item at the top of \`input\`, in its order; \`model\` of the answer is the canonical id.`,
  ...(parameters === undefined ? {} : { parameters }),
  body: {
    required: true,
    content: { "application/json": { schema: ref("EmbeddingRequest"), example: { model: "openai/text-embedding-3-small", input: ["first text", "second text"] } } }
  },
  responses: {
    200: {
      description: "The vectors.",
      headers: { "X-Gateway-Request-Id": requestIdHeader },
      content: {
        "application/json": {
          schema: { type: "object" },
          example: {
            object: "list", data: [{ object: "embedding", index: 0, embedding: [0.1, -0.2] }, { object: "embedding", index: 1, embedding: [0.3, 0.4] }],
            model: "openai/text-embedding-3-small", usage: { prompt_tokens: 4, total_tokens: 4 }
          }
        }
      }
    },
    ...errors([400, 401, 403, 404, 413, 429, 502, 503, 504], "ChatError")
  }
})

/** A request that is answered whole, described by an example of each side. */
const oneShot = (id: string, summary: string, description: string, request: JsonObject, answer: Json, required: ReadonlyArray<string>): Operation => ({
  id,
  summary,
  description,
  body: {
    required: true,
    content: { "application/json": { schema: { type: "object", properties: Object.fromEntries(Object.keys(request).map((name) => [name, {}])), required: [...required] }, example: request } }
  },
  responses: {
    200: { description: "The answer.", headers: { "X-Gateway-Request-Id": requestIdHeader }, content: { "application/json": { schema: { type: "object" }, example: answer } } },
    ...errors([400, 401, 403, 404, 413, 429, 502, 503, 504], "ChatError")
  }
})

const ranking = (id: string, summary: string, more: string): Operation => oneShot(
  id, summary, `Orders documents by how well they answer the query: results by score, the best first, at most \`top_n\`; \`index\` is the place in \`documents\`.${more}`,
  { model: "cohere/rerank-v3.5", query: "What is the capital of France?", documents: ["Paris is the capital of France.", "Berlin is in Germany."], top_n: 1, return_documents: true },
  {
    model: "cohere/rerank-v3.5", results: [{ index: 0, relevance_score: 0.98, document: { text: "Paris is the capital of France." } }],
    meta: { billed_units: { search_units: 1 } }
  }, ["model", "query", "documents"])
const page = oneShot(
  "webFetch.create", "Fetch a page",
  "Gives a public page as Markdown, HTML, links or a screenshot. Without `provider` the connected providers are asked in their fixed order, the next one when a limit or a plan is used up; without any the built-in reader serves.",
  { url: "https://example.com/", format: "markdown", include_metadata: true },
  {
    provider: "firecrawl", url: "https://example.com/", content: "# Example Domain", links: [], metadata: { title: "Example Domain", description: null }, screenshot_url: null
  }, ["url"])

/** 422: a page that cannot be read. */
const fetching: Operation = { ...page, responses: { ...page.responses, ...errors([422], "ChatError") } }

/** A form with audio. */
const written = (id: string, summary: string, description: string): Operation => ({
  id,
  summary,
  description: `${description} The form goes on as it came but for its model; \`response_format\` decides the type of the answer, and \`stream\` passes events.`,
  body: {
    required: true,
    content: {
      "multipart/form-data": {
        schema: {
          type: "object",
          properties: {
            file: { type: "string", format: "binary" }, model: text, language: text, prompt: text, temperature: { type: "number" },
            response_format: { type: "string", enum: ["json", "text", "srt", "verbose_json", "vtt", "diarized_json"] }, stream: { type: "boolean" }
          },
          required: ["file", "model"]
        }
      }
    }
  },
  responses: {
    200: {
      description: "The text.", headers: { "X-Gateway-Request-Id": requestIdHeader },
      content: { "application/json": { schema: { type: "object" }, example: { text: "Hello!" } }, "text/plain": { schema: text } }
    },
    ...errors([400, 401, 403, 404, 413, 415, 429, 502, 503, 504, 507], "ChatError")
  }
})

/** By method and path as the kinds of requests list them. */
export const oneShots: Readonly<Record<string, Operation>> = {
  "POST /v1/images/generations": images("images.generate", "Images"),
  "POST /v1/providers/:provider/images/generations": images("images.atProvider", "Images of one provider", [provider]),
  "POST /v1/embeddings": embeddings("embeddings.create", "Embeddings", "Turns text, tokens or structured items with media into vectors; fields that are not named here are forwarded."),
  "POST /v1/providers/:provider/embeddings": embeddings(
    "embeddings.atProvider", "Embeddings of one provider", "The model may stand without its provider prefix; one of another provider is refused with 400.", [provider]),
  "POST /v1/images/edits": {
    id: "images.edit",
    summary: "Edit images",
    description: "Changes images as the prompt says. The form goes on as it came but for its model.",
    body: {
      required: true,
      content: {
        "multipart/form-data": {
          schema: {
            type: "object",
            properties: { model: text, prompt: text, image: { type: "array", items: { type: "string", format: "binary" } }, mask: { type: "string", format: "binary" }, n: { type: "integer", minimum: 1 }, size: text },
            required: ["model", "prompt", "image"]
          }
        }
      }
    },
    responses: {
      200: {
        description: "The images, as addresses or as base64.", headers: { "X-Gateway-Request-Id": requestIdHeader },
        content: { "application/json": { schema: { type: "object" }, example: { created: 1795219200, data: [{ b64_json: "iVBORw0KGgo=" }] } } }
      },
      ...errors([400, 401, 403, 404, 413, 415, 429, 502, 503, 504, 507], "ChatError")
    }
  },
  "POST /v1/ocr": oneShot(
    "ocr.create", "Read a document", "Reads the pages of a document or an image as markdown. Servers that answer with a job are asked until it is over, for 30 s.",
    { model: "mistral/mistral-ocr-latest", document: { type: "document_url", document_url: "https://example.com/a.pdf" } },
    { pages: [{ index: 0, markdown: "# A page" }], model: "mistral/mistral-ocr-latest", usage_info: { pages_processed: 1 } }, ["document"]),
  "POST /v1/search": oneShot(
    "search.create", "Search the web",
    "Asks the named provider, or the cheapest that is connected and one other when it fails. Equal searches of one key are answered from the cache for a time; fields that a provider cannot honour are named in X-Gateway-Omitted, or refused with `strict_filters`.",
    { query: "capital of France", provider: "serper-search", max_results: 1 },
    {
      id: "search-0b0e9a5c-7f0c-4a3e-9b1f-5a3b7f6f2a10", provider: "serper-search", query: "capital of France",
      results: [{
        title: "Paris", url: "https://en.wikipedia.org/wiki/Paris", display_url: "en.wikipedia.org", snippet: "Paris is the capital of France.", position: 1, score: null,
        metadata: { author: null, language: null, source_type: "other", image_url: null }, citation: { provider: "serper-search", retrieved_at: "2026-11-23T10:00:00.000Z", rank: 1 }
      }],
      answer: null, cached: false, usage: { queries_used: 1, search_cost_usd: 0.001 },
      metrics: { response_time_ms: 412, upstream_latency_ms: 409, gateway_latency_ms: 3, total_results_available: null }
    }, ["query"]),
  "POST /v1/web/fetch": fetching,
  "POST /v1/moderations": oneShot(
    "moderations.create", "Moderations", "Says whether texts or images are harmful, and in what way. Costs nothing; without `model` it is `omni-moderation-latest`.",
    { model: "openai/omni-moderation-latest", input: "I want to bake a cake." },
    { id: "modr-9", model: "omni-moderation-latest", results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.001 } }] }, ["input"]),
  "POST /v1/audio/speech": {
    id: "audio.speech",
    summary: "Speech of a text",
    description: "The sound comes as the server makes it, in the type that `response_format` asks for; fields that are not named here are forwarded.",
    body: {
      required: true,
      content: {
        "application/json": {
          schema: { type: "object", properties: { model: text, input: text, voice: {}, response_format: { type: "string" }, speed: { type: "number", minimum: 0.25, maximum: 4 } }, required: ["model", "input", "voice"] },
          example: { model: "openai/gpt-4o-mini-tts", input: "Hello!", voice: "alloy", response_format: "wav" }
        }
      }
    },
    responses: {
      200: {
        description: "The sound; a stream that breaks ends with its connection.", headers: { "X-Gateway-Request-Id": requestIdHeader },
        content: { "audio/mpeg": { schema: { type: "string", format: "binary" } } }
      },
      ...errors([400, 401, 403, 404, 413, 429, 502, 503, 504], "ChatError")
    }
  },
  "POST /v1/audio/transcriptions": written("audio.transcriptions", "Transcription", "Writes down what is said, in its language."),
  "POST /v1/audio/translations": written("audio.translations", "Translation of speech", "Writes down what is said, in English."),
  "POST /v1/classify": oneShot(
    "classify.create", "Sort texts under labels", "Says for each text which label fits best: results in the order of `input`, the best label first.",
    { model: "jina/jina-embeddings-v3", input: ["The phone is slow."], labels: ["praise", "complaint"] },
    { model: "jina/jina-embeddings-v3", data: [{ index: 0, label: "complaint", score: 0.62, predictions: [{ label: "complaint", score: 0.62 }, { label: "praise", score: 0.38 }] }], usage: { total_tokens: 12 } },
    ["model", "input", "labels"]),
  "POST /v1/segment": oneShot(
    "segment.create", "Cut a text into chunks",
    "Counts the tokens of a text and cuts it at good boundaries. `model` names a provider and its tokenizer; without it, it is `jina/cl100k_base`. A field `tokenizer` stands before the model's.",
    { model: "jina/cl100k_base", content: "A first paragraph.\n\nA second one.", return_chunks: true, max_chunk_length: 1000 },
    {
      num_tokens: 9, tokenizer: "cl100k_base", num_chunks: 2, chunk_positions: [[0, 20], [20, 33]], chunks: ["A first paragraph.\n\n", "A second one."], usage: { tokens: 0 }
    }, ["content"]),
  "POST /v1/videos/generations": oneShot(
    "videos.generate", "Make a video",
    "Makes a video of a prompt, and of an image where `image` names one. Servers that answer with a job are asked until it is over, for 600 s; a client that leaves ends the asking. Each vendor has lengths, ratios and resolutions of its own; fields that a vendor does not know are named in `X-Gateway-Omitted`.",
    { model: "xai/grok-imagine-video", prompt: "A lighthouse at dusk", duration: 6, aspect_ratio: "16:9", resolution: "720p" },
    { created: 1795219200, data: [{ url: "https://example.com/lighthouse.mp4", duration: 6 }] }, ["model", "prompt"]),
  "POST /v1/music/generations": oneShot(
    "music.generate", "Make music", "Makes music of a prompt, and of `lyrics` where a vendor sings them. The answer holds an address or the sound as base64.",
    { model: "minimax/music-2.6", prompt: "A calm piano piece", lyrics: "[verse]\nThe night is long", format: "mp3" },
    { created: 1795219200, data: [{ b64_json: "SUQzBAAAAAAA", format: "mp3" }] }, ["model", "prompt"]),
  "POST /v1/rerank": ranking("rerank.create", "Rank documents", ""),
  "POST /v2/rerank": ranking("rerank.createV2", "Rank documents (v2)", " The same as `/v1/rerank`, for clients that name this path.")
}
