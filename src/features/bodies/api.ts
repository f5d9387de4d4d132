import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, alwaysProtected } from "#schemas/api/Access.ts"

export const Payload = Schema.Struct({
  /** Without credentials; null for bytes that are no text, and for files. */
  text: Schema.NullOr(Schema.String),
  /** Bytes of the whole body. */
  bytes: Schema.Int,
  /** The text is the beginning of the body, and not all of it. */
  cut: Schema.Boolean
}).annotate({ identifier: "KeptBody" })
export interface Payload extends Schema.Schema.Type<typeof Payload> {}

export const CallBodiesView = Schema.Struct({
  requestId: Schema.String,
  keptAt: Schema.String,
  clientRequest: Payload,
  clientAnswer: Payload,
  attempts: Schema.Array(Schema.Struct({ id: Schema.String, upstreamRequest: Payload, upstreamAnswer: Payload }))
})
export interface CallBodiesView extends Schema.Schema.Type<typeof CallBodiesView> {}

/** What calls said, where the operator keeps it. */
export const BodiesGroup = HttpApiGroup.make("bodies").add(
  HttpApiEndpoint.get("read", "/api/usage/call-logs/:id/bodies", { params: { id: Schema.String }, success: CallBodiesView })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "The bodies of one call, by attempt id or request id; each reading has an audit entry")
    .annotate(OpenApi.Description, "What the client sent and got, and what each attempt sent and was answered, without credentials. "
      + "Kept only while setting `callLogBodies` is on; 404 says which setting or rule left them out.")
).annotateMerge(OpenApi.annotations({ title: "Bodies of calls", description: "Requests and answers of calls, sealed at rest and kept for hours, where the operator asks for it." }))
