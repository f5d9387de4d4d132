import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs, reads } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { integer, listOf, text } from "#schemas/api/fields.ts"
import * as AddressFilter from "#schemas/AddressFilter.ts"

const opt = Schema.optionalKey
const list = listOf(AddressFilter.Entry, AddressFilter.LIST_MAX)

export const AddressFilterView = Schema.Struct({
  enabled: Schema.Boolean,
  /** `blacklist`: its addresses are refused; `whitelist`: all but its addresses are. */
  mode: AddressFilter.Mode,
  blacklist: Schema.Array(Schema.String),
  whitelist: Schema.Array(Schema.String),
  /** Bans that are not over; they stand above both lists. */
  tempBans: Schema.Array(Schema.Struct({ ip: Schema.String, until: Schema.String, reason: Schema.String, remainingMs: Schema.Int }))
})
export interface AddressFilterView extends Schema.Schema.Type<typeof AddressFilterView> {}

/** An entry is an address, a CIDR range, or a pattern such as `10.1.*`. */
const AddressFilterChange = Schema.Struct({
  enabled: opt(Schema.Boolean),
  mode: opt(AddressFilter.Mode),
  /** Replaces the list. */
  blacklist: opt(list),
  whitelist: opt(list),
  addBlacklist: opt(AddressFilter.Entry),
  removeBlacklist: opt(AddressFilter.Entry),
  addWhitelist: opt(AddressFilter.Entry),
  removeWhitelist: opt(AddressFilter.Entry),
  tempBan: opt(Schema.Struct({
    ip: AddressFilter.Entry,
    /** From now; an hour when absent. */
    durationMs: opt(integer(1, AddressFilter.BAN_MS_MAX)),
    reason: opt(text(0, AddressFilter.REASON_MAX))
  })),
  removeBan: opt(AddressFilter.Entry)
})
export interface AddressFilterChange extends Schema.Schema.Type<typeof AddressFilterChange> {}

const path = "/api/settings/ip-filter"

/** Addresses that are refused, or the only ones that are served. */
export const AddressesGroup = HttpApiGroup.make("addresses").add(
  HttpApiEndpoint.get("get", path, { success: AddressFilterView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The lists of addresses, and the bans that are not over"),
  HttpApiEndpoint.put("put", path, { payload: AddressFilterChange, success: AddressFilterView })
    .annotate(SentBack, sentBack({ moves: ["tempBans"] })).annotate(Access, governs).annotate(OpenApi.Summary, "Change what is given; a change that would refuse its own caller is not made")
).annotateMerge(OpenApi.annotations({ title: "Addresses", description: "By which addresses the gateway may be used." }))
