/**
 * What differs between kinds of inference requests. One value per endpoint; everything that it does not name is the lane's, written once
 * in `Lane.ts`: admission, stages, plan, waits, request actor, ledger rows, headers and errors.
 */
import type * as Effect from "effect/Effect"
import type { Ensemble } from "#actors/ensemble/Ensemble.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import type { Dialect, Face } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { RequestActor } from "#actors/request/Request.ts"
import type { Services } from "#actors/request/services.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { AdmittedCall, Stage } from "#src/inference/lane/stages/Stages.ts"
import type { MediaFetch } from "#src/platform/media/MediaFetch.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import type { About } from "#src/routing/RequestMoment.ts"
import type { RequestLength } from "#src/routing/contextWindow.ts"
import type { Route } from "#src/routing/Router.ts"
import type { Sent } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import type { Gate } from "./Intake.ts"
import type { Waited } from "./stages/Waits.ts"

/** Headers and query of the client's request. */
export type ClientRequest = Pick<Exchange, "header" | "headers" | "query">

/** Where a request goes, and what it says. */
export interface Planned {
  readonly route: Route
  readonly prompt: Prompt
}

/** What serves a request. */
export type Served = RequestActor | Ensemble

/** One request in the words of each target that is tried, and how each target's answer is read. */
export interface Encoding {
  /** Makes the body of a large request in a thread of its own; null when `bodyFor` and `continuationFor` make it themselves. */
  readonly prepare: (workers: BodyWorkers, target: Target, continues: string | null, media: MediaFetch["Service"]) => Effect.Effect<void> | null
  /** `prepare` is asked for small requests, too. */
  readonly prepares?: boolean
  readonly bodyFor: (target: Target) => Body | PublicError
  /** Asks to continue a broken-off answer. */
  readonly continuationFor: (target: Target, text: string) => Uint8Array | PublicError
  /** Fields of the client's request that `bodyFor` left out. */
  readonly omittedFor: (target: Target) => ReadonlyArray<string>
  /** Reads the target's answer for the client: its bytes, its usage, its errors. */
  readonly dialectFor: (target: Target, services: Pick<LaneServices, "bodies" | "makeResponseId" | "request">) => Dialect
  /** The parameters of a target that is asked by GET and without a body; absent or null: it is asked by POST. Asked for after its body. */
  readonly askedBy?: () => string | null
  /** Headers of the body that `bodyFor` made last, beside the target's. */
  readonly extraHeaders?: () => ReadonlyArray<string>
  /** A beta of the messages format that the target's body needs; absent or null: none. */
  readonly betaFor?: (target: Target) => string | null
  /** Media type of the body that `bodyFor` made last; absent or null: JSON. */
  readonly contentTypeFor?: () => string | null
  /** The call uses no model, such as a provider's token count: its row has no tokens and no units, and none are estimated. */
  readonly tokenless?: boolean
  /** The reasoning effort that was chosen for the target, for the decision header; null = none. */
  readonly effortFor: (target: Target) => string | null
  /** The request will not be sent again. */
  readonly release: () => void
}

export interface Operation<Head extends RequestHead, C extends AdmittedCall = AdmittedCall> extends Gate {
  readonly codec: C["codec"]
  /** How the client's errors and streams are written. */
  readonly face: Face
  /** Members that the path says (`model`, `stream`), or why the path is wrong. `aliasOf`: a provider's canonical id. */
  readonly fromPath?: ((
    path: string,
    body: Readonly<Record<string, unknown>>,
    aliasOf: (prefix: string) => string | null
  ) => Readonly<Record<string, unknown>> | PublicError) | undefined
  /** Reads what is planned by, and refuses what no target could read. */
  readonly head: (body: Readonly<Record<string, unknown>>) => Head | PublicError
  /**
   * What the answer will use beside tokens, as far as the request says: budgets reserve for it, and it is what is paid unless the answer
   * (`AnswerFacts.units`, `StreamTap.units`) says otherwise. Absent or null: nothing.
   */
  readonly units?: (head: Head, body: Readonly<Record<string, unknown>>, sent: Sent) => Units | null
  /** What a combo's strategy may ask of the request. */
  readonly about: (prompt: Prompt) => About
  /** How long the request is for the windows of its targets; absent = nothing is known of it. */
  readonly length?: (clientRequest: Pick<ClientRequest, "header">, call: C, prompt: Prompt) => RequestLength
  /** Longest wait for the head of an answer, ms; the settings may say less. Absent: the settings alone. */
  readonly answerMs?: number | undefined
  /** The client's error of a request that failed, or that was not planned (no route); absent: as it is. */
  readonly terminal?: (error: PublicError, route: Route | null) => PublicError
  /** Nothing is to be remembered of where the request went. */
  readonly dry?: boolean
  /** Which of the targets are asked, and at which path, where that is not what the planner says. */
  readonly place?: (route: Route, body: Readonly<Record<string, unknown>>) => Route | PublicError
  /** What a request of this kind passes before it is planned; absent = all stages. */
  readonly stages?: (all: ReadonlyArray<Stage>) => ReadonlyArray<Stage>
  /** What its actors work with, where that is not what all others do. */
  readonly services?: (services: Services) => Services
  readonly encode: (call: C, planned: Planned, clientRequest: ClientRequest, now: () => number) => Encoding
  /** True for a route that asks several targets with the same request: it holds what it makes of the body for each. */
  readonly asksSeveral?: (route: Route) => boolean
  /** Serves the request in its own way; null = by one request actor. */
  readonly serve?: (clientRequest: ClientRequest, call: C, planned: Planned, waited: Waited | undefined) => Served | PublicError | null
}
