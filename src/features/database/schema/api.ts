import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs, reads } from "#schemas/api/Access.ts"
import { kinds } from "./compare.ts"

/** A part of the schema that is not as this release makes it. */
const Drift = Schema.Struct({
  kind: Schema.Literals(kinds),
  table: Schema.String,
  name: Schema.String,
  problem: Schema.Literals(["missing", "changed", "invalid"]),
  /** False for what would touch rows. */
  repairable: Schema.Boolean
}).annotate({ identifier: "SchemaDrift" })

const checked = {
  status: Schema.Literals(["healthy", "drifted"]),
  /** Parts of the schema that were looked at. */
  parts: Schema.Int,
  drift: Schema.Array(Drift)
}

const path = "/api/db/health"

/** The database's schema against that of this release. */
export const SchemaGroup = HttpApiGroup.make("databaseSchema").add(
  HttpApiEndpoint.get("check", path, { success: Schema.Struct(checked) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Compare tables, columns, constraints, indexes and triggers with this release's"),
  HttpApiEndpoint.post("repair", path, {
    success: Schema.Struct({
      ...checked,
      repaired: Schema.Array(Drift),
      /** What the database refused, and why. */
      failed: Schema.Array(Schema.Struct({ name: Schema.String, message: Schema.String }))
    })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Make what is missing, and indexes and triggers that differ; no row is touched")
).annotateMerge(OpenApi.annotations({ title: "Database schema", description: "The database's schema against that of this release." }))
