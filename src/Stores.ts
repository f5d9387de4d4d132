/** Every record store on one client, behind the migrations. */
import * as Layer from "effect/Layer"
import type * as Migrator from "effect/sql/Migrator"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Secrets } from "#actors/ports/Secrets.ts"
import type * as Ports from "#actors/ports/Stores.ts"
import type { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import type { ClusterStore } from "#actors/ports/Nodes.ts"
import type { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import type { ResponseCacheStore } from "#src/features/cache/ports/ResponseCache.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import type { WebhookQueue, WebhookStore } from "#actors/webhook/WebhookQueue.ts"
import * as Migrations from "#src/platform/postgres/Migrations.ts"
import type { StoreOptions } from "#src/platform/postgres/operation.ts"
import * as PostgresAccessTokenStore from "#src/features/tokens/PostgresAccessTokenStore.ts"
import * as PostgresAuditStore from "#src/management/audit/PostgresAuditStore.ts"
import * as PostgresClusterStore from "#src/platform/postgres/PostgresClusterStore.ts"
import * as PostgresComboMappingStore from "#src/features/combos/PostgresComboMappingStore.ts"
import * as PostgresComboStore from "#src/features/combos/PostgresComboStore.ts"
import * as PostgresConnectionStore from "#src/features/providers/PostgresConnectionStore.ts"
import * as PostgresCustomModelStore from "#src/features/providers/models/PostgresCustomModelStore.ts"
import * as PostgresDocumentStore from "#src/platform/postgres/PostgresDocumentStore.ts"
import * as PostgresKeyStore from "#src/features/keys/PostgresKeyStore.ts"
import * as PostgresLimitRecords from "#src/features/limits/PostgresLimitRecords.ts"
import * as PostgresLeaseRecords from "#src/features/leases/PostgresLeaseRecords.ts"
import * as PostgresNodeStore from "#src/features/providers/nodes/PostgresNodeStore.ts"
import * as PostgresQuotaStore from "#src/features/quotas/PostgresQuotaStore.ts"
import * as PostgresResponseCacheStore from "#src/features/cache/PostgresResponseCacheStore.ts"
import * as PostgresSessionStore from "#src/features/auth/PostgresSessionStore.ts"
import * as PostgresUsageStore from "#src/features/usage/store/PostgresUsageStore.ts"
import * as PostgresWebhookStore from "#src/features/webhooks/PostgresWebhookStore.ts"

export type Stores =
  | Ports.ConnectionStore
  | Ports.NodeStore
  | Ports.CustomModelStore
  | Ports.ComboStore
  | Ports.ComboMappingStore
  | Ports.KeyStore
  | Ports.DocumentStore
  | Ports.SessionStore
  | Ports.AccessTokenStore
  | Ports.AuditStore
  | ClusterStore
  | LeaseRecords
  | QuotaStore
  | ResponseCacheStore
  | UsageStore
  | WebhookQueue
  | WebhookStore
  | PostgresLimitRecords.LimitRecords

/** The record stores on a database that somebody else migrates. */
export const layerUnmigrated = (options: StoreOptions = {}): Layer.Layer<Stores, never, SqlClient.SqlClient | Secrets> =>
  Layer.mergeAll(
    PostgresConnectionStore.layer(options),
    PostgresNodeStore.layer(options),
    PostgresCustomModelStore.layer(options),
    PostgresComboStore.layer(options),
    PostgresComboMappingStore.layer(options),
    PostgresKeyStore.layer(options),
    PostgresDocumentStore.layer(options),
    PostgresSessionStore.layer(options),
    PostgresAccessTokenStore.layer(options),
    PostgresAuditStore.layer(options),
    PostgresClusterStore.layer(options),
    PostgresLeaseRecords.layer(options),
    PostgresQuotaStore.layer(options),
    PostgresResponseCacheStore.layer(options),
    PostgresUsageStore.layer(options),
    PostgresWebhookStore.layer(options),
    PostgresLimitRecords.layer(options)
  )

/** Migrates, then the record stores. */
export const layer = (
  options: StoreOptions = {}
): Layer.Layer<Stores | Migrations.Migrated, SqlError | Migrator.MigrationError, SqlClient.SqlClient | Secrets> =>
  Layer.provideMerge(layerUnmigrated(options), Migrations.layer)
