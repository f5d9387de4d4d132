import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"

const Node = Schema.Struct({
  id: Schema.String,
  /** The node that answers. */
  self: Schema.Boolean,
  /** `silent`: no heartbeat for some seconds, which is longer than a living node is ever silent. */
  status: Schema.Literals(["alive", "silent"]),
  host: Schema.String,
  address: Schema.String,
  pid: Schema.Int,
  /** Its number among the processes of GATEWAY_WORKERS; 0 = the only one. */
  worker: Schema.Int,
  release: Schema.String,
  startedAt: Schema.String,
  lastSeenAt: Schema.String,
  silentMs: Schema.Int,
  /** The version of the records that it acts on, and since when. */
  version: Schema.Int,
  versionAt: Schema.String
})

/** The gateway's processes that share one database, and whether each acts on the latest configuration. */
export const NodesGroup = HttpApiGroup.make("nodes").add(
  HttpApiEndpoint.get("list", "/api/nodes", {
    success: Schema.Struct({
      /** The version of the records: it grows with each change. */
      version: Schema.Int,
      /** Every living node has acknowledged it. */
      converged: Schema.Boolean,
      nodes: Schema.Array(Node)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Gateway processes on this database, and the configuration version each has acknowledged")
).annotateMerge(OpenApi.annotations({ title: "Nodes", description: "The processes of a gateway that share one database." }))
