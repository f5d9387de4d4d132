/**
 * The conversation endpoints: the direct lane. A synchronous prelude (key, parse, plan) and then one request actor.
 *
 * The body is parsed once to be understood. Towards a provider that speaks the client's own format it is forwarded as the bytes
 * that came, only what must change (`model`, a stream's wish for usage) is spliced; towards another family it is decoded into
 * the neutral conversation once and encoded for each family that is tried.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Inbound, type Recovery, RequestActor, type Services } from "#actors/Request.ts"
import type { Dialect, Face } from "#actors/ports/Face.ts"
import type { Target } from "#actors/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation } from "#schemas/wire/conversation.ts"
import * as GatewayHeaders from "#src/http/GatewayHeaders.ts"
import * as Intake from "#src/http/Intake.ts"
import * as RouteReport from "#src/http/RouteReport.ts"
import type { Route, Router } from "#src/routing/Router.ts"
import * as SystemMessage from "#src/routing/combos/systemMessage.ts"
import * as ToolFilter from "#src/routing/combos/toolFilter.ts"
import type { DirectRoute, Exchange } from "#src/server/Exchange.ts"
import * as BodyRules from "#src/providers/bodyRules.ts"
import * as Continuation from "#src/wire/neutral/continuation.ts"
import * as Formats from "#src/wire/formats.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"
import * as Json from "#src/wire/json.ts"
import * as Splice from "#src/wire/splice.ts"
import * as Thinking from "#src/wire/thinking.ts"
import type { ClientCodec, RequestHead, TargetTraits, UpstreamCodec } from "#src/wire/WireFormat.ts"
import { writeRequest } from "#src/wire/writeRequest.ts"

export interface ConversationServices extends Intake.IntakeServices {
  readonly request: Services
  readonly router: () => Router
  readonly report: RouteReport.Report
  /** What `previous_response_id` does on a target that cannot resolve it (settings.responsesPreviousResponseIdMode). */
  readonly previousResponseId: () => TargetTraits["previousResponseId"]
  /** Comment lines are allowed as heartbeats (GATEWAY_SSE_COMMENTS). */
  readonly sseComments: boolean
  readonly recovery: () => Recovery
  /** Makes the unique part of response ids. */
  readonly makeResponseId: () => string
  /** Forks a request's fiber under the front end's scope. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly live: { readonly add: (request: RequestActor) => void }
}

/** One endpoint that takes conversations. */
export interface Entry {
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  readonly codec: ClientCodec
  /** Members that the path says (`model`, `stream`), or why the path is wrong. `aliasOf`: a provider's canonical id. */
  readonly fromPath?: (
    path: string,
    body: Readonly<Record<string, unknown>>,
    aliasOf: (prefix: string) => string | null
  ) => Readonly<Record<string, unknown>> | PublicError
  /** The key that stands in the path. */
  readonly token?: (path: string) => string | null
}

/** What a key's `allowedEndpoints` calls every conversation endpoint, whatever its format. */
const category = "chat"

/** Prompts up to this many bytes are kept for the tokenizer; longer ones are counted by their length. */
const keptPromptBytes = 64 * 1024

export const route = (services: ConversationServices, entry: Entry): DirectRoute => {
  const { codec, endpoint } = entry
  const face = Formats.faceOf(codec, services.sseComments)
  const gate: Intake.Gate = { endpoint, category, errorBody: codec.errorBody, token: entry.token }
  return (exchange) => {
    // Registered before anything can wait: the front end requires it, and an abort before the plan costs nothing upstream.
    let request: RequestActor | null = null
    exchange.onAbort((reason) => {
      if (reason === "shutdown") request?.shutDown()
      else request?.clientLeft(reason === "slow-reader")
    })
    Intake.take(exchange, services, gate, (taken) => {
      const inbound = read(services, entry, face, exchange, taken)
      if (inbound instanceof PublicError) {
        taken.refuse(inbound)
        return
      }
      request = new RequestActor(services.request, inbound)
      services.live.add(request)
      request.attach(services.fork(request.run))
    })
  }
}

/** Reads the path and the head and plans; everything that can be refused is refused here, before anything is spent. */
const read = (services: ConversationServices, entry: Entry, face: Face, exchange: Exchange, taken: Intake.Taken): Inbound | PublicError => {
  const { codec } = entry
  const { body, key, tags } = taken
  let { parsed } = taken
  if (entry.fromPath !== undefined) {
    const said = entry.fromPath(exchange.path, parsed, services.router().planner.aliasOf)
    if (said instanceof PublicError) return said
    parsed = { ...parsed, ...said }
  }
  const head = codec.head(parsed)
  if (head instanceof PublicError) return head
  const prompt = new Prompt(body, parsed)
  const route = services.router().route({
    model: head.model,
    key,
    face: codec.name,
    session: exchange.header("x-session-id") ?? exchange.header("x_session_id") ?? null,
    headers: {
      mode: exchange.header("x-gateway-mode"),
      budget: exchange.header("x-gateway-budget"),
      budgetFallback: exchange.header("x-gateway-budget-fallback")
    },
    // Over the prompt, which is released at the commit point: a route lives as long as its stream.
    about: () => aboutOf(prompt.body, prompt.parsed),
    now: services.request.now()
  })
  if (route instanceof PublicError) return route
  const forwarded = ForwardHeaders.toUpstream(exchange.headers)
  const progress = head.stream && codec.streamType === "text/event-stream" && exchange.header("x-gateway-progress") === "true"
  const speech = new Speech(services, codec, head, prompt, route)
  const explains = exchange.header("x-gateway-explain") === "true"
  return {
    requestId: tags.requestId,
    client: exchange,
    face,
    endpoint: entry.endpoint,
    requestedModel: head.model,
    stream: head.stream,
    forwardUsage: head.wantsUsage,
    progress,
    recovery: services.recovery(),
    key,
    sessionTag: tags.sessionId,
    targets: route.targets,
    route: RouteReport.viewOf(services.report, route, tags.requestId, head.model),
    bodyFor: (target) => ruled(target, speech.bodyFor(target)),
    continuationFor: (target, text) => ruled(target, speech.continuationFor(target, text)),
    omittedFor: (target) => speech.omittedFor(target),
    dialectFor: (target) => speech.dialectFor(target),
    headersFor: (target) => forwarded.length === 0 ? target.headers : ForwardHeaders.merge(target.headers, forwarded, codec.name, target.wireFormat),
    promptText: () => prompt.text(),
    release: () => prompt.release(),
    responseHeaders: (facts) => {
      const headers = facts.settled === null ? GatewayHeaders.ofStream(tags, facts, codec.streamType, progress) : GatewayHeaders.ofAnswer(tags, facts)
      return explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOf(route)] : headers
    },
    errorHeaders: (error, attempts) => GatewayHeaders.ofError(tags, error, attempts)
  }
}

/** What the target's provider needs beyond its format; nearly every target needs nothing. */
const ruled = (target: Target, body: Uint8Array | PublicError): Uint8Array | PublicError =>
  target.bodyRules === null || target.bodyRules === undefined || body instanceof PublicError ? body : BodyRules.apply(target.bodyRules, body)

const nothing: ReadonlyArray<string> = []

/** Characters of the prompt's beginning that say which cache may hold it. */
const prefixBytes = 2_048

/** What a combo's strategy may ask of a request; estimates, because nothing was decoded yet. */
const aboutOf = (body: Buffer, parsed: Readonly<Record<string, unknown>>) => ({
  promptTokens: Math.ceil(body.length / 4),
  promptPrefix: body.toString("latin1", 0, prefixBytes),
  needs: {
    tools: Array.isArray(parsed["tools"]) && parsed["tools"].length > 0,
    vision: body.includes('"image') || body.includes('"inlineData"') || body.includes('"input_image"'),
    structuredOutput: parsed["response_format"] !== undefined || parsed["text"] !== undefined || parsed["format"] !== undefined
  }
})

/** One request in the words of each family that is tried. */
class Speech {
  private readonly services: ConversationServices
  private readonly codec: ClientCodec
  private readonly head: RequestHead
  private readonly prompt: Prompt
  private readonly route: Route
  private conversation: Conversation | PublicError | null = null
  private omitted: ReadonlyArray<string> = nothing

  constructor(services: ConversationServices, codec: ClientCodec, head: RequestHead, prompt: Prompt, route: Route) {
    this.route = route
    this.services = services
    this.codec = codec
    this.head = head
    this.prompt = prompt
  }

  bodyFor(target: Target): Uint8Array | PublicError {
    this.omitted = nothing
    const family = Formats.family(target.wireFormat)
    const traits = this.traitsOf(target)
    if (Formats.isSame(this.codec.name, family.name)) {
      if (target.thinking !== null || this.rewrites) return this.varied(target, family, traits)
      const edits = family.passThroughEdits(this.prompt.parsed, traits)
      return edits.length === 0 ? this.prompt.body : splice(this.prompt, edits)
    }
    const conversation = this.decoded()
    return conversation instanceof PublicError ? conversation : this.encode(conversation, target, family, traits)
  }

  /** Asks to go on with an answer that broke off: what was said, and the wish for the rest. */
  continuationFor(target: Target, text: string): Uint8Array | PublicError {
    const conversation = this.decoded()
    return conversation instanceof PublicError
      ? conversation
      : this.encode(Continuation.of(conversation, text), target, Formats.family(target.wireFormat), this.traitsOf(target))
  }

  /** The combo changes what every target is sent. */
  private get rewrites(): boolean {
    const { combo } = this.route
    return combo !== null && (combo.system_message !== null || combo.tool_filter_regex !== null)
  }

  private decoded(): Conversation | PublicError {
    return this.conversation ??= this.rewritten(this.codec.decodeRequest(this.prompt.parsed))
  }

  private rewritten(conversation: Conversation | PublicError): Conversation | PublicError {
    const { combo } = this.route
    if (combo === null || conversation instanceof PublicError) return conversation
    const filtered = combo.tool_filter_regex === null ? conversation : ToolFilter.ofConversation(conversation, ToolFilter.keepsOf(combo.tool_filter_regex))
    return combo.system_message === null ? filtered : SystemMessage.ofConversation(filtered, combo.system_message)
  }

  private encode(conversation: Conversation, target: Target, family: UpstreamCodec, traits: TargetTraits): Uint8Array | PublicError {
    const { thinking } = target
    const written = writeRequest(thinking === null ? conversation : Thinking.ofConversation(conversation, thinking), this.prompt, family, traits)
    if (written instanceof PublicError) return written
    this.omitted = written.omitted
    return written.body
  }

  /** A body in its own format whose thinking the model id decides: rare, so it is written anew. */
  private varied(target: Target, family: UpstreamCodec, traits: TargetTraits): Uint8Array {
    const own = Json.parseRecord(this.prompt.body.toString("utf8")) ?? {}
    const thought = target.thinking === null ? own : Thinking.ofBody(own, target.wireFormat, target.thinking)
    const { combo } = this.route
    const filtered = combo === null || combo.tool_filter_regex === null ? thought : ToolFilter.ofBody(this.codec.name, thought, ToolFilter.keepsOf(combo.tool_filter_regex))
    const body = combo === null || combo.system_message === null ? filtered : SystemMessage.ofBody(this.codec.name, filtered, combo.system_message)
    const edits = family.passThroughEdits({ ...body, model: this.prompt.parsed["model"] }, traits)
    return Buffer.from(JSON.stringify({ ...body, ...Object.fromEntries(edits.map((e) => [e.key, JSON.parse(e.value) as unknown])) }))
  }

  omittedFor(_target: Target): ReadonlyArray<string> {
    return this.omitted
  }

  dialectFor(target: Target): Dialect {
    return Formats.dialectOf(this.codec, Formats.family(target.wireFormat), {
      model: target.publicModel,
      request: this.prompt.parsed,
      makeId: this.services.makeResponseId,
      now: () => Math.floor(this.services.request.now() / 1000)
    })
  }

  private traitsOf(target: Target): TargetTraits {
    return {
      model: target.model,
      stream: this.head.stream,
      maxOutputTokens: target.maxOutputTokens,
      reasoning: target.reasoning,
      streamOptions: target.streamOptions,
      previousResponseId: this.services.previousResponseId()
    }
  }
}

const splice = ({ body, parsed }: Prompt, edits: ReadonlyArray<Splice.Edit>): Uint8Array =>
  Splice.edit(body, parsed, edits) ??
    Buffer.from(JSON.stringify({ ...parsed, ...Object.fromEntries(edits.map((e) => [e.key, JSON.parse(e.value) as unknown])) }))

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
