/** What needs somebody, kept up to date: the reads of it, and the matters in them. */
import { useSkew } from "../../api/clock.ts"
import { useRead } from "../../api/query.ts"
import { useNow } from "../../parts/now.ts"
import { useShownProvider } from "../providers/vendors.ts"
import { matters } from "./attention.ts"

/** `fastMs`: how often what blocks calls is read; `slowMs`: all else. */
export const useMatters = (fastMs: number, slowMs: number) => {
  const now = useNow()
  const skew = useSkew()
  const shownProvider = useShownProvider(slowMs)
  const fast = { everyMs: fastMs }
  const slow = { everyMs: slowMs }
  const connections = useRead("GET /api/providers", {}, slow)
  const resilience = useRead("GET /api/resilience", {}, fast)
  const lockouts = useRead("GET /api/resilience/model-cooldowns", {}, fast)
  const budgets = useRead("GET /api/usage/budget", {}, slow)
  const ledger = useRead("GET /api/usage/reconciliation", {}, slow)
  const nodes = useRead("GET /api/nodes", {}, slow)
  const expiring = useRead("GET /api/providers/expiration", {}, slow)
  const webhooks = useRead("GET /api/webhooks", {}, slow)
  const configFile = useRead("GET /api/config-file", {}, slow)
  return {
    reads: [webhooks, configFile, connections, resilience, lockouts, budgets, ledger, nodes, expiring] as const,
    connections, ledger,
    list: matters({
      connections: connections.data?.connections.map((connection) => ({ ...connection, provider: shownProvider(connection.provider) })), resilience: resilience.data, readAt: resilience.dataUpdatedAt + skew,
      lockouts: lockouts.data, budgets: budgets.data, ledger: ledger.data, nodes: nodes.data, expiring: expiring.data, webhooks: webhooks.data, configFile: configFile.data
    }, now)
  }
}
