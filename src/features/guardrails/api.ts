import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { listOf, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

/** What one guardrail did with the input. */
export const GuardrailResult = Schema.Struct({
  guardrail: Schema.String,
  /** It would refuse the request. */
  blocked: Schema.Boolean,
  modified: Schema.Boolean,
  /** It is off, or named in disabledGuardrails, or it would ask a model. */
  skipped: Schema.Boolean,
  error: opt(Schema.String),
  /** `found`: how often each type was found; `mode`: off, warn, block or redact. */
  meta: opt(Schema.Struct({ mode: Schema.String, found: Schema.Record(Schema.String, Schema.Int) }))
})
export interface GuardrailResult extends Schema.Schema.Type<typeof GuardrailResult> {}

const path = "/api/guardrails"

/** What is read in requests and answers of conversations, and what becomes of it. */
export const GuardrailsGroup = HttpApiGroup.make("guardrails").add(
  HttpApiEndpoint.get("list", path, {
    success: Schema.Struct({ guardrails: Schema.Array(Schema.Struct({ name: Schema.String, enabled: Schema.Boolean, priority: Schema.Int })) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "The guardrails in the order in which they read; enabled = for requests or for answers"),
  HttpApiEndpoint.post("test", `${path}/test`, {
    payload: Schema.Struct({
      /** A text, or JSON of which every text is read. */
      input: Schema.Json,
      disabledGuardrails: opt(listOf(text(1, 100), 50))
    }),
    success: Schema.Struct({
      blocked: Schema.Boolean,
      /** The guardrail that would refuse the request, and what its client would be told. */
      guardrail: Schema.NullOr(Schema.String),
      message: Schema.NullOr(Schema.String),
      results: Schema.Array(GuardrailResult),
      /** The input as it would go upstream. */
      payload: Schema.Json
    })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "What the guardrails of requests would do with an input now; nothing is sent, counted or logged")
).annotateMerge(OpenApi.annotations({ title: "Guardrails", description: "What is read in requests and answers of conversations." }))
