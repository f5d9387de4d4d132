/** What the operations of all requests without a conversation share. */
import * as Effect from "effect/Effect"
import type { Face } from "#actors/request/ports/Face.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { OneShotKind } from "#schemas/wire/formats.ts"
import type { Gate } from "#src/inference/lane/Intake.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import type { Operation } from "#src/inference/lane/Operation.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { AdmittedCall } from "#src/inference/lane/stages/Stages.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import { unknownProvider } from "#src/routing/oneShotPlaces.ts"
import { client as chatCompletions } from "#src/wire/chatCompletions/index.ts"
import * as Formats from "#src/wire/formats.ts"
import type { CodecName } from "#src/wire/oneShot/codecs.ts"
import type { OneShotCodec, Sent } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import { OneShotEncoding } from "./OneShotEncoding.ts"
import type { EndpointName } from "#schemas/records/ApiKey.ts"

/** A call of one kind. */
export interface OneShotCall<Head extends RequestHead> extends AdmittedCall {
  readonly codec: null
  readonly head: Head
}

export type OneShotOperation<Head extends RequestHead> = Operation<Head, OneShotCall<Head>>

export interface Options<Head extends RequestHead, Note> {
  readonly kind: OneShotKind
  readonly codec: OneShotCodec<Head, Note>
  /** The codec's name, where the clients have another face than the kind's own. */
  readonly codecName?: CodecName
  /** How errors are written for such clients; absent: as in chat-completions. */
  readonly errorBody?: (error: PublicError) => string
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: EndpointName
  /** What an answer is expected to use beside tokens. */
  readonly units?: (head: Head, body: Readonly<Record<string, unknown>>, sent: Sent) => Units | null
  /** Longest wait for an answer, ms. */
  readonly answerMs?: number
  /** The body is multipart/form-data. */
  readonly isForm?: boolean
  /** Reads a part of the form while it arrives. */
  readonly meterOf?: Gate["meterOf"]
  /** Bytes that a body may have whatever the setting says. */
  readonly leastBodyLimit?: number
}

const noNeeds = { tools: false, vision: false, structuredOutput: false }

/** Errors are written as in chat-completions. */
const common = Formats.faceOf(chatCompletions, false)

/** `opaque`: bytes that hold no frame of ours, so that nothing is said among them. */
const faceOf = (kind: OneShotKind): Face => ({ ...common, name: kind, opaque: true })

export const make = <Head extends RequestHead, Note>({ answerMs, category, codec, codecName, endpoint, errorBody, isForm, kind, leastBodyLimit, meterOf, units }: Options<Head, Note>): OneShotOperation<Head> => {
  const common = faceOf(kind)
  const face = errorBody === undefined ? common : { ...common, errorBody }
  return {
    endpoint, category, codec: null, face, errorBody: face.errorBody, format: kind, fenced: true, isForm, leastBodyLimit, meterOf,
    head: codec.head, answerMs, ...(units === undefined ? {} : { units }),
    about: ({ bytes }) => ({ promptTokens: Math.ceil(bytes / 4), promptPrefix: "", needs: noNeeds }),
    encode: ({ head }, { prompt, route: { combo } }, _clientRequest, now) =>
      new OneShotEncoding(codecName ?? kind, codec, head, prompt, now(), combo === null || combo.dimensions === null ? null : Number(combo.dimensions))
  }
}

/** An endpoint with the operation that serves it. */
export interface Served {
  readonly endpoint: Endpoint.Endpoint
  readonly routeOf: (services: LaneServices) => DirectRoute
}

/** POST `path` is served by the operation. */
export const serve = <Head extends RequestHead>(path: string, operation: OneShotOperation<Head>): Served => ({
  endpoint: Endpoint.make("POST", path, operation.category),
  routeOf: (services) => Lane.route(services, operation)
})

/** What the assemblies take of a kind: its endpoints with their access, and its routes. */
export const listed = (served: ReadonlyArray<Served>) => ({
  endpoints: served.map(({ endpoint }) => endpoint),
  routes: Effect.map(Inference, (services) => served.map(({ endpoint, routeOf }): Endpoint.Mounted => ({ endpoint, route: routeOf(services) })))
})

/** The same operation at `/v1/providers/{provider}/...`: the provider stands in the path, and a model of another one is refused. */
export const ofProvider = <Head extends RequestHead>(operation: OneShotOperation<Head>, kind: OneShotKind, endpoint: string): OneShotOperation<Head> => ({
  ...operation,
  endpoint,
  fromPath: (path, body, aliasOf): Readonly<Record<string, unknown>> | PublicError => {
    const provider = Paths.segment(path, 3) ?? ""
    return aliasOf(provider) === null ? unknownProvider(kind, provider) : Paths.ofProvider(path, body, aliasOf)
  }
})
