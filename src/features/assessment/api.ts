import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { text } from "#schemas/api/fields.ts"
import { Assessment, ModelStanding } from "./Assessment.ts"

const opt = Schema.optionalKey

export const Scope = Schema.Union([
  Schema.Struct({ type: Schema.Literal("all") }),
  /** By id, alias or prefix. */
  Schema.Struct({ type: Schema.Literal("provider"), providerId: text(1, 200) }),
  Schema.Struct({ type: Schema.Literal("model"), modelId: text(1, 300) })
])
export type Scope = typeof Scope.Type

export const NewAssessment = Schema.Struct({
  scope: Scope,
  /** For the audit log. */
  trigger: opt(text(1, 60))
})
export interface NewAssessment extends Schema.Schema.Type<typeof NewAssessment> {}

const Finished = Schema.Struct({
  run_id: Schema.String,
  status: Schema.Literal("completed"),
  models_tested: Schema.Int,
  models_passed: Schema.Int,
  models_failed: Schema.Int,
  models_rate_limited: Schema.Int,
  duration_ms: Schema.Int
})
export interface Finished extends Schema.Schema.Type<typeof Finished> {}

/** `healthy` = all of its models work; `degraded` = some do; `down` = none does, and none is unknown; `unknown` = no more is known. */
export const ComboStanding = Schema.Literals(["healthy", "degraded", "down", "unknown"])
export type ComboStanding = typeof ComboStanding.Type

const ComboHealth = Schema.Struct({
  comboId: Schema.String,
  comboName: Schema.String,
  status: ComboStanding,
  working: Schema.Int,
  total: Schema.Int,
  models: Schema.Array(Schema.Struct({ modelId: Schema.String, status: ModelStanding }))
})
export interface ComboHealth extends Schema.Schema.Type<typeof ComboHealth> {}

const Help = Schema.Struct({ actions: Schema.Record(Schema.String, Schema.String), scopes: Schema.Array(Schema.String) })

const path = "/api/assess"

/** Assessment: every model of a scope is asked one short question, and its answers over time say whether it works. */
export const AssessmentGroup = HttpApiGroup.make("assessment").add(
  HttpApiEndpoint.get("read", path, {
    query: {
      action: opt(Schema.Literals(["results", "working", "combo-health"])),
      /** These three with `action=results`. */
      status: opt(ModelStanding),
      provider: opt(text(1, 200)),
      category: opt(text(1, 60))
    },
    success: Schema.Union([
      Schema.Struct({ models: Schema.Array(Assessment) }),
      Schema.Struct({ combos: Schema.Array(ComboHealth) }),
      Help
    ])
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What is known of models and combos; without an action: what can be asked"),
  HttpApiEndpoint.post("run", path, { payload: NewAssessment, success: Finished })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Ask each model of the scope one question of 3 tokens at most; ends when the caller leaves")
).annotateMerge(OpenApi.annotations({ title: "Assessment", description: "Which models work: each is asked a short question." }))
