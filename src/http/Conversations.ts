/**
 * POST /v1/chat/completions: the direct lane. A synchronous prelude (key, parse, plan) and then one request actor.
 *
 * The body is parsed once to be understood and forwarded as the bytes that came: only `model` (and, for a stream,
 * `stream_options`) are spliced, so everything else arrives upstream untouched.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Fiber from "effect/Fiber"
import { RequestActor, type Inbound, type Services } from "#actors/Request.ts"
import type { Target } from "#actors/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as Wire from "#schemas/wire/chatCompletions.ts"
import * as GatewayHeaders from "#src/http/GatewayHeaders.ts"
import type { RequestTags } from "#src/http/GatewayHeaders.ts"
import * as InferenceCall from "#src/http/InferenceCall.ts"
import type { Planner } from "#src/routing/plan.ts"
import type { DirectRoute, Exchange } from "#src/server/Exchange.ts"
import * as KeyPolicy from "#src/stages/keyPolicy.ts"
import * as Chat from "#src/wire/chatCompletions.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"
import * as Json from "#src/wire/json.ts"
import * as Splice from "#src/wire/splice.ts"

export interface ChatServices {
  readonly admission: InferenceCall.AdmissionServices
  readonly request: Services
  readonly planner: () => Planner
  /** Largest body in bytes. */
  readonly maxBodyBytes: () => number
  /** Forks a request's fiber under the front end's scope. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly live: { readonly add: (request: RequestActor) => void }
  /** True once a shutdown began: new work is refused. */
  readonly draining: () => boolean
  readonly refused: (endpoint: string, tags: RequestTags, error: PublicError) => void
}

const endpoint = "/v1/chat/completions"
const { face } = Chat
const decode = Schema.decodeUnknownResult(Wire.Request)
/** Prompts up to this many bytes are kept for the tokenizer; longer ones are counted by their length. */
const keptPromptBytes = 64 * 1024

export const route = (services: ChatServices): DirectRoute => (exchange) => {
  const tags = InferenceCall.tagsOf(exchange, services.admission)
  const refuse = (error: PublicError): void => {
    services.refused(endpoint, tags, error)
    if (!exchange.closed) exchange.respond(error.status, GatewayHeaders.ofError(tags, error, 0), face.errorBody(error))
  }
  // Registered before anything can wait: the front end requires it, and an abort before the plan costs nothing upstream.
  let request: RequestActor | null = null
  exchange.onAbort((reason) => {
    if (reason === "shutdown") request?.shutDown()
    else request?.clientLeft(reason === "slow-reader")
  })
  if (services.draining()) {
    refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
    return
  }
  InferenceCall.admit(exchange, "chat", services.admission, (key) => {
    if (key instanceof PublicError) {
      refuse(key)
      return
    }
    const encoding = exchange.header("content-encoding")
    if (encoding !== undefined && encoding !== "identity") {
      refuse(Errors.make("unsupported_media_type", `Content-Encoding '${encoding.slice(0, 40)}' is not accepted: send the body uncompressed.`))
      return
    }
    exchange.readBody(services.maxBodyBytes(), (body, failure) => {
      if (body === null) {
        if (failure !== "aborted") refuse(bodyError(failure, services.maxBodyBytes()))
        return
      }
      const inbound = read(services, exchange, tags, key, body)
      if (inbound instanceof PublicError) {
        refuse(inbound)
        return
      }
      request = new RequestActor(services.request, inbound)
      services.live.add(request)
      request.attach(services.fork(request.run))
    })
  })
}

const bodyError = (failure: "too-large" | "timeout" | "aborted" | null, limit: number): PublicError =>
  failure === "too-large"
    ? Errors.make("payload_too_large", `The request body is larger than ${limit} bytes (setting maxBodySizeMb, MAX_BODY_SIZE_BYTES).`)
    : Errors.make("request_timeout", "The request body did not arrive in time.")

/** Parses, validates and plans; everything that can be refused is refused here, before anything is spent. */
const read = (
  services: ChatServices,
  exchange: Exchange,
  tags: RequestTags,
  key: ApiKey | null,
  bytes: Uint8Array
): Inbound | PublicError => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let value: unknown
  try {
    value = JSON.parse(body.toString("utf8"))
  } catch (cause) {
    return Errors.make("invalid_json", `The request body is not valid JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : ""}`, { extra: { param: "body" } })
  }
  if (!Json.isRecord(value)) return Errors.make("bad_request", "The request body must be a JSON object.", { extra: { param: "body" } })
  const parsed = value
  const decoded = decode(parsed)
  if (Result.isFailure(decoded)) return invalidField(parsed)
  const chat = decoded.success
  const plan = services.planner().plan(chat.model, key)
  if (plan instanceof PublicError) return plan
  if (key !== null) {
    const refusal = KeyPolicy.admitModel(key, chat.model, (plan[0] as Target).publicModel)
    if (refusal !== null) return refusal
  }
  const stream = chat.stream ?? false
  const forwarded = ForwardHeaders.toUpstream(exchange.headers)
  const prompt = new Prompt(body, parsed)
  const wantsUsage = chat.stream_options?.include_usage === true
  return {
    requestId: tags.requestId,
    client: exchange,
    face,
    endpoint,
    requestedModel: chat.model,
    stream,
    forwardUsage: wantsUsage,
    key,
    sessionTag: tags.sessionId,
    targets: plan,
    bodyFor: (target) => rewrite(prompt.body, prompt.parsed, target, stream),
    headersFor: (target) => forwarded.length === 0 ? target.headers : [...target.headers, ...forwarded],
    promptText: () => prompt.text(),
    release: () => prompt.release(),
    responseHeaders: (facts) => facts.settled === null ? GatewayHeaders.ofStream(tags, facts) : GatewayHeaders.ofAnswer(tags, facts),
    errorHeaders: (error, attempts) => GatewayHeaders.ofError(tags, error, attempts)
  }
}

/** The body for one target: its model id, and usage asked for in every stream so that the ledger has it (decisions 10). */
const rewrite = (body: Buffer, parsed: Record<string, unknown>, target: Target, stream: boolean): Uint8Array => {
  const edits: Array<Splice.Edit> = []
  if (parsed["model"] !== target.model) edits.push({ key: "model", value: JSON.stringify(target.model) })
  if (stream && target.streamOptions) {
    const given = parsed["stream_options"]
    if (!Json.isRecord(given)) edits.push({ key: "stream_options", value: '{"include_usage":true}' })
    else if (given["include_usage"] !== true) {
      edits.push({ key: "stream_options", value: JSON.stringify({ ...given, include_usage: true }) })
    }
  }
  if (edits.length === 0) return body
  return Splice.edit(body, parsed, edits) ??
    Buffer.from(JSON.stringify({ ...parsed, ...Object.fromEntries(edits.map((e) => [e.key, JSON.parse(e.value) as unknown])) }))
}

/** Names the first field that is wrong, in the client's words. */
const invalidField = (parsed: Record<string, unknown>): PublicError => {
  const bad = (param: string, message: string) => Errors.make("bad_request", message, { extra: { param } })
  const { messages, model } = parsed
  if (typeof model !== "string" || model === "") return bad("model", "Field 'model' must be a non-empty string such as 'openai/gpt-4o-mini'.")
  if (!Array.isArray(messages) || messages.length === 0) return bad("messages", "Field 'messages' must be a non-empty array.")
  const index = messages.findIndex((message) => !Json.isRecord(message) || typeof message["role"] !== "string")
  if (index !== -1) return bad(`messages[${index}]`, `Field 'messages[${index}]' must be an object with a string 'role'.`)
  const { stream } = parsed
  if (stream !== undefined && stream !== null && typeof stream !== "boolean") return bad("stream", "Field 'stream' must be a boolean.")
  return bad("stream_options", "Field 'stream_options' must be an object such as {\"include_usage\": true}.")
}

/** The request's body while it may still be sent; afterwards only what the tokenizer may ask for. */
class Prompt {
  body: Buffer
  parsed: Record<string, unknown>
  private readonly length: number
  constructor(body: Buffer, parsed: Record<string, unknown>) {
    this.body = body
    this.parsed = parsed
    this.length = body.length
  }

  release(): void {
    this.parsed = released
    if (this.length > keptPromptBytes) this.body = noBytes
  }

  /** Text of messages and tools, asked for only if an upstream gives no usage; a long prompt is represented by its length. */
  text(): string {
    if (this.length > keptPromptBytes) return " word".repeat(Math.ceil(this.length / 5))
    const parsed = this.parsed === released ? Json.parseRecord(this.body.toString("utf8")) ?? released : this.parsed
    return textOf(parsed["messages"]) + textOf(parsed["tools"])
  }
}

const released: Record<string, unknown> = {}
const noBytes = Buffer.alloc(0)

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value.startsWith("data:") ? "" : `${value}\n`
  if (Array.isArray(value)) return value.map(textOf).join("")
  return Json.isRecord(value) ? Object.values(value).map(textOf).join("") : ""
}
