import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs, reads } from "#schemas/api/Access.ts"
import { text } from "#schemas/api/fields.ts"

export const LockedIdentifier = Schema.Struct({
  /** The address of a sign-in, of IPv6 its /64 network; or the id of a key. */
  identifier: Schema.String,
  kind: Schema.Literals(["sign-in", "key"]),
  /** Of a key. */
  name: Schema.NullOr(Schema.String),
  /** ISO 8601; null = until it is unlocked. */
  lockedUntil: Schema.NullOr(Schema.String)
})
export interface LockedIdentifier extends Schema.Schema.Type<typeof LockedIdentifier> {}

const path = "/api/policies"

/** Who is locked out: addresses after too many wrong passwords, and banned keys. */
export const LocksGroup = HttpApiGroup.make("locks").add(
  HttpApiEndpoint.get("list", path, { success: Schema.Struct({ lockedIdentifiers: Schema.Array(LockedIdentifier) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Addresses that may not sign in now, and keys that are banned"),
  HttpApiEndpoint.post("unlock", path, {
    payload: Schema.Struct({ action: Schema.Literals(["unlock"]), identifier: text(1, 200) }),
    success: Schema.Struct({ success: Schema.Literal(true), action: Schema.Literal("unlocked"), identifier: Schema.String })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Let an address sign in again, or end the ban of a key")
).annotateMerge(OpenApi.annotations({ title: "Locks", description: "Addresses and keys that are locked out, and their release." }))
