/** What the operator set for the database by variables. */
import * as Context from "effect/Context"

export class DatabaseOptions extends Context.Service<DatabaseOptions, {
  /** GATEWAY_USAGE_RETENTION_DAYS. */
  readonly usageDays: number
  /** GATEWAY_MEMORY_RETENTION_DAYS. */
  readonly memoryDays: number
}>()("gateway/features/DatabaseOptions") {}
