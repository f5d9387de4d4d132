/** A planned request as the request actor is given it. A class, because thirteen closures cost each request a kilobyte. */
import * as Crypto from "node:crypto"
import type * as Effect from "effect/Effect"
import { changedView, type Client, type Inbound, type ResponseFacts, type RouteNotes, type RouteView } from "#actors/request/Inbound.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import type { Dialect, Face } from "#actors/request/ports/Face.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { Target, TargetGuard } from "#actors/request/ports/Target.ts"
import { headerOf, type Timeouts } from "#actors/request/ports/Upstream.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Units } from "#schemas/records/Units.ts"
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
  return changedView(view, {
    succeeded: (index) => {
      session.connectionId = route.targets[index]?.connection?.id ?? session.connectionId
      view.succeeded(index)
    }
  })
}

/** No answer of a call is waited for longer than `ms`; 0 in the settings means for ever. */
const shorter = (timeouts: Timeouts, ms: number): Timeouts => {
  const least = (usual: number) => usual === 0 ? ms : Math.min(usual, ms)
  return { ...timeouts, headers: least(timeouts.headers), firstEvent: least(timeouts.firstEvent) }
}

const noHeaders: ReadonlyArray<string> = []

/** A name of its own for the request to one of several models: an upstream may refuse one Idempotency-Key for two bodies. */
const scoped = (forwarded: ReadonlyArray<string>, model: string): ReadonlyArray<string> => {
  const key = ForwardHeaders.repeatKeyOf(forwarded)
  return key === null ? forwarded : ForwardHeaders.withRepeatKey(forwarded, Crypto.hash("sha256", `${key}\n${model}`, "hex"))
}

/** Bytes that mean nothing to the gateway cannot be held until they mean something, or continued. */
const noRecovery: Inbound["recovery"] = { holds: false, continues: false, stopsAtEmpty: false, sibling: false }

/** The upstream's own type for a stream of opaque bytes. */
const opaqueType = ({ upstreamHeaders }: ResponseFacts): string =>
  ForwardHeaders.safeValue(headerOf(upstreamHeaders, "content-type") ?? "") || "application/octet-stream"

/** The target's headers with the type of a body that is no JSON. */
const typed = (headers: ReadonlyArray<string>, contentType: string | null): ReadonlyArray<string> =>
  contentType === null ? headers : headers.map((value, i) => i % 2 === 1 && headers[i - 1] === "content-type" ? contentType : value)

/** What its kind of request says of it. */
type Kind = Pick<Operation<RequestHead>, "answerMs" | "face" | "terminal">

export class PlannedRequest implements Inbound {
  readonly client: Client
  readonly face: Face
  readonly endpoint: string
  readonly requestedModel: string
  readonly stream: boolean
  readonly forwardUsage: boolean
  readonly progress: boolean
  readonly cache: "miss" | "off"
  readonly recovery: Inbound["recovery"]
  readonly key: ApiKey | null
  readonly refusalOf: TargetGuard
  readonly route: RouteView
  readonly interceptors: ReadonlyArray<Interceptor>
  readonly timeouts: Timeouts | undefined
  readonly units: Units | null
  private readonly services: LaneServices
  private readonly planned: Planned
  private readonly words: Encoding
  private readonly tags: GatewayHeaders.RequestTags
  private readonly query: string
  /** Headers of the client that the targets get. */
  private readonly forwarded: ReadonlyArray<string>
  private readonly explains: boolean

  /** `words`: what is said to the targets. */
  constructor(services: LaneServices, { answerMs, face, terminal }: Kind, clientRequest: ClientRequest, call: AdmittedCall, planned: Planned, words: Encoding) {
    const { head, key, tags } = call
    const { route } = planned
    const requestedModel = call.requestedModel ?? head.model
    const view = RouteReport.viewOf(services.report, route, tags.requestId, requestedModel, key, face.name, terminal)
    this.client = call.client
    this.face = face
    this.endpoint = call.endpoint
    this.requestedModel = requestedModel
    this.stream = head.stream
    this.forwardUsage = head.wantsUsage
    this.progress = head.stream && face.opaque !== true && face.streamType === "text/event-stream" && clientRequest.header("x-gateway-progress")?.toLowerCase() === "true"
    this.cache = call.cache ?? "off"
    this.recovery = face.opaque === true ? noRecovery : services.recovery()
    this.key = key
    this.refusalOf = services.router().guardOf(key, head.model, route)
    this.route = words.tokenless === true ? view : ofSession(services, call, route, view)
    this.interceptors = call.interceptors
    this.timeouts = answerMs === undefined ? undefined : shorter(services.request.limits.timeouts, answerMs)
    this.units = call.units
    this.services = services
    this.planned = planned
    this.words = words
    this.tags = tags
    this.query = clientRequest.query
    this.forwarded = ForwardHeaders.toUpstream(clientRequest.headers)
    this.explains = clientRequest.header("x-gateway-explain")?.toLowerCase() === "true"
  }

  get requestId(): string {
    return this.tags.requestId
  }

  get sessionTag(): string | null {
    return this.tags.sessionTag
  }

  get targets(): ReadonlyArray<Target> {
    return this.planned.route.targets
  }

  get tokenless(): boolean {
    return this.words.tokenless === true
  }

  prepare(target: Target, text: string | null): Effect.Effect<void> | null {
    const { planned: { prompt }, services, words } = this
    return prompt.large !== null || words.prepares === true ? words.prepare(services.bodies, target, text, services.media) : null
  }

  bodyFor(target: Target): Body | PublicError {
    return this.words.bodyFor(target)
  }

  continuationFor(target: Target, text: string): Uint8Array | PublicError {
    return this.words.continuationFor(target, text)
  }

  omittedFor(target: Target): ReadonlyArray<string> {
    return this.words.omittedFor(target)
  }

  dialectFor(target: Target): Dialect {
    return this.words.dialectFor(target, this.services)
  }

  headersFor(target: Target, continues: boolean): ReadonlyArray<string> {
    const { words } = this
    const extra = words.extraHeaders?.() ?? noHeaders
    const typical = typed(target.headers, words.contentTypeFor?.() ?? null)
    const own = extra.length === 0 ? typical : [...typical, ...extra]
    const merged = this.mergedHeaders(own, target, continues)
    const beta = words.betaFor?.(target) ?? null
    return beta === null ? merged : ForwardHeaders.withBeta(merged, beta)
  }

  private mergedHeaders(own: ReadonlyArray<string>, target: Target, continues: boolean): ReadonlyArray<string> {
    const { forwarded } = this
    if (forwarded.length === 0) return own
    // The rest of a broken answer is asked for with another body.
    const named = continues ? ForwardHeaders.withoutRepeatKey(forwarded) : this.asksSeveral ? scoped(forwarded, target.publicModel) : forwarded
    return ForwardHeaders.merge(own, named, this.face.name, target.wireFormat)
  }

  /** Several models may be asked, each with a body of its own. */
  private get asksSeveral(): boolean {
    const { targets } = this
    for (let i = 1; i < targets.length; i++) if (targets[i]?.publicModel !== targets[0]?.publicModel) return true
    return false
  }

  askedBy(): string | null {
    return this.words.askedBy?.() ?? null
  }

  queryFor(target: Target): string {
    return this.query === "" ? "" : ForwardHeaders.queryToUpstream(this.query, target.path, this.face.name, target.wireFormat)
  }

  namesAccount(target: Target): boolean {
    return this.forwarded.length > 0 && ForwardHeaders.namesAccount(target.headers, this.forwarded, this.face.name, target.wireFormat)
  }

  promptText(): string {
    return this.planned.prompt.text()
  }

  tokensCompressed(): number | null {
    const { shortening } = this.planned.prompt
    return shortening === null ? null : shortening.savedTokens
  }

  release(): void {
    this.planned.prompt.release()
    this.words.release()
  }

  responseHeaders(facts: ResponseFacts, notes: RouteNotes): ReadonlyArray<string> {
    const { face, progress, services: { request: { accounting } }, tags } = this
    const said = facts.settled !== null ? GatewayHeaders.ofAnswer(tags, facts)
      : face.opaque === true ? GatewayHeaders.ofBytes(tags, facts, opaqueType(facts), this.units, () => accounting.estimate(this.promptText()))
      : GatewayHeaders.ofStream(tags, facts, face.streamType, progress)
    const { planned: { prompt: { shortening } } } = this
    const told = shortening === null ? said : GatewayHeaders.withCompression(said, shortening.header)
    const effort = this.words.effortFor(facts.target)
    return this.explained(effort === null ? told : GatewayHeaders.withEffort(told, effort), notes)
  }

  errorHeaders(error: PublicError, fallbackAttempts: number, notes: RouteNotes): ReadonlyArray<string> {
    return this.explained(GatewayHeaders.ofError(this.tags, error, fallbackAttempts), notes)
  }

  /** With the way that the request took, where the client asked for it. */
  private explained(headers: ReadonlyArray<string>, notes: RouteNotes): ReadonlyArray<string> {
    return this.explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOf(this.planned.route, notes)] : headers
  }
}
