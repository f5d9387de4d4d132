/** The operations of the inference surface: what `inferenceRoutes.ts` lists, described from the wire schemas and by examples. */
import type * as Schema from "effect/Schema"
import * as WireChatCompletions from "#schemas/wire/chatCompletions.ts"
import * as Completions from "#schemas/wire/completions.ts"
import * as Embeddings from "#schemas/wire/embeddings.ts"
import * as Images from "#schemas/wire/images.ts"
import * as WireGenerateContent from "#schemas/wire/generateContent.ts"
import * as LocalModelServer from "#schemas/wire/localModelServer.ts"
import * as WireMessages from "#schemas/wire/messages.ts"
import * as WireResponses from "#schemas/wire/responses.ts"
import type { Json, JsonObject } from "./json.ts"
import { type ErrorSchema, errors, inPath, type Operation, provider, ref, requestIdHeader, text } from "./operation.ts"
import { oneShots } from "./oneShots.ts"
import * as Parts from "./parts.ts"
import { tidy } from "./schemas.ts"
import { sockets } from "./sockets.ts"
import { storedResponses } from "./storedResponses.ts"

/** The wire format of an operation decides its schemas, its examples and the body of its errors. */
interface Format {
  readonly request: string
  readonly error: ErrorSchema
  readonly example: JsonObject
  readonly answer: JsonObject
  /** Media type of a stream. */
  readonly stream: "text/event-stream" | "application/x-ndjson"
  readonly streamed: string
}

const hello = [{ role: "user", content: "Say hello." }]
const model = "openai/gpt-4o-mini"

const chat: Format = {
  request: "ChatCompletionRequest",
  error: "ChatError",
  example: { model, stream: false, messages: hello },
  answer: {
    id: "chatcmpl-9", object: "chat.completion", created: 1795219200, model,
    choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
  },
  stream: "text/event-stream",
  streamed: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello!\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n"
}

const messages: Format = {
  request: "MessagesRequest",
  error: "MessagesError",
  example: { model: "anthropic/claude-sonnet-4-5", max_tokens: 1024, messages: hello },
  answer: {
    id: "msg_9", type: "message", role: "assistant", model: "anthropic/claude-sonnet-4-5", content: [{ type: "text", text: "Hello!" }],
    stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 10, output_tokens: 2 }
  },
  stream: "text/event-stream",
  streamed: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello!\"}}\n\n"
}

const responses: Format = {
  request: "ResponsesRequest",
  error: "ChatError",
  example: { model, input: "Say hello." },
  answer: {
    id: "resp_9", object: "response", created_at: 1795219200, status: "completed", model,
    output: [{ id: "msg_9", type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Hello!", annotations: [] }] }],
    usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 }
  },
  stream: "text/event-stream",
  streamed: "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello!\"}\n\n"
}

const completions: Format = {
  ...chat,
  request: "CompletionRequest",
  example: { model, prompt: "Say hello.", max_tokens: 16 },
  answer: {
    id: "cmpl-9", object: "text_completion", created: 1795219200, model,
    choices: [{ index: 0, text: "Hello!", finish_reason: "stop", logprobs: null }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  },
  streamed: "data: {\"choices\":[{\"index\":0,\"text\":\"Hello!\",\"finish_reason\":null}]}\n\ndata: [DONE]\n\n"
}

const generateContent: Format = {
  request: "GenerateContentRequest",
  error: "GenerateContentError",
  example: { contents: [{ role: "user", parts: [{ text: "Say hello." }] }] },
  answer: {
    candidates: [{ content: { role: "model", parts: [{ text: "Hello!" }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 }
  },
  stream: "text/event-stream",
  streamed: "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hello!\"}]}}]}\n\n"
}

const localModelServer: Format = {
  request: "LocalModelServerRequest",
  error: "LocalModelServerError",
  example: { model, stream: false, messages: hello },
  answer: { model, created_at: "2026-11-22T12:00:00Z", message: { role: "assistant", content: "Hello!" }, done: true, done_reason: "stop", prompt_eval_count: 10, eval_count: 2 },
  stream: "application/x-ndjson",
  streamed: "{\"message\":{\"role\":\"assistant\",\"content\":\"Hello!\"},\"done\":false}\n{\"done\":true}\n"
}

const requestSchemas: Readonly<Record<string, Schema.Top>> = {
  ChatCompletionRequest: WireChatCompletions.Request,
  MessagesRequest: WireMessages.Request,
  CountTokensRequest: WireMessages.CountRequest,
  ResponsesRequest: WireResponses.Written,
  CompletionRequest: Completions.Request,
  EmbeddingRequest: Embeddings.Request,
  ImageRequest: Images.Request,
  GenerateContentRequest: WireGenerateContent.Request,
  LocalModelServerRequest: LocalModelServer.Request
}

/** Fields that no format knows are forwarded, so that no object is closed. */
const open = (untidy: JsonObject, name: string): JsonObject => {
  const schema = tidy(untidy, name)
  const { additionalProperties, ...rest } = schema
  return additionalProperties === false ? rest : schema
}

const closed = (properties: JsonObject, required: ReadonlyArray<string> = Object.keys(properties)): JsonObject => ({ type: "object", properties, required })

const errorSchemas: JsonObject = {
  ChatError: closed({ error: closed({ message: text, type: text, code: { type: ["string", "null"] }, param: text, path: text }, ["message", "type"]) }),
  MessagesError: closed({ type: { const: "error" }, error: closed({ type: text, message: text, code: text }, ["type", "message"]) }),
  GenerateContentError: closed({ error: closed({ code: { type: "integer" }, message: text, status: text, details: { type: "array", items: { type: "object" } } }, ["code", "message", "status"]) }),
  LocalModelServerError: closed({ error: text })
}

const conversation = (id: string, summary: string, format: Format, description: string, parameters?: ReadonlyArray<JsonObject>): Operation => ({
  id,
  summary,
  description: `${description} The model is \`<provider>/<model>\`, an alias or a combo; any format reaches any provider.`,
  ...(parameters === undefined ? {} : { parameters }),
  body: { required: true, content: { "application/json": { schema: ref(format.request), example: format.example } } },
  responses: {
    200: {
      description: "The answer; a stream where the request asks for one.",
      headers: { "X-Gateway-Request-Id": requestIdHeader },
      content: {
        "application/json": { schema: { type: "object" }, example: format.answer },
        [format.stream]: { schema: text, example: format.streamed }
      }
    },
    ...errors([400, 401, 403, 404, 413, 429, 502, 503, 504], format.error)
  }
})

const reading = (id: string, summary: string, description: string, example: Json, error: Format["error"] = "ChatError", missing = false, parameters?: ReadonlyArray<JsonObject>): Operation => ({
  id,
  summary,
  description,
  ...(parameters === undefined ? {} : { parameters }),
  responses: {
    200: { description: "The list or entry.", content: { "application/json": { schema: { type: "object" }, example } } },
    ...errors(missing ? [401, 403, 404] : [401, 403], error)
  }
})

const token = inPath("token", "An API key of this gateway, for clients that cannot send a header.", "sk-...")
const generatePath = [
  inPath("model", "Model id; slashes may stand as they are or percent-encoded.", "gemini/gemini-2.5-flash"),
  { ...inPath("method", "What to do.", "generateContent"), schema: { type: "string", enum: ["generateContent", "streamGenerateContent", "countTokens"] } }
]
const modelEntry = { id: model, object: "model", created: 1795219200, owned_by: "openai", type: "chat" }
const modelHealth = (id: string, description: string): Operation => reading(id, "Health of models", description, {
  object: "list", generated_at: "2026-11-22T12:00:00.000Z", outcomes_known: true, summary: { healthy: 1, degraded: 0, unavailable: 0, unknown: 0 },
  data: [{
    id: model, object: "model.health", owned_by: "openai", status: "healthy", available: true, targets: { total: 1, available: 1 }, reason: null, until: null,
    last_hour: { attempts: 12, successes: 12, failures: 0, success_rate: 1, avg_latency_ms: 840, p95_latency_ms: 1900, last_used_at: "2026-11-22T11:59:58.000Z" }
  }]
})
const modelList = { object: "list", data: [modelEntry] }
const tags = { models: [{ name: model, model, modified_at: "2026-11-22T12:00:00Z", size: 0 }] }
const paged: ReadonlyArray<JsonObject> = [
  { name: "pageSize", in: "query", required: false, description: "Entries of a page; absent: all.", schema: { type: "integer", minimum: 0 } },
  { name: "pageToken", in: "query", required: false, description: "`nextPageToken` of the page before.", schema: { type: "string" } }
]

const prefix: JsonObject = {
  name: "prefix", in: "query", required: false, description: "Which prefixes ids get; the default is a setting.",
  schema: { type: "string", enum: ["alias", "dual", "canonical"] }
}
const generated = "Model and method stand in the path. `streamGenerateContent` streams one JSON array of chunks; with `?alt=sse` it streams events."
const keyInPath = "The key stands in the path: paths end up in logs of proxies, so prefer the Authorization header where a client can send one."
const show: Operation = {
  id: "localModelServer.show",
  summary: "One model, for local-model-server clients",
  description: "What a model can do, in the words of the local model server.",
  body: { required: true, content: { "application/json": { schema: closed({ model: text }), example: { model } } } },
  responses: {
    200: { description: "The model.", content: { "application/json": { schema: { type: "object" }, example: { details: { family: "openai" }, capabilities: ["completion", "tools"] } } } },
    ...errors([400, 401, 403, 404], "LocalModelServerError")
  }
}

/** By method and path as the kinds of requests list them. */
const operations: Readonly<Record<string, Operation>> = {
  ...oneShots,
  ...sockets,
  ...storedResponses,
  "POST /v1/chat/completions": conversation("chat.completions", "Chat completion", chat, "Chat-completions format. In place of `messages` it takes `input`, as the responses format has it, or `prompt`."),
  "POST /v1/messages": conversation("messages.create", "Message", messages, "Messages format."),
  "POST /v1/messages/count_tokens": {
    id: "messages.countTokens",
    summary: "Count the tokens of a message request",
    description: "Asks the provider when it counts itself, else a tokenizer; a combo counts for the target that it would ask first.",
    body: { required: true, content: { "application/json": { schema: ref("CountTokensRequest"), example: { model: "anthropic/claude-sonnet-4-5", messages: hello } } } },
    responses: {
      200: { description: "The count.", content: { "application/json": { schema: closed({ input_tokens: { type: "integer" } }), example: { input_tokens: 10 } } } },
      ...errors([400, 401, 403, 404, 413, 429], "MessagesError")
    }
  },
  "POST /v1/responses": conversation("responses.create", "Response", responses, "Responses format."),
  "POST /v1/completions": conversation("completions.create", "Legacy completion", completions, "The legacy completions format, for clients that know nothing else."),
  "POST /v1/api/chat": conversation("localModelServer.chat", "Chat in the local model server's format", localModelServer, "Streams lines of JSON unless `stream` is false."),
  "POST /v1/providers/:provider/chat/completions": conversation(
    "chat.providerCompletions", "Chat completion at one provider", chat, "The model may stand without its provider prefix; one of another provider is refused with 400.", [provider]),
  "POST /v1beta/models/:path": conversation("generateContent.v1beta", "Generate content", generateContent, generated, generatePath),
  "POST /v1/models/:path": conversation("generateContent.v1", "Generate content, under /v1", generateContent, generated, generatePath),
  "POST /api/v1/editor/:token/chat/completions": conversation("editor.chat", "Chat completion with the key in the path", chat, keyInPath, [token]),
  "POST /api/v1/editor/:token/v1/chat/completions": conversation("editor.chatV1", "Chat completion with the key in the path, under /v1", chat, keyInPath, [token]),
  "POST /api/v1/editor/:token/responses": conversation("editor.responses", "Response with the key in the path", responses, keyInPath, [token]),
  "POST /api/v1/editor/:token/api/chat": conversation("editor.localChat", "Local-model-server chat with the key in the path", localModelServer, keyInPath, [token]),
  "POST /api/v1/session-leases": {
    id: "leases.act",
    summary: "Acquire, renew, release or look at a session lease",
    description: "Needs a managed key (scope `lease:exclusive`) and the header X-Gateway-Lease-Owner. Inference with such a key sends the owner and the lease's generation.",
    parameters: [{
      name: "X-Gateway-Lease-Owner", in: "header", required: true, description: "Secret of the lease's owner, made by the client.",
      schema: { type: "string", pattern: "^vlo_[A-Za-z0-9_-]{43}$" }, example: `vlo_${"a".repeat(43)}`
    }],
    body: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            properties: {
              action: { type: "string", enum: ["acquire", "renew", "release", "status"] },
              model: { type: "string", description: "Of acquire." },
              generation: { type: "integer", description: "Of every other action." },
              reason: { type: "string", description: "Of release." }
            },
            required: ["action"]
          },
          example: { action: "acquire", model }
        }
      }
    },
    responses: {
      200: {
        description: "The lease.",
        content: {
          "application/json": {
            schema: { type: "object" },
            example: { state: "ACTIVE", generation: 7, acquiredAt: "2026-11-22T12:00:00Z", renewedAt: "2026-11-22T12:00:00Z", expiresAt: "2026-11-22T12:02:00Z" }
          }
        }
      },
      ...errors([400, 401, 403], "ChatError"),
      409: { description: "LEASE_FENCE_STALE: another key, owner or generation, or no such lease.", content: { "application/json": { schema: ref("ChatError") } } },
      429: { description: "WAITING_FOR_CAPACITY: every eligible connection is held.", content: { "application/json": { schema: { type: "object" } } } },
      503: { description: "The lease store does not answer.", content: { "application/json": { schema: ref("ChatError") } } }
    }
  },
  "GET /v1/models": reading("models.list", "Models", "Every model and combo the key may use.", modelList, "ChatError", false, [prefix]),
  "GET /v1/models/:id": reading("models.read", "One model", "An id with slashes may stand as it is or percent-encoded.", modelEntry, "ChatError", true, [inPath("id", "Model id.", model)]),
  "GET /v1/models/health": modelHealth("models.health", "Which models the key may use can be called now, and how calls of the last hour ended."),
  "GET /api/v1/models/health": modelHealth("models.healthBelowApi", "As GET /v1/models/health."),
  "GET /v1/combos": reading("combos.ofKey", "Combos of the key", "The combos that the key may use, with how many of their targets can be called now.", {
    object: "list", data: [{ id: "fast", object: "combo", created: 1795219200, strategy: "priority", context_length: null, available: true, targets: { total: 2, available: 1 }, reason: "model-cooldown", until: "2026-11-22T12:00:30.000Z" }]
  }),
  "GET /v1/me/sessions": reading("sessions.own", "Sessions of the key", "The key's own sessions of the last hour: by X-Session-Id on this node, by X-Gateway-Session-Id from the ledger.", {
    count: 1, sessions: [{ sessionId: "editor-1", createdAt: "2026-11-22T12:00:00.000Z", lastActive: "2026-11-22T12:10:00.000Z", requestCount: 4, ageMs: 660000 }]
  }),
  "GET /v1/embeddings": reading("models.embeddings", "Embedding models", "The models that embed.", { object: "list", data: [] }),
  "GET /v1/images/generations": reading("models.images", "Image models", "The models that make images.", { object: "list", data: [] }),
  "GET /v1/videos/generations": reading("models.videos", "Video models", "The models that make videos.", { object: "list", data: [] }),
  "GET /v1/music/generations": reading("models.music", "Music models", "The models that make music.", { object: "list", data: [] }),
  "GET /v1/audio/speech": reading("models.speech", "Speech models", "The models that speak.", { object: "list", data: [] }),
  "GET /v1/audio/transcriptions": reading("models.transcription", "Transcription models", "The models that write down what is said.", { object: "list", data: [] }),
  "GET /v1/rerank": reading("models.rerank", "Rerank models", "The models that rank documents.", { object: "list", data: [] }),
  "GET /v1/moderations": reading("models.moderation", "Moderation models", "The models that moderate.", { object: "list", data: [] }),
  "GET /v1/ocr": reading("models.ocr", "OCR models", "The models that read documents.", { object: "list", data: [] }),
  "GET /v1/search": reading("search.list", "Search providers", "The search providers that are connected, and their types of searches.", {
    object: "list", data: [{ id: "serper-search", object: "search_provider", created: 1790000000, name: "Serper", search_types: ["web", "news"] }]
  }),
  "GET /v1/search/analytics": reading("search.analytics", "What the key searched", "Counts, costs and cache hits of the caller's own searches, by provider and for the last 24 hours.", {
    total: 2, today: 2, cached: 1, errors: 0, totalCostUsd: 0.001, byProvider: { "serper-search": { count: 2, costUsd: 0.001, cached: 1, errors: 0, avgDurationMs: 210 } },
    cacheHitRate: 0.5, avgDurationMs: 210, last24h: [{ hour: "2026-11-23T10:00:00.000Z", count: 2, cached: 1, errors: 0, costUsd: 0.001 }]
  }),
  "GET /v1/providers/:provider/models": reading("models.ofProvider", "Models of one provider", "The models of one provider.", modelList, "ChatError", true, [provider]),
  "GET /v1/auto-combo/:channel/candidates": reading(
    "models.autoCandidates", "Candidates of automatic routing", "Which targets automatic routing would ask now, and why others are left out; for keys that manage.",
    { channel: "auto", candidates: [] }, "ChatError", true, [inPath("channel", "`auto`, or a channel such as `auto:fast` without its prefix.", "auto")]),
  "GET /api/v1/provider-plugin-manifest": reading(
    "models.providerManifest", "Manifest of the providers", "The provider registry for routers in processes of their own: formats, addresses, sign-in and models. No secrets, no variables, no headers of requests, no accounts.", {
      schemaVersion: 1, version: "0.1.0",
      providers: [{
        id: "openai", alias: "oai", name: "OpenAI", wireFormat: "chat-completions", baseUrl: "https://api.openai.com/v1", chatPath: "/chat/completions", modelsPath: "/models",
        auth: { type: "bearer" }, authKinds: ["apikey"], category: "apikey", freeTier: false, modalities: ["chat"], models: [{ id: "gpt-4o-mini", name: "GPT-4o mini", kind: "chat", contextWindow: 128000 }]
      }]
    }),
  "GET /v1beta/models": reading("generateContent.models", "Models in the generateContent format", "Every model the key may use.", { models: [{ name: `models/${model}`, supportedGenerationMethods: ["generateContent"] }] }, "GenerateContentError", false, paged),
  "GET /v1beta/models/:id": reading("generateContent.model", "One model in the generateContent format", "One entry of the list.", { name: `models/${model}` }, "GenerateContentError", true, [inPath("id", "Model id.", model)]),
  "GET /api/tags": reading("localModelServer.tags", "Models for local-model-server clients", "Every model the key may use.", tags, "LocalModelServerError"),
  "GET /v1/api/tags": reading("localModelServer.tagsV1", "The same under /v1", "For clients whose host ends in /v1.", tags, "LocalModelServerError"),
  "GET /api/version": reading("localModelServer.version", "Version, for local-model-server clients", "The version of the interface.", { version: "0.12.6" }, "LocalModelServerError"),
  "GET /v1/api/version": reading("localModelServer.versionV1", "The same under /v1", "For clients whose host ends in /v1.", { version: "0.12.6" }, "LocalModelServerError"),
  "POST /api/show": show,
  "POST /v1/api/show": { ...show, id: "localModelServer.showV1", summary: "The same under /v1", description: "For clients whose host ends in /v1." },
  "GET /api/v1/editor/:token/": reading("editor.root", "Models with the key in the path", keyInPath, modelList, "ChatError", false, [token]),
  "GET /api/v1/editor/:token/models": reading("editor.models", "Models with the key in the path, by name", keyInPath, modelList, "ChatError", false, [token]),
  "GET /api/v1/editor/:token/api/tags": reading("editor.tags", "Local-model-server models with the key in the path", keyInPath, tags, "LocalModelServerError", false, [token]),
  "GET /api/v1/editor/:token/api/version": reading("editor.version", "Version with the key in the path", keyInPath, { version: "0.12.6" }, "LocalModelServerError", false, [token]),
  "POST /api/v1/editor/:token/api/show": { ...show, id: "editor.show", summary: "One model with the key in the path", description: keyInPath, parameters: [token] },
  "GET /metrics": {
    id: "telemetry.metrics",
    summary: "Prometheus metrics",
    description: "For scrapers on the gateway's own machine; GATEWAY_METRICS_ACCESS=all opens it.",
    responses: {
      200: { description: "Text exposition format.", content: { "text/plain": { schema: text, example: "gateway_requests_total 1\n" } } },
      403: { description: "The call came from another machine.", content: { "application/json": { schema: ref("ChatError") } } }
    }
  }
}

/** Where the route table leaves model and method open, the description names both. */
export const pathOf = (path: string): string => path.replace(/(\/models\/):path$/, "$1{model}:{method}").replaceAll(/(?<=\/):(\w+)/g, "{$1}")

/** Null where an inference route is not described yet; a test refuses that. */
export const operationOf = (method: string, path: string): JsonObject | null => {
  const found = operations[`${method} ${path}`]
  if (found === undefined) return null
  const { body, description, id, parameters, responses: answers, summary } = found
  return {
    tags: [path === "/metrics" || path === "/api/live" ? "Telemetry" : "Inference"],
    operationId: id,
    summary,
    description,
    ...(parameters === undefined ? {} : { parameters }),
    security: path === "/metrics" ? [] : [{ apiKey: [] }, {}],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: answers
  }
}

export const tagsOfInference: ReadonlyArray<JsonObject> = [
  { name: "Inference", description: "What clients call: any wire format reaches any provider. A key is needed while REQUIRE_API_KEY is on." },
  { name: "Telemetry", description: "Figures for scrapers, and events for dashboards." }
]

export const componentSchemas = (): JsonObject => ({
  ...Parts.components(requestSchemas, open),
  ...errorSchemas
})
