/** A planned conversation as the request actor is given it. */
import type { Inbound } from "#actors/Inbound.ts"
import type { Face } from "#actors/ports/Face.ts"
import type { Target } from "#actors/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Prompt } from "#src/http/conversations/Prompt.ts"
import { Speech } from "#src/http/conversations/Speech.ts"
import type { ConversationServices } from "#src/http/conversations/services.ts"
import * as GatewayHeaders from "#src/http/GatewayHeaders.ts"
import * as RouteReport from "#src/http/RouteReport.ts"
import type { Call } from "#src/http/stages.ts"
import * as BodyRules from "#src/providers/bodyRules.ts"
import type { Route } from "#src/routing/Router.ts"
import type { Exchange } from "#src/server/Exchange.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"

/** Headers of the client's request. */
export type Asking = Pick<Exchange, "header" | "headers">

/** `speech`: what is said to the targets; by default the client's own words. */
export const inboundOf = (
  services: ConversationServices, face: Face, asking: Asking, call: Call, route: Route, prompt: Prompt,
  speech = new Speech(services, call.codec, call.head, prompt, route)
): Inbound => {
  const { codec, head, key, tags } = call
  const forwarded = ForwardHeaders.toUpstream(asking.headers)
  const progress = head.stream && codec.streamType === "text/event-stream" && asking.header("x-gateway-progress") === "true"
  const explains = asking.header("x-gateway-explain") === "true"
  return {
    requestId: tags.requestId,
    client: call.client,
    face,
    endpoint: call.endpoint,
    requestedModel: head.model,
    stream: head.stream,
    forwardUsage: head.wantsUsage,
    progress,
    cache: call.cache ?? "off",
    recovery: services.recovery(),
    key,
    sessionTag: tags.sessionTag,
    targets: route.targets,
    route: RouteReport.viewOf(services.report, route, tags.requestId, head.model, key, codec.name),
    companions: call.companions,
    bodyFor: (target) => ruled(target, speech.bodyFor(target)),
    continuationFor: (target, text) => ruled(target, speech.continuationFor(target, text)),
    omittedFor: (target) => speech.omittedFor(target),
    dialectFor: (target) => speech.dialectFor(target),
    headersFor: (target) => forwarded.length === 0 ? target.headers : ForwardHeaders.merge(target.headers, forwarded, codec.name, target.wireFormat),
    promptText: () => prompt.text(),
    release: () => prompt.release(),
    responseHeaders: (facts, told) => {
      const said = facts.settled === null ? GatewayHeaders.ofStream(tags, facts, codec.streamType, progress) : GatewayHeaders.ofAnswer(tags, facts)
      const effort = speech.effortFor(facts.target)
      const headers = effort === null ? said : GatewayHeaders.withEffort(said, effort)
      return explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOf(route, told)] : headers
    },
    errorHeaders: (error, attempts, told) => {
      const headers = GatewayHeaders.ofError(tags, error, attempts)
      return explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOf(route, told)] : headers
    }
  }
}

/** What the target's provider needs beyond its format; nearly every target needs nothing. */
export const ruled = (target: Target, body: Uint8Array | PublicError): Uint8Array | PublicError =>
  target.bodyRules === null || target.bodyRules === undefined || body instanceof PublicError ? body : BodyRules.apply(target.bodyRules, body)
