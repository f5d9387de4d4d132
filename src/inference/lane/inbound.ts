/** A planned request as the request actor is given it. */
import type { Inbound, ResponseFacts, RouteView } from "#actors/request/Inbound.ts"
import { headerOf, type Timeouts } from "#actors/request/ports/Upstream.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { AdmittedCall } from "#src/inference/lane/stages/Stages.ts"
import type { Route } from "#src/routing/Router.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"
import * as GatewayHeaders from "./gatewayHeaders.ts"
import type { ClientRequest, Encoding, Operation, Planned } from "./Operation.ts"
import * as RouteReport from "./RouteReport.ts"

/**
 * The view, which records for the request's session which target answered. A tagged session is read from the ledger instead. A
 * call without a model is no part of one.
 */
const ofSession = (services: LaneServices, { key, tags }: AdmittedCall, route: Route, view: RouteView): RouteView => {
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

/** What most requests answer: shared, so that none makes its own. */
const asksByPost = (): null => null
const noQuery = (): string => ""
const namesNone = (): boolean => false

/** No answer of a call is waited for longer than `ms`; 0 in the settings means for ever. */
const shorter = (timeouts: Timeouts, ms: number): Timeouts => {
  const least = (usual: number) => usual === 0 ? ms : Math.min(usual, ms)
  return { ...timeouts, headers: least(timeouts.headers), firstEvent: least(timeouts.firstEvent) }
}

const noHeaders: ReadonlyArray<string> = []

/** Bytes that mean nothing to the gateway cannot be held until they mean something, or continued. */
const noRecovery: Inbound["recovery"] = { holds: false, continues: false, stopsAtEmpty: false, sibling: false }

/** The upstream's own type for a stream of opaque bytes. */
const opaqueType = ({ upstreamHeaders }: ResponseFacts): string =>
  ForwardHeaders.safeValue(headerOf(upstreamHeaders, "content-type") ?? "") || "application/octet-stream"

/** The target's headers with the type of a body that is no JSON. */
const typed = (headers: ReadonlyArray<string>, contentType: string | null): ReadonlyArray<string> =>
  contentType === null ? headers : headers.map((value, i) => i % 2 === 1 && headers[i - 1] === "content-type" ? contentType : value)

/** `words`: what is said to the targets. */
export const inboundOf = (services: LaneServices, { answerMs, face, terminal }: Pick<Operation<RequestHead>, "answerMs" | "face" | "terminal">, clientRequest: ClientRequest, call: AdmittedCall, { prompt, route }: Planned, words: Encoding): Inbound => {
  const { head, key, tags } = call
  const format = face.name
  const forwarded = ForwardHeaders.toUpstream(clientRequest.headers)
  const progress = head.stream && face.opaque !== true && face.streamType === "text/event-stream" && clientRequest.header("x-gateway-progress") === "true"
  const explains = clientRequest.header("x-gateway-explain") === "true"
  const reported = RouteReport.viewOf(services.report, route, tags.requestId, head.model, key, format)
  const view: RouteView = terminal === undefined ? reported : { ...reported, terminal: (error, attempts, skipped) => terminal(reported.terminal(error, attempts, skipped), route) }
  // One literal without spreads and nothing added later: V8 grows such objects step by step, and they outlive their request.
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
    recovery: face.opaque === true ? noRecovery : services.recovery(),
    key,
    sessionTag: tags.sessionTag,
    targets: route.targets,
    refusalOf: services.router().guardOf(key, head.model, route),
    route: words.tokenless === true ? view : ofSession(services, call, route, view),
    interceptors: call.interceptors,
    bodyFor: (target) => words.bodyFor(target),
    continuationFor: (target, text) => words.continuationFor(target, text),
    omittedFor: (target) => words.omittedFor(target),
    dialectFor: (target) => words.dialectFor(target, services),
    headersFor: (target) => {
      const extra = words.extraHeaders?.() ?? noHeaders
      const typical = typed(target.headers, words.contentTypeFor?.() ?? null)
      const own = extra.length === 0 ? typical : [...typical, ...extra]
      return forwarded.length === 0 ? own : ForwardHeaders.merge(own, forwarded, format, target.wireFormat)
    },
    askedBy: words.askedBy === undefined ? asksByPost : () => words.askedBy?.() ?? null,
    queryFor: clientRequest.query === "" ? noQuery : (target) => ForwardHeaders.queryToUpstream(clientRequest.query, target.path, format, target.wireFormat),
    namesAccount: forwarded.length === 0 ? namesNone : (target) => ForwardHeaders.namesAccount(target.headers, forwarded, format, target.wireFormat),
    prepare: prompt.large !== null || words.prepares === true ? (target, text) => words.prepare(services.bodies, target, text, services.media) : undefined,
    timeouts: answerMs === undefined ? undefined : shorter(services.request.limits.timeouts, answerMs),
    tokenless: words.tokenless === true,
    units: call.units,
    promptText: () => prompt.text(),
    release: () => {
      prompt.release()
      words.release()
    },
    responseHeaders: (facts, notes) => {
      const said = facts.settled !== null ? GatewayHeaders.ofAnswer(tags, facts)
        : face.opaque === true ? GatewayHeaders.ofBytes(tags, facts, opaqueType(facts), call.units, () => services.request.accounting.estimate(prompt.text()))
        : GatewayHeaders.ofStream(tags, facts, face.streamType, progress)
      const effort = words.effortFor(facts.target)
      const headers = effort === null ? said : GatewayHeaders.withEffort(said, effort)
      return explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOf(route, notes)] : headers
    },
    errorHeaders: (error, attempts, notes) => {
      const headers = GatewayHeaders.ofError(tags, error, attempts)
      return explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOf(route, notes)] : headers
    }
  }
}
