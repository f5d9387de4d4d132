/** A planned conversation as the request actor is given it. */
import type { Inbound, RouteView } from "#actors/request/Inbound.ts"
import type { Face } from "#actors/request/ports/Face.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import { Speech } from "./Speech.ts"
import type { ConversationServices } from "./services.ts"
import * as GatewayHeaders from "#src/inference/lane/GatewayHeaders.ts"
import * as RouteReport from "#src/inference/lane/RouteReport.ts"
import type { Call } from "#src/inference/lane/stages/Stage.ts"
import type { Route } from "#src/routing/Router.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"

/** The view, which tells the request's session who answered. A tagged session is read from the ledger instead. */
const ofSession = (services: ConversationServices, { key, tags }: Call, route: Route, view: RouteView): RouteView => {
  if (tags.session === null || tags.sessionTag !== null) return view
  const session = services.sessions.note(tags.session, key === null ? null : key.id, tags.requestId, services.request.now())
  return {
    ...view,
    succeeded: (index) => {
      session.connectionId = route.targets[index]?.connection?.id ?? session.connectionId
      view.succeeded(index)
    }
  }
}

/** Headers and query of the client's request. */
export type Asking = Pick<Exchange, "header" | "headers" | "query">

const none: Pick<Inbound, "prepare"> = {}

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
    refusalOf: services.router().guardOf(key, head.model, route),
    route: ofSession(services, call, route, RouteReport.viewOf(services.report, route, tags.requestId, head.model, key, codec.name)),
    companions: call.companions,
    ...(prompt.large === null ? none : { prepare: (target, text) => speech.prepare(services.bodies, target, text) }),
    bodyFor: (target) => speech.bodyFor(target),
    continuationFor: (target, text) => speech.continuationFor(target, text),
    omittedFor: (target) => speech.omittedFor(target),
    dialectFor: (target) => speech.dialectFor(target, services),
    headersFor: (target) => forwarded.length === 0 ? target.headers : ForwardHeaders.merge(target.headers, forwarded, codec.name, target.wireFormat),
    queryFor: (target) => asking.query === "" ? "" : ForwardHeaders.queryToUpstream(asking.query, target.path, codec.name, target.wireFormat),
    namesAccount: (target) => forwarded.length > 0 && ForwardHeaders.namesAccount(target.headers, forwarded, codec.name, target.wireFormat),
    promptText: () => prompt.text(),
    release: () => {
      prompt.release()
      speech.release()
    },
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
