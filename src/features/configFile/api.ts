import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, mints, reads } from "#schemas/api/Access.ts"
import { RecordKind } from "#schemas/FileOwned.ts"
import { Report } from "./ports/ConfigFile.ts"

/** The records of this gateway as a file that declares them. */
export const Exported = Schema.Struct({
  /** YAML; where a secret belongs it names a variable. */
  yaml: Schema.String,
  /** The variables that must be set where the file is applied. */
  variables: Schema.Array(Schema.Struct({ name: Schema.String, path: Schema.String })),
  /** What no file can declare, and why. */
  leftOut: Schema.Array(Schema.Struct({ kind: RecordKind, name: Schema.String, why: Schema.String }))
})
export interface Exported extends Schema.Schema.Type<typeof Exported> {}

const path = "/api/config-file"

/** The configuration file: what it did, and a file of what stands. */
export const ConfigFileGroup = HttpApiGroup.make("configFile").add(
  HttpApiEndpoint.get("report", path, { success: Schema.Struct({ file: Schema.NullOr(Schema.String), last: Schema.NullOr(Report) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The configuration file of this node, and what its newest reading did"),
  HttpApiEndpoint.get("export", `${path}/export`, { success: Exported })
    .annotate(Access, mints).annotate(OpenApi.Summary, "Flags, nodes, connections, combos, keys and webhooks as a configuration file, without secrets")
).annotateMerge(OpenApi.annotations({
  title: "Configuration file",
  description: "Records that are declared in gateway.yaml (GATEWAY_CONFIG): applied at the start and at SIGHUP, and read-only through the API."
}))
