import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"

/** An ACTIVE lease as an operator sees it; times are ISO 8601 by the lease store's own clock. */
const LeaseRow = Schema.Struct({
  connectionId: Schema.String,
  /** Null: the connection has no name of its own, or is gone. */
  connection: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  keyId: Schema.String,
  /** Null: the key is gone. */
  keyName: Schema.NullOr(Schema.String),
  /** First characters of the owner's SHA-256: they tell one owner from another, and nothing of its value. */
  owner: Schema.String,
  generation: Schema.Int,
  acquiredAt: Schema.String,
  renewedAt: Schema.String,
  expiresAt: Schema.String
}).annotate({ identifier: "ActiveLease" })

export const LeasesGroup = HttpApiGroup.make("leases").add(
  HttpApiEndpoint.get("list", "/api/leases", { success: Schema.Struct({ count: Schema.Int, leases: Schema.Array(LeaseRow) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Session leases that are ACTIVE on any node, the first to expire first"),
  HttpApiEndpoint.post("release", "/api/leases/:connectionId/release", {
    params: { connectionId: Schema.String },
    payload: Schema.Struct({ generation: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)) }),
    success: Schema.Struct({ success: Schema.Literal(true), connectionId: Schema.String, generation: Schema.Int })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "End exactly this lease: its owner's next call is refused with LEASE_FENCE_STALE, and another may hold the connection")
).annotateMerge(OpenApi.annotations({ title: "Leases", description: "Exclusive holds on connections, for operators." }))
