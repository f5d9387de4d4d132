/** Where one attempt goes: everything that does not change between requests, built once per configuration snapshot. */
import type { Connection } from "#schemas/records/Connection.ts"
import type { Price } from "#schemas/Provider.ts"

export interface Target {
  /** Registry id or node id: what connections, breakers and the ledger are keyed by. */
  readonly provider: string
  /** Short public label for headers; never a generated node id. */
  readonly providerAlias: string
  /** Canonical public id, `<provider>/<model>`. */
  readonly publicModel: string
  /** The id that goes upstream. */
  readonly model: string
  /** Null for a provider without credentials. */
  readonly connection: Connection | null
  readonly wireFormat: string
  readonly origin: string
  readonly path: string
  /** Credential and required headers, flat and lower-case; holds secrets, so it is never logged. */
  readonly headers: ReadonlyArray<string>
  /** Null when the model is unpriced: its cost is 0. */
  readonly price: Price | null
  /** False when the connection opted out of stream_options (supplement 1.4). */
  readonly streamOptions: boolean
  readonly proxy: string | null
}
