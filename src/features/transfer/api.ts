import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs } from "#schemas/api/Access.ts"
import { Document } from "#schemas/api/fields.ts"

const Imported = Schema.Struct({
  success: Schema.Literal(true),
  /** True: nothing was written. */
  dryRun: Schema.Boolean,
  summary: Schema.Struct({ created: Schema.Int, changed: Schema.Int, unchanged: Schema.Int, leftOut: Schema.Int }),
  entries: Schema.Array(Schema.Struct({
    /** Of the document: nodes, combos ... */
    section: Schema.String,
    name: Schema.String,
    action: Schema.Literals(["created", "changed", "unchanged", "left_out"]),
    /** Why it is left out, or what is still to do. */
    note: Schema.optionalKey(Schema.String)
  }))
})
export interface Imported extends Schema.Schema.Type<typeof Imported> {}

/** The configuration as one JSON document. */
export const TransferGroup = HttpApiGroup.make("transfer").add(
  HttpApiEndpoint.get("export", "/api/settings/export-json", { success: Document })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Settings, flags, nodes, connections, models, aliases, combos, mappings and prices, without credentials"),
  HttpApiEndpoint.post("import", "/api/settings/import-json", {
    query: { dryRun: Schema.optionalKey(Schema.Literals(["0", "1", "true", "false"])) }, payload: Document, success: Imported
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Take over such a document, whole or not at all; with dryRun nothing is written")
).annotateMerge(OpenApi.annotations({ title: "Transfer of the configuration", description: "The configuration as one JSON document." }))
