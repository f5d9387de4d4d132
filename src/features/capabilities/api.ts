import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"

/** Name of a row of `missingFeatures`; null when the field or flag acts. */
const lacks = Schema.NullOr(Schema.String)

export const Capabilities = Schema.Struct({
  version: Schema.String,
  summary: Schema.Struct({
    fields: Schema.Struct({ acting: Schema.Int, inert: Schema.Int }),
    flags: Schema.Struct({ acting: Schema.Int, inert: Schema.Int })
  }),
  /** Features that stored fields, flags or reserved paths name and this release does not have. */
  missingFeatures: Schema.Array(Schema.Struct({
    name: Schema.String,
    title: Schema.String,
    today: Schema.String,
    paths: Schema.Array(Schema.String)
  })),
  fields: Schema.Array(Schema.Struct({
    record: Schema.String,
    /** Dotted path; `*` stands for any name. */
    field: Schema.String,
    acts: Schema.Boolean,
    lacks,
    /** The only value that is taken while the field does not act. */
    neutral: Schema.optionalKey(Schema.Json)
  })),
  flags: Schema.Array(Schema.Struct({ key: Schema.String, acts: Schema.Boolean, lacks }))
}).annotate({ identifier: "Capabilities" })
export interface Capabilities extends Schema.Schema.Type<typeof Capabilities> {}

/** What this release does with each field, setting and flag that its API knows. */
export const CapabilitiesGroup = HttpApiGroup.make("capabilities").add(
  HttpApiEndpoint.get("read", "/api/system/capabilities", { success: Capabilities })
    .annotate(Access, reads)
    .annotate(OpenApi.Summary, "Which stored fields, settings and feature flags act")
    .annotate(OpenApi.Description, "A field that does not act takes its neutral value only: any other is 400 not_supported_yet. A flag that does not act takes its default only.")
).annotateMerge(OpenApi.annotations({ title: "Capabilities", description: "What acts in this release and what does not." }))
