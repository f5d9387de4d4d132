/** Every record store on one client, behind the migrations. */
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import type { Secrets } from "#actors/ports/Secrets.ts"
import * as PostgresAuditStore from "#src/management/audit/PostgresAuditStore.ts"
import * as Feature from "#src/management/Feature.ts"
import type { StoreOptions } from "#src/platform/postgres/operation.ts"
import * as PostgresClusterStore from "#src/platform/postgres/PostgresClusterStore.ts"
import * as PostgresDocumentStore from "#src/platform/postgres/PostgresDocumentStore.ts"
import { features } from "./features.ts"
import * as Migrations from "./Migrations.ts"

const all = (options: StoreOptions) => Layer.mergeAll(
  PostgresDocumentStore.layer(options),
  PostgresClusterStore.layer(options),
  PostgresAuditStore.layer(options),
  Feature.merged(Feature.parts(features, "stores").map((stores) => stores(options)))
)

export type Stores = Layer.Success<ReturnType<typeof all>>

/** The record stores on a database that is migrated elsewhere. */
export const layerUnmigrated = (options: StoreOptions = {}): Layer.Layer<Stores, never, SqlClient.SqlClient | Secrets> => all(options)

/** Migrates, then the record stores. */
export const layer = (options: StoreOptions = {}) => Layer.provideMerge(layerUnmigrated(options), Migrations.layer)
