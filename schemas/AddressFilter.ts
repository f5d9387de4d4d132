/** The stored list of addresses that are refused, or the only ones served; setting `ipFilter`. */
import * as Schema from "effect/Schema"
import { integer, text } from "#schemas/api/fields.ts"

export const Mode = Schema.Literals(["blacklist", "whitelist"])
export type Mode = typeof Mode.Type

/** Entries of one list. */
export const LIST_MAX = 1_000
/** Bans at once. */
export const BANS_MAX = 1_000
/** A ban that gives no time, ms. */
export const BAN_MS = 3_600_000
/** The longest ban, ms: what is meant to last longer is an entry of the blacklist. */
export const BAN_MS_MAX = 31_536_000_000
/** Characters of a reason. */
export const REASON_MAX = 200

/** An address, a CIDR range or a pattern with `*`. */
export const Entry = text(1, 64)

export const Ban = Schema.Struct({
  ip: Entry,
  /** ms since the epoch. */
  until: integer(0, Number.MAX_SAFE_INTEGER),
  reason: text(0, REASON_MAX)
})
export interface Ban extends Schema.Schema.Type<typeof Ban> {}

export const AddressFilter = Schema.Struct({
  enabled: Schema.Boolean,
  mode: Mode,
  blacklist: Schema.Array(Entry),
  whitelist: Schema.Array(Entry),
  tempBans: Schema.Array(Ban)
})
export interface AddressFilter extends Schema.Schema.Type<typeof AddressFilter> {}

/** Where it stands among the settings. */
export const settingKey = "ipFilter"

export const none: AddressFilter = { enabled: false, mode: "blacklist", blacklist: [], whitelist: [], tempBans: [] }
