/** Which database settings act. */
import { actIn, actsIn, lack, lacks } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const database = ActingTable.make("Database settings", {
  "logs.detailed": actsIn("src/features/database/changes.ts"),
  "logs.maxDetailSizeKb": actsIn("src/features/database/changes.ts"),
  "logs.ring": actsIn("src/features/usage/logs/http.ts"),
  "logs.pipeline": lacks("upkeep", true),
  ...actIn("src/features/backups/ports/backupTurns.ts", "backup.auto", "backup.frequency"),
  "backup.keep": actsIn("src/features/backups/schedule/ScheduledBackups.ts"),
  "retention.quotaSnapshots": actsIn("src/features/quotas/LocalQuotas.ts"),
  "retention.compressionAnalytics": actsIn("src/features/compression/statistics/CompressionStatistics.ts"),
  "retention.mcpAudit": actsIn("src/features/mcp/ports/McpCallLog.ts"),
  "retention.usageHistory": actsIn("actors/Sweeps.ts"),
  "retention.memoryEntries": actsIn("src/features/memory/sweep.ts"),
  "retention.autoCleanup": actsIn("src/features/backups/Storage.ts"),
  ...lack("upkeep", null, "retention.a2aEvents", "retention.callLogs"),
  "aggregation.enabled": lacks("upkeep", false),
  "aggregation.after": lacks("upkeep", 7),
  "aggregation.frequency": lacks("upkeep", "daily"),
  optimization: lacks("upkeep", {})
}, "PATCH /api/settings/database")
