import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, signedIn } from "#schemas/api/Access.ts"
import { Owner } from "#schemas/FileOwned.ts"
import { text } from "#schemas/api/fields.ts"

const Source = Schema.Literals(["db", "env", "default"])

export const FlagView = Schema.Struct({
  key: Schema.String,
  label: Schema.String,
  description: Schema.String,
  category: Schema.String,
  type: Schema.Literals(["boolean", "enum"]),
  enumValues: Schema.NullOr(Schema.Array(Schema.String)),
  defaultValue: Schema.String,
  effectiveValue: Schema.String,
  source: Source,
  requiresRestart: Schema.Boolean,
  warningLevel: Schema.NullOr(Schema.String),
  /** False: nothing reads it in this release, and an override is refused. */
  acts: Schema.Boolean,
  owner: Owner
})
export interface FlagView extends Schema.Schema.Type<typeof FlagView> {}

const path = "/api/settings/feature-flags"

/** Runtime feature flags. */
export const FeatureFlagsGroup = HttpApiGroup.make("featureFlags").add(
  HttpApiEndpoint.get("list", path, {
    success: Schema.Struct({
      flags: Schema.Array(FlagView),
      summary: Schema.Struct({
        total: Schema.Int,
        active: Schema.Int,
        inactive: Schema.Int,
        overriddenByDb: Schema.Int,
        overriddenByEnv: Schema.Int
      })
    })
  }).annotate(Access, signedIn).annotate(OpenApi.Summary, "All flags with their effective values"),
  HttpApiEndpoint.put("set", path, {
    /** Without `value` the override is removed. */
    payload: Schema.Struct({ key: text(1, 200), value: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))) }),
    success: Schema.Struct({
      key: Schema.String,
      effectiveValue: Schema.String,
      source: Source,
      previousValue: Schema.String,
      previousSource: Source,
      requiresRestart: Schema.Boolean
    })
  }).annotate(Access, signedIn).annotate(OpenApi.Summary, "Set or remove one override"),
  HttpApiEndpoint.delete("clear", path, { success: Schema.Struct({ cleared: Schema.Int, message: Schema.String }) })
    .annotate(Access, signedIn).annotate(OpenApi.Summary, "Remove every override")
).annotateMerge(OpenApi.annotations({
  title: "Feature flags",
  description: "Database override, else environment variable of the same name, else default."
}))
