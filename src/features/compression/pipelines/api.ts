import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { listOf, Success, text } from "#schemas/api/fields.ts"
import { Pipeline, pipelineFields as fields } from "#schemas/words/CompressionPipeline.ts"

const opt = Schema.optionalKey

const changeable = {
  description: opt(fields.description), languagePacks: opt(fields.languagePacks), outputMode: opt(fields.outputMode), outputModeIntensity: opt(fields.outputModeIntensity),
  isDefault: opt(fields.isDefault)
}
export const NewPipeline = Schema.Struct({ name: fields.name, pipeline: fields.pipeline, ...changeable })
export interface NewPipeline extends Schema.Schema.Type<typeof NewPipeline> {}

export const PipelineChange = Schema.Struct({ name: opt(fields.name), pipeline: opt(fields.pipeline), ...changeable })
export interface PipelineChange extends Schema.Schema.Type<typeof PipelineChange> {}

const View = Schema.Struct({
  ...Pipeline.fields,
  /** It is always there. */
  isBuiltIn: Schema.Boolean
}).annotate({ identifier: "CompressionPipeline" })

const Assignments = Schema.Struct({ assignments: Schema.Array(Schema.Struct({ compressionComboId: Schema.String, routingComboId: Schema.String, routingComboName: Schema.String })) })

const path = "/api/context/combos"
const params = { id: Schema.String }

/** Stored pipelines of compression. */
export const PipelinesGroup = HttpApiGroup.make("compressionCombos").add(
  HttpApiEndpoint.get("list", path, { success: Schema.Struct({ combos: Schema.Array(View) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Stored pipelines of compression, the built-in one first"),
  HttpApiEndpoint.post("create", path, { payload: NewPipeline, success: View.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Store a pipeline of compression"),
  HttpApiEndpoint.get("get", `${path}/:id`, { params, success: View })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One stored pipeline of compression"),
  HttpApiEndpoint.put("update", `${path}/:id`, { params, payload: PipelineChange, success: View })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields; engines of the built-in one are the setting stackedPipeline"),
  HttpApiEndpoint.delete("remove", `${path}/:id`, { params, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a pipeline that is not built in and not the active one"),
  HttpApiEndpoint.get("assignments", `${path}/:id/assignments`, { params, success: Assignments })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Combos whose requests have the pipeline"),
  HttpApiEndpoint.put("assign", `${path}/:id/assignments`, { params, payload: Schema.Struct({ routingComboIds: listOf(text(1, 200), 1_000) }), success: Assignments })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Replace them; other pipelines lose these combos")
).annotateMerge(OpenApi.annotations({ title: "Pipelines of compression", description: "Named lists of engines that make prompts shorter." }))
