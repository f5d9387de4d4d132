import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { Document, queryInteger, Success, text } from "#schemas/api/fields.ts"
import { Explanation, Format } from "#schemas/api/Explanation.ts"

const opt = Schema.optionalKey
const lastGood = "/api/settings/lkgp-cache"

/** Explains routing decisions. */
export const RoutingGroup = HttpApiGroup.make("routing").add(
  HttpApiEndpoint.post("explain", "/api/routing/explain", {
    payload: Schema.Struct({ model: text(1, 512), keyId: opt(text(1, 200)), format: opt(Format) }),
    success: Explanation
  }).annotate(Access, writes).annotate(OpenApi.Summary, "What would happen to a request now, without sending it"),
  HttpApiEndpoint.get("decisions", "/api/routing/decisions", {
    query: { limit: opt(queryInteger(1, 500)) },
    success: Schema.Struct({ decisions: Schema.Array(Document) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Recent decisions that needed more than one look, newest first"),
  HttpApiEndpoint.get("decision", "/api/routing/decisions/:requestId", {
    params: { requestId: Schema.String },
    success: Schema.Struct({ decision: Document })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Why one request went where it went"),
  HttpApiEndpoint.get("lastGood", lastGood, {
    success: Schema.Struct({
      enabled: Schema.Boolean,
      entries: Schema.Array(Schema.Struct({
        combo: Schema.String, apiKeyId: Schema.NullOr(Schema.String), model: Schema.String, connectionId: Schema.NullOr(Schema.String), since: Schema.String
      }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What answered last on this node, per combo and key, newest first; at most 1,000"),
  HttpApiEndpoint.delete("forgetLastGood", lastGood, { success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Have every node forget what answered last")
).annotateMerge(OpenApi.annotations({ title: "Routing", description: "Targets tried, failed or left out, why, and until when." }))
