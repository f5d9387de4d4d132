/**
 * The conversation endpoints, as an operation of the lane.
 *
 * The body is parsed once to be understood. Towards a provider of the client's own format the original bytes are forwarded and
 * only what must change (`model`, a stream's usage option) is spliced; towards another family it is decoded into the neutral
 * conversation once and encoded for each family that is tried.
 */
import * as Inbound from "#actors/request/Inbound.ts"
import { RequestActor } from "#actors/request/Request.ts"
import type { Savings } from "#src/compression/compress.ts"
import { type Plan, withoutRaw } from "#src/compression/plan.ts"
import * as Effective from "#src/compression/effective.ts"
import * as Ensembles from "#src/inference/conversations/ensembles/Ensembles.ts"
import * as Handoffs from "#src/inference/conversations/ensembles/Handoffs.ts"
import { answerCapOf } from "#src/inference/lane/bodies/answerCap.ts"
import type { Prompt, Shortening } from "#src/inference/lane/bodies/Prompt.ts"
import { PlannedRequest } from "#src/inference/lane/PlannedRequest.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import type { ClientRequest, Operation, Planned, Served } from "#src/inference/lane/Operation.ts"
import type * as Stages from "#src/inference/lane/stages/Stages.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import * as Demands from "#src/routing/capabilities/demands.ts"
import type { About } from "#src/routing/RequestMoment.ts"
import * as Formats from "#src/wire/formats.ts"
import type { ClientCodec, RequestHead } from "#src/wire/WireFormat.ts"
import * as ContextWindow from "./contextWindow.ts"
import type { ConversationServices } from "./ConversationServices.ts"
import { ConversationEncoding } from "./ConversationEncoding.ts"
import { FallbackCompression } from "./words/FallbackCompression.ts"
import { PromptCompression } from "./words/PromptCompression.ts"
import * as SystemPrompt from "./words/systemPrompt.ts"
import * as ToolLoop from "./toolLoop/ToolLoop.ts"

export type { ConversationServices } from "./ConversationServices.ts"

/** One endpoint that takes conversations. */
export interface ConversationEndpoint extends Pick<Operation<RequestHead>, "endpoint" | "fromPath" | "modelInPath" | "token"> {
  /** The request is to compact a conversation. */
  readonly compacts?: boolean
  readonly codec: ClientCodec
}

/** What a key's `allowedEndpoints` calls every conversation endpoint, whatever its format. */
const category = "chat"

/** What the lane must know of one conversation endpoint. */
export const operation = (given: ConversationServices, { codec, compacts, endpoint, fromPath, modelInPath, token }: ConversationEndpoint): Operation<RequestHead, Stages.ConversationCall> => {
  const face = Formats.faceOf(codec, given.sseComments)
  const expand = compacts === true ? given.compact : codec.name === "responses" ? given.expand : undefined
  return {
    endpoint, category, codec, face, errorBody: codec.errorBody, format: codec.name, modelInPath, token, fromPath, fenced: true,
    expand,
    withMessages: codec.withMessages,
    head: codec.head,
    about: aboutOf,
    length: (clientRequest, call, prompt) => new ContextWindow.ConversationLength(given, clientRequest, call, prompt),
    encode: (call, { prompt, route: to }, clientRequest) => new ConversationEncoding(remembering(given, call), call.codec, call.head, prompt, to, null, clientRequest.header("x-gateway-effort")),
    asksSeveral: Ensembles.isFor,
    serve: (clientRequest, call, planned, waited) => {
      const services = remembering(given, call)
      const { prompt, route: to } = planned
      const rules = services.compression()
      if (rules !== null) prompt.shortening = shorteningOf(rules, services, clientRequest, call, planned)
      const tools = ToolLoop.wanted(services, clientRequest, planned)
      if (tools !== null) return ToolLoop.begin(services, face, clientRequest, call, planned, tools, waited === undefined ? null : waited.since)
      if (Ensembles.isFor(to)) return Ensembles.begin(services, face, clientRequest, call, to, prompt, waited === undefined ? null : waited.since)
      if (to.combo === null) return null
      const encoding = new ConversationEncoding(services, call.codec, call.head, prompt, to, null, clientRequest.header("x-gateway-effort"))
      const inbound = new PlannedRequest(services, { face }, clientRequest, call, planned, encoding)
      return ofCombo(services, call, planned, encoding, waited === undefined ? inbound : Inbound.changed(inbound, { since: waited.since }), Lane.sessionOf(clientRequest))
    }
  }
}

/** One conversation endpoint, served by the lane. */
export const route = (services: ConversationServices, entry: ConversationEndpoint): DirectRoute => Lane.route(services, operation(services, entry))

/** What serves one call: its models are told what is remembered for its key. */
const remembering = (services: ConversationServices, { memory }: Stages.AdmittedCall): ConversationServices =>
  memory === undefined ? services : { ...services, systemPrompt: () => SystemPrompt.withMemory(services.systemPrompt(), memory) }

/** How the prompt is made shorter, as its client, its combo and its length say. */
const shorteningOf = (
  rules: Effective.Rules, { savings }: ConversationServices, clientRequest: ClientRequest, { codec, key }: Stages.ConversationCall, { prompt, route: { combo, config } }: Planned
): Shortening => {
  const asked = Effective.askedBy(clientRequest, key, prompt.bytes, combo?.id ?? null, config?.compressionMode ?? null)
  const decision = unkept(Effective.of(rules, asked), key)
  const fallback = Effective.ofFallback(rules, asked, decision, config)
  const further = fallback === null ? null : unkept(fallback, key)
  const onSaved = (saved: Savings, { mode }: Plan): void => savings.note(mode, combo?.id ?? null, saved)
  return further === null ? new PromptCompression(decision, codec.name, onSaved) : new FallbackCompression(decision, further, codec.name, onSaved)
}

/** Of a key with noLog, no whole output is kept. */
const unkept = (decision: Effective.Decision, key: Stages.ConversationCall["key"]): Effective.Decision =>
  decision.plan === null || !decision.plan.keepsRaw || key?.policy.noLog !== true ? decision : { ...decision, plan: withoutRaw(decision.plan) }

/** A combo's request with what else goes with it: copies for its shadows, a hand-off of its session. */
const ofCombo = (
  services: ConversationServices, call: Stages.ConversationCall, { prompt, route: to }: Planned, encoding: ConversationEncoding, planned: Inbound.Inbound, sessionId: string | null
): Served => {
  const shadow = services.shadows.interceptorOf(services, call, to, planned)
  const session = services.handoffs.sessionOf(to, call, sessionId)
  const beside = [...(shadow === null ? [] : [shadow]), ...(session === null ? [] : [services.handoffs.recorder(session)])]
  const inbound = beside.length === 0 ? planned : Inbound.changed(planned, { interceptors: [...planned.interceptors, ...beside] })
  return session !== null && Handoffs.mayBeDue(session, prompt)
    ? Handoffs.serve(services, call, session, encoding, prompt, inbound)
    : new RequestActor(services.request, inbound)
}

/** Characters of the prompt's beginning that say which cache may hold it. */
const prefixBytes = 2_048

/** What a combo's strategy may ask of a request; estimates, because nothing was decoded yet. */
const aboutOf = ({ body, large, parsed }: Prompt): About => ({
  promptTokens: Math.ceil(body.length / 4),
  answerTokens: answerCapOf(parsed),
  promptPrefix: body.toString("latin1", 0, prefixBytes),
  needs: {
    tools: Array.isArray(parsed["tools"]) && parsed["tools"].length > 0,
    vision: (large?.media ?? Demands.mediaOf(parsed)).vision,
    structuredOutput: parsed["response_format"] !== undefined || parsed["text"] !== undefined || parsed["format"] !== undefined
  }
})
