import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs } from "#schemas/api/Access.ts"
import { Success, text } from "#schemas/api/fields.ts"

const Repaired = Schema.Struct({
  ...Success.fields,
  /** Names of the variables that were put into the file. */
  repaired: Schema.Array(Schema.String),
  /** The file as it was before; null where nothing was repaired, or there was no file. */
  backupPath: Schema.NullOr(Schema.String)
})

export const EnvironmentGroup = HttpApiGroup.make("environment").add(
  HttpApiEndpoint.post("repair", "/api/system/env/repair", { payload: Schema.Struct({ provider: text(1, 200) }), success: Repaired })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Put the master key and a provider's keys back into the .env file where they are missing")
).annotateMerge(OpenApi.annotations({ title: "Environment", description: "The installation's file of variables." }))
