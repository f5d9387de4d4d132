/** Every record store on one client, behind the migrations. */
import * as Layer from "effect/Layer"
import type * as Migrator from "effect/sql/Migrator"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Secrets } from "#actors/ports/Secrets.ts"
import type * as Ports from "#actors/ports/Stores.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Migrations from "./Migrations.ts"
import type { StoreOptions } from "./operation.ts"
import * as PostgresAccessTokenStore from "./PostgresAccessTokenStore.ts"
import * as PostgresAuditStore from "./PostgresAuditStore.ts"
import * as PostgresComboMappingStore from "./PostgresComboMappingStore.ts"
import * as PostgresComboStore from "./PostgresComboStore.ts"
import * as PostgresConnectionStore from "./PostgresConnectionStore.ts"
import * as PostgresCustomModelStore from "./PostgresCustomModelStore.ts"
import * as PostgresDocumentStore from "./PostgresDocumentStore.ts"
import * as PostgresKeyStore from "./PostgresKeyStore.ts"
import * as PostgresNodeStore from "./PostgresNodeStore.ts"
import * as PostgresSessionStore from "./PostgresSessionStore.ts"
import * as PostgresUsageStore from "./PostgresUsageStore.ts"

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
  | UsageStore

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
    PostgresUsageStore.layer(options)
  )

/** Migrates, then the record stores. */
export const layer = (
  options: StoreOptions = {}
): Layer.Layer<Stores | Migrations.Migrated, SqlError | Migrator.MigrationError, SqlClient.SqlClient | Secrets> =>
  Layer.provideMerge(layerUnmigrated(options), Migrations.layer)
