import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const path = "/api/cache/reasoning"

const KeptReasoning = Schema.Struct({
  stats: Schema.Struct({
    /** Calls whose thoughts are kept. */
    entries: Schema.Int,
    /** Of all thoughts together. */
    characters: Schema.Int,
    /** Calls that came back without their thoughts and got them again, since this node started. */
    hits: Schema.Int,
    /** Those whose thoughts were not known. */
    misses: Schema.Int,
    /** Calls by provider. */
    byProvider: Schema.Record(Schema.String, Schema.Int)
  }),
  entries: Schema.Array(Schema.Struct({
    tool_call_id: Schema.String,
    provider: Schema.String,
    model: Schema.String,
    /** Length of the thoughts. */
    char_count: Schema.Int,
    expires_at: Schema.String
  }))
}).annotate({ identifier: "KeptReasoning" })

/** Thoughts of tool calls, kept for providers that want them back. */
export const ReasoningGroup = HttpApiGroup.make("reasoning").add(
  HttpApiEndpoint.get("kept", path, {
    query: { limit: opt(queryInteger(1, 200)), offset: opt(queryInteger(0, 1_000_000)), provider: opt(text(1, 120)), model: opt(text(1, 240)) },
    success: KeptReasoning
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Tool calls whose thoughts this node keeps, the newest first (default: 50)")
    .annotate(OpenApi.Description, "The thoughts themselves are not shown."),
  HttpApiEndpoint.delete("forget", path, {
    query: { toolCallId: opt(text(1, 1_000)), provider: opt(text(1, 120)) },
    success: Schema.Struct({ ok: Schema.Literal(true), cleared: Schema.Int, scope: Schema.Literals(["toolCallId", "provider", "all"]) })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Forget the thoughts of one call, of a provider's calls, or all")
    .annotate(OpenApi.Description, "All nodes forget them; `cleared` counts the calls of this one.")
).annotateMerge(OpenApi.annotations({ title: "Reasoning", description: "What models thought before they called tools, for providers that want it back." }))
