/** Every record store on one client, behind the migrations. */
import * as Layer from "effect/Layer"
import type * as Migrator from "effect/sql/Migrator"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Secrets } from "#actors/ports/Secrets.ts"
import type * as Ports from "#actors/ports/Stores.ts"
import type { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import type { ClusterStore } from "#actors/ports/Nodes.ts"
import type { QuotaStore } from "#actors/ports/QuotaStore.ts"
import type { ResponseCacheStore } from "#actors/ports/ResponseCache.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import type { WebhookQueue, WebhookStore } from "#actors/webhook/WebhookQueue.ts"
import * as Migrations from "#src/platform/postgres/Migrations.ts"
import type { StoreOptions } from "#src/platform/postgres/operation.ts"
import * as PostgresAccessTokenStore from "#src/postgres/PostgresAccessTokenStore.ts"
import * as PostgresAuditStore from "#src/management/audit/PostgresAuditStore.ts"
import * as PostgresClusterStore from "#src/platform/postgres/PostgresClusterStore.ts"
import * as PostgresComboMappingStore from "#src/postgres/PostgresComboMappingStore.ts"
import * as PostgresComboStore from "#src/postgres/PostgresComboStore.ts"
import * as PostgresConnectionStore from "#src/postgres/PostgresConnectionStore.ts"
import * as PostgresCustomModelStore from "#src/postgres/PostgresCustomModelStore.ts"
import * as PostgresDocumentStore from "#src/platform/postgres/PostgresDocumentStore.ts"
import * as PostgresKeyStore from "#src/postgres/PostgresKeyStore.ts"
import * as PostgresLimitRecords from "#src/postgres/PostgresLimitRecords.ts"
import * as PostgresLeaseRecords from "#src/postgres/PostgresLeaseRecords.ts"
import * as PostgresNodeStore from "#src/postgres/PostgresNodeStore.ts"
import * as PostgresQuotaStore from "#src/postgres/PostgresQuotaStore.ts"
import * as PostgresResponseCacheStore from "#src/postgres/PostgresResponseCacheStore.ts"
import * as PostgresSessionStore from "#src/postgres/PostgresSessionStore.ts"
import * as PostgresUsageStore from "#src/postgres/PostgresUsageStore.ts"
import * as PostgresWebhookStore from "#src/postgres/PostgresWebhookStore.ts"

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
