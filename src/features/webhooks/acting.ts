/** Which fields of webhooks act. */
import { actIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { NewWebhook } from "./api.ts"

const rows: Readonly<Record<keyof NewWebhook, Row>> = {
  ...actIn("src/features/webhooks/wireForms.ts", "url", "kind", "secret", "metadata"),
  ...actIn("src/features/webhooks/ManagedWebhooks.ts", "description", "active"),
  ...actIn("actors/webhook/NodeWebhooks.ts", "events", "enabled")
}

export const webhook = ActingTable.make("Webhook", rows, "POST /api/webhooks", "PUT /api/webhooks/:id")
