/**
 * The listeners of events that send them out: webhooks. They are built before any code publishes an event, and they see each row of the
 * ledger before the store does.
 */
import * as Path from "node:path"
import * as Layer from "effect/Layer"
import * as NodeWebhooks from "#actors/webhook/NodeWebhooks.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as FiledEvents from "./FiledEvents.ts"
import * as HttpSender from "./HttpSender.ts"
import * as LedgerEvents from "./LedgerEvents.ts"

/** How often a node looks for jobs and changed webhooks of others: at once where there are others, else for what was not kept, ms. */
const pollMs = { several: 1_000, alone: 15_000 } as const

export const layerOf = (settings: Values) => {
  const owner = processIdOf(settings)
  return Layer.mergeAll(FiledEvents.layer({ directory: Path.join(settings.dataDir, "events"), processId: owner }), LedgerEvents.layer).pipe(
    Layer.provideMerge(NodeWebhooks.layer({ owner, pollMs: settings.databaseUrl === null ? pollMs.alone : pollMs.several })),
    Layer.provide(HttpSender.layer())
  )
}
