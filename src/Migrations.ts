/** Every version of the database's schema: the platform's and those of the features. */
import * as Feature from "#src/management/Feature.ts"
import * as Migrations from "#src/platform/postgres/Migrations.ts"
import configuration from "#src/platform/postgres/migrations/0001_configuration.ts"
import access from "#src/platform/postgres/migrations/0002_access.ts"
import cluster from "#src/platform/postgres/migrations/0009_cluster.ts"
import { features } from "./features.ts"

export type { Status, Version } from "#src/platform/postgres/Migrations.ts"

export const { layer, run, status } = Migrations.make(Object.assign(
  { "1_configuration": configuration, "2_access": access, "9_cluster": cluster },
  ...Feature.parts(features, "migrations")
))
