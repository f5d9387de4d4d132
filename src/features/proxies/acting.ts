/** Which fields of outbound proxies act. */
import { actIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { NewProxy } from "./api.ts"

const rows: Readonly<Record<keyof NewProxy, Row>> = {
  ...actIn("actors/egress/Egress.ts", "type", "host", "port", "username", "password", "status", "family"),
  ...actIn("src/features/proxies/Proxies.ts", "name", "region", "notes")
}

export const proxy = ActingTable.make("Outbound proxy", rows, "POST /api/v1/management/proxies", "PATCH /api/v1/management/proxies")
